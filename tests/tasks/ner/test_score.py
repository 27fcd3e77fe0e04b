from __future__ import annotations

import json
import random

import pytest

from stemcell.corpora.layers import Span, example_row, to_row
from stemcell.tasks.ner import TASK
from tests.tasks.sentences import example


def compute(gold, predicted, length=30):
    references = [example_row("ner", example(length, spans)) for spans in gold]
    return TASK.metric().compute(predictions=[to_row("ner", spans) for spans in predicted], references=references)


def test_spans_count_only_with_their_label_and_both_ends():
    gold = [(Span(0, 1, "PER"), Span(3, 3, "LOC")), (Span(0, 0, "LAW"),)]
    result = compute(gold, [(Span(0, 1, "PER"), Span(2, 3, "LOC")), (Span(0, 0, "ORG"),)])
    assert (result["precision"], result["recall"], result["f1"]) == pytest.approx((1 / 3, 1 / 3, 1 / 3))
    rows = {row["label"]: (row["gold"], row["predicted"], row["correct"]) for row in result["labels"]}
    assert rows == {"LAW": (1, 0, 0), "LOC": (1, 1, 0), "ORG": (0, 1, 0), "PER": (1, 1, 1)}


def test_no_entities_at_all_gives_zero():
    assert compute([()], [()])["f1"] == 0


def entities(tags: list[str]) -> tuple[Span, ...]:
    """Spans of BIO tags as conlleval reads them: an I- after O or another type opens one."""
    spans: list[Span] = []
    for place, tag in enumerate(tags):
        if tag == "O":
            continue
        prefix, label = tag.split("-", 1)
        if prefix == "I" and spans and spans[-1].end == place - 1 and spans[-1].label == label:
            spans[-1] = spans[-1]._replace(end=place)
        else:
            spans.append(Span(place, place, label))
    return tuple(spans)


def test_equals_seqeval():
    from seqeval.metrics import f1_score

    generator = random.Random(3)
    tags = ["O", "O", "B-PER", "I-PER", "B-LOC", "I-LOC"]
    gold = [[generator.choice(tags) for _ in range(20)] for _ in range(40)]
    predicted = [[tag if generator.random() < 0.8 else generator.choice(tags) for tag in row] for row in gold]
    result = compute(list(map(entities, gold)), list(map(entities, predicted)))
    assert result["f1"] == pytest.approx(f1_score(gold, predicted))


@pytest.mark.shared
def test_equals_conlleval(shared):
    text = (shared / "golden" / "ner.word_gold_pred.txt").read_text(encoding="utf-8")
    blocks = [[line.split() for line in block.splitlines()] for block in text.strip().split("\n\n")]
    gold, predicted = ([entities([row[place] for row in block]) for block in blocks] for place in (1, 2))
    result = compute(gold, predicted)
    expected = json.loads((shared / "golden" / "expected.json").read_text())["ner (conlleval)"]
    for name in ("precision", "recall", "f1"):
        assert round(100 * result[name], 2) == expected[name]
