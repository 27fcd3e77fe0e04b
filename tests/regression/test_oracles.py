"""Our scores against seqeval's and the CoNLL 2018 scorer's, on real text with a large part of its annotation spoilt."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

import pytest

from stemcell.corpora.formats import bio, conllu
from stemcell.corpora.layers import Arcs, Example, Span, example_row, to_row
from stemcell.corpora.report import Report
from stemcell.tasks import task as find_task

pytestmark = pytest.mark.shared


def spoilt_tree(arcs: Arcs, relations: list[str], chance: random.Random) -> Arcs:
    """Another tree with one root: some words hang elsewhere, some relations are others."""
    heads, names = list(arcs.heads), list(arcs.relations)
    for word in range(1, len(heads) + 1):
        if chance.random() < 0.15:
            names[word - 1] = chance.choice(relations)
        head = chance.randint(1, len(heads))
        above = head
        while above and above != word:
            above = heads[above - 1]
        # Neither the root, nor under itself.
        if heads[word - 1] and not above and chance.random() < 0.2:
            heads[word - 1] = head
    return Arcs(tuple(heads), tuple(names))


def spoilt_spans(spans: Iterable[Span], size: int, labels: list[str], chance: random.Random) -> tuple[Span, ...]:
    """Other spans: some are gone, relabelled, longer or shorter, some are new; none overlaps another."""
    wanted = [
        Span(
            max(0, span.start - (chance.random() < 0.1)),
            min(size - 1, span.end + (chance.random() < 0.1)),
            chance.choice(labels) if chance.random() < 0.2 else span.label,
        )
        for span in spans
        if chance.random() < 0.85
    ]
    if chance.random() < 0.2:
        start = chance.randrange(size)
        wanted.append(Span(start, min(size - 1, start + chance.randrange(3)), chance.choice(labels)))
    free = set(range(size))
    kept = []
    for span in wanted:
        words = set(range(span.start, span.end + 1))
        if words <= free:
            free -= words
            kept.append(span)
    return tuple(sorted(kept))


def tags(spans: Iterable[Span], size: int) -> list[str]:
    """BIO2."""
    result = ["O"] * size
    for span in spans:
        result[span.start : span.end + 1] = [f"B-{span.label}"] + [f"I-{span.label}"] * (span.end - span.start)
    return result


def test_attachment_scores_are_those_of_the_ud_scorer(shared: Path, tmp_path: Path) -> None:
    from udtools import udeval

    chance = random.Random(11)
    items = conllu.read(shared / "data" / "ewt5" / "dev" / "dev.conllu", Report())["dep"]
    relations = sorted({name for example in items for name in example.gold.relations})
    damaged = [spoilt_tree(example.gold, relations, chance) for example in items]
    score = find_task("dep").metric().compute(
        predictions=[to_row("dep", tree) for tree in damaged],
        references=[example_row("dep", example) for example in items],
    )  # fmt: skip

    conllu.write(tmp_path / "gold.conllu", [], items)
    guesses = [Example(example.id, example.words, tree) for example, tree in zip(items, damaged, strict=True)]
    conllu.write(tmp_path / "guess.conllu", [], guesses)
    gold, guess = (udeval.load_conllu_file(str(tmp_path / f"{name}.conllu")) for name in ("gold", "guess"))
    official = udeval.evaluate(gold, guess)
    assert 0.5 < official["LAS"].f1 < official["UAS"].f1 < 0.9
    assert score["uas"] == pytest.approx(official["UAS"].f1, abs=1e-9)
    assert score["las_universal"] == pytest.approx(official["LAS"].f1, abs=1e-9)
    assert score["las"] < score["las_universal"]
    assert official["Words"].gold_total == sum(row["gold"] for row in score["labels"])


def test_entity_scores_are_those_of_seqeval(shared: Path) -> None:
    from seqeval.metrics import classification_report, f1_score, precision_score, recall_score

    chance = random.Random(12)
    items = bio.read(shared / "data" / "ewt5" / "dev" / "dev.ner.tsv", Report())["ner"]
    labels = sorted({span.label for example in items for span in example.gold})
    damaged = [spoilt_spans(example.gold, len(example.words), labels, chance) for example in items]
    score = find_task("ner").metric().compute(
        predictions=[to_row("ner", spans) for spans in damaged],
        references=[example_row("ner", example) for example in items],
    )  # fmt: skip

    gold = [tags(example.gold, len(example.words)) for example in items]
    guess = [tags(spans, len(example.words)) for example, spans in zip(items, damaged, strict=True)]
    assert 0.3 < score["f1"] < 0.9
    assert score["f1"] == pytest.approx(f1_score(gold, guess), abs=1e-9)
    assert score["precision"] == pytest.approx(precision_score(gold, guess), abs=1e-9)
    assert score["recall"] == pytest.approx(recall_score(gold, guess), abs=1e-9)
    report = classification_report(gold, guess, output_dict=True, zero_division=0)
    for row in score["labels"]:
        assert row["f1"] == pytest.approx(report[row["label"]]["f1-score"], abs=1e-9)
        assert row["gold"] == report[row["label"]]["support"]
