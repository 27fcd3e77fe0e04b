from __future__ import annotations

import time
from collections import Counter

from stemcell.corpora.layers import LAYERS, Arcs, Argument, Constituents, Example, Frames, Span, example_row, to_row
from stemcell.tasks.scoring import f1, label_table, metric

GOLD = {
    "pos": ("DT", "NN"),
    "ner": (Span(0, 1, "ORG"),),
    "dep": Arcs((2, 0), ("det", "root")),
    "con": Constituents(("DT", "NN"), (Span(0, 1, "TOP"), Span(0, 1, "NP"))),
    "srl": Frames((1,), (Argument(1, 0, 0, "ARG0"),)),
}


def test_f1_is_zero_where_a_count_is():
    assert f1(0, 0, 0) == (0, 0, 0)
    assert f1(0, 3, 0) == (0, 0, 0)
    assert f1(2, 4, 2) == (0.5, 1.0, 2 / 3)


def test_label_table_has_labels_of_either_side():
    rows = label_table(Counter(b=2), Counter(a=1, b=1), Counter(b=1))
    assert rows == [
        {"label": "a", "gold": 0, "predicted": 1, "correct": 0, "precision": 0.0, "recall": 0.0, "f1": 0.0},
        {"label": "b", "gold": 2, "predicted": 1, "correct": 1, "precision": 1.0, "recall": 0.5, "f1": 2 / 3},
    ]


def test_metric_hands_rows_over_as_they_are():
    for layer in LAYERS:
        seen = []
        example = Example("s", ("the", "firm"), GOLD[layer])
        scorer = metric(layer, layer, lambda p, r, seen=seen: seen.append((p, r)) or {"x": 1.0}, "", "")
        predictions, references = [to_row(layer, example.gold)] * 2, [example_row(layer, example)] * 2
        assert scorer.compute(predictions=predictions, references=references) == {"x": 1.0}
        assert seen == [(predictions, references)]


def test_metrics_do_not_meet_and_cost_little():
    one, other = (metric("con", "con", lambda p, r: {"rows": len(p)}, "", "") for _ in range(2))
    example = Example("s", ("w",) * 30, Constituents(("T",) * 30, tuple(Span(i, i, "X") for i in range(30))))
    prediction, reference = to_row("con", example.gold), example_row("con", example)
    one.add_batch(predictions=[prediction], references=[reference])
    started = time.perf_counter()
    assert other.compute(predictions=[prediction] * 2000, references=[reference] * 2000) == {"rows": 2000}
    assert time.perf_counter() - started < 10
    assert one.compute() == {"rows": 1}
