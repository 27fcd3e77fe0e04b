from __future__ import annotations

import json

import pytest

from stemcell.corpora.formats import brackets
from stemcell.corpora.layers import Example, example_row, to_row
from stemcell.corpora.report import Report
from stemcell.tasks.con import TASK
from stemcell.tasks.con.score import score


def rows(gold: list[str], predicted: list[str]) -> dict:
    golds = [Example("s", *brackets.parse(text)) for text in gold]
    guesses = [brackets.parse(text)[1] for text in predicted]
    return score([to_row("con", tree) for tree in guesses], [example_row("con", example) for example in golds])


def test_punctuation_is_no_part_of_a_span_by_gold_tags():
    found = rows(
        ["(TOP (S (NP (NN a)) (VP (VB b) (, ,)) (. .)))"],
        ["(TOP (S (NP (_ a) (_ b)) (VP (_ ,)) (_ .)))"],
    )
    # Gold S, NP, VP over 0-2, 0-1, 1-2; of the guess VP holds a comma alone and vanishes.
    assert (found["precision"], found["recall"]) == (1 / 2, 1 / 3)
    assert rows(["(TOP (S (NP (NN a)) (. .)))"], ["(TOP (S (NP (NN a) (. .))))"])["f1"] == 1


def test_particles_are_adverbs_and_repeated_brackets_count_each():
    found = rows(["(TOP (NP (NP (NP (PRT (RB a))))))"], ["(TOP (NP (NP (ADVP (RB a)))))"])
    assert (found["precision"], found["recall"], found["complete_match"]) == (1, 3 / 4, 0)
    table = {row["label"]: row for row in found["labels"]}
    assert (table["NP"]["gold"], table["NP"]["predicted"], table["NP"]["correct"]) == (3, 2, 2)
    assert (table["PRT"]["gold"], table["ADVP"]["predicted"]) == (1, 1)


def test_nothing_to_count_is_zero_and_skipped_as_evalb_does():
    assert rows(["(TOP (UH Yes))"], ["(TOP (UH Yes))"])["f1"] == 0
    found = rows(["(TOP (X (. ?)))", "(TOP (X (UH Yes)))"], ["(TOP (X (. ?)))", "(TOP (Y (UH Yes)))"])
    assert (found["f1"], found["complete_match"]) == (0, 0)
    assert rows([], [])["f1"] == 0


def from_files(gold, predicted) -> dict:
    golds, guesses = (brackets.read(path, Report())["con"] for path in (gold, predicted))
    found = TASK.metric().compute(
        predictions=[to_row("con", example.gold) for example in guesses],
        references=[example_row("con", example) for example in golds],
    )
    return {name: round(100 * found[name], 2) for name in ("recall", "precision", "f1", "complete_match")}


@pytest.mark.shared
def test_equals_evalb(shared):
    golden = shared / "golden"
    expected = json.loads((golden / "expected.json").read_text())["con (EVALB, COLLINS.prm)"]
    assert from_files(golden / "con.gold.ptb", golden / "con.pred.ptb") == expected


@pytest.mark.shared
def test_one_word_trees(shared):
    folder = shared / "cases" / "07-one-word-trees"
    assert from_files(folder / "dev.ptb", folder / "dev.ptb")["f1"] == 100
    found = from_files(folder / "dev.ptb", folder / "pred.ptb")
    assert (found["precision"], found["recall"], found["f1"]) == (75, 75, 75)
    assert from_files(folder / "pos-only.ptb", folder / "pos-only.ptb")["f1"] == 0


@pytest.mark.shared
def test_unary_deep_and_wide_trees(shared):
    folder = shared / "cases" / "12-unary-deep"
    found = from_files(folder / "gold.ptb", folder / "pred.ptb")
    assert (found["recall"], found["precision"], found["f1"]) == (70, 100, 82.35)
    for name in ("deep250", "wide600", "long-word"):
        assert from_files(folder / f"{name}.ptb", folder / f"{name}.ptb")["f1"] == 100
