from __future__ import annotations

import json

import pytest

from stemcell.corpora.formats import conllu
from stemcell.corpora.layers import Arcs, Example, example_row, to_row
from stemcell.corpora.report import Report
from stemcell.tasks.dep import TASK
from stemcell.tasks.dep.score import score


def rows(golds: list[Example], guesses: list[Arcs]) -> dict:
    return score([to_row("dep", arcs) for arcs in guesses], [example_row("dep", example) for example in golds])


def test_counts_by_hand():
    gold = Example("a", ("He", "'s", "``", "in", ")", "$"), Arcs((2, 0, 4, 2, 4, 2), tuple("abcdef")))
    # Right: He, 's, and in with another label; wrong: the rest, of which `` is not made of punctuation alone.
    found = rows([gold], [Arcs((2, 0, 1, 2, 1, 1), tuple("abcxef"))])
    assert found["uas"] == 3 / 6
    assert found["las"] == 2 / 6
    assert found["uas_nopunct"] == 3 / 5
    assert found["las_nopunct"] == 2 / 5
    table = {row["label"]: row for row in found["labels"]}
    assert table["a"]["f1"] == 1
    assert (table["d"]["gold"], table["d"]["predicted"], table["d"]["correct"]) == (1, 0, 0)
    assert table["f"]["correct"] == 0


def test_universal_relations_are_cut_at_the_colon():
    gold = Example("a", ("He", "left"), Arcs((2, 0), ("nsubj:pass", "root")))
    found = rows([gold], [Arcs((2, 0), ("nsubj", "root"))])
    assert (found["las"], found["las_universal"]) == (0.5, 1)


def test_nothing_to_count_is_zero():
    found = rows([Example("a", ("?",), Arcs((0,), ("root",)))], [Arcs((0,), ("root",))])
    assert (found["las"], found["las_nopunct"]) == (1, 0)
    assert rows([], [])["las"] == 0


@pytest.mark.shared
def test_equals_the_official_scorer(shared):
    from udtools.udeval import evaluate, load_conllu_file

    paths = [shared / "golden" / f"dep.{side}.conllu" for side in ("gold", "pred")]
    gold, predicted = (conllu.read(path, Report())["dep"] for path in paths)
    found = TASK.metric().compute(
        predictions=[to_row("dep", example.gold) for example in predicted],
        references=[example_row("dep", example) for example in gold],
    )
    expected = json.loads((shared / "golden" / "expected.json").read_text())
    expected = expected["dep (CoNLL 2018 UD scorer, labels cut at the colon)"]
    assert round(100 * found["uas"], 2) == expected["uas"]
    assert round(100 * found["las_universal"], 2) == expected["las"]
    oracle = evaluate(*(load_conllu_file(str(path)) for path in paths))
    assert found["uas"] == pytest.approx(oracle["UAS"].f1)
    assert found["las_universal"] == pytest.approx(oracle["LAS"].f1)
