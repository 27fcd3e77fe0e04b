"""What the five scores share: precision, recall and F1, tables of labels, and the form of an ``evaluate.Metric``."""

from __future__ import annotations

import uuid
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from stemcell.corpora.layers import COLUMNS

Row = dict[str, Any]
Rows = list[Row]


def f1(correct: float, predicted: float, gold: float) -> tuple[float, float, float]:
    """Precision, recall and F1 from counts; 0 wherever a denominator is 0.

    >>> f1(1, 2, 4)
    (0.5, 0.25, 0.3333333333333333)
    """
    precision = correct / predicted if predicted else 0.0
    recall = correct / gold if gold else 0.0
    return precision, recall, 2 * correct / (predicted + gold) if predicted + gold else 0.0


def main_score(counts: np.ndarray) -> np.ndarray:
    """Main scores from (correct, of) or from (correct, predicted, gold), [..., 2 or 3]; 0 where a denominator is 0.

    Counts of sentences, summed over any sentences, give the score of those, by the same arithmetic as :func:`f1`.

    >>> float(main_score(np.array([1, 2, 4])))
    0.3333333333333333
    """
    correct, of = (
        (counts[..., 0], counts[..., 1]) if counts.shape[-1] == 2 else (2 * counts[..., 0], counts[..., 1:].sum(-1))
    )
    return np.divide(correct, of, out=np.zeros(np.shape(correct)), where=np.asarray(of) > 0)


def label_table(gold: Counter[str], predicted: Counter[str], correct: Counter[str]) -> Rows:
    """One row a label seen in gold or prediction, sorted by label: its counts, precision, recall and F1."""
    rows = []
    for label in sorted(gold.keys() | predicted.keys()):
        counts = {"gold": gold[label], "predicted": predicted[label], "correct": correct[label]}
        precision, recall, score = f1(correct[label], predicted[label], gold[label])
        rows.append({"label": label, **counts, "precision": precision, "recall": recall, "f1": score})
    return rows


def features(layer: str) -> Any:
    """``datasets.Features`` of a layer's metric: predictions have its columns, references ``id`` and ``words`` too."""
    import datasets

    kinds = {str: datasets.Value("string"), int: datasets.Value("int32")}
    columns = {name: datasets.List(kinds[kind]) for name, kind in COLUMNS[layer].items()}
    words = {"id": datasets.Value("string"), "words": datasets.List(datasets.Value("string"))}
    return datasets.Features({"predictions": columns, "references": words | columns})


def metric(
    name: str, layer: str, compute: Callable[[Rows, Rows], dict[str, Any]], description: str, citation: str
) -> Any:
    """An ``evaluate.Metric`` from a function of predictions and references (rows as :func:`features` says).

    It needs no network and keeps its rows in memory under an identifier of its own, so that any number of processes
    may score at once.
    """
    import evaluate

    class LayerMetric(evaluate.Metric):
        def _info(self) -> evaluate.MetricInfo:
            return evaluate.MetricInfo(
                description=description, citation=citation, inputs_description=description, features=features(layer)
            )

        def _compute(self, predictions: Rows, references: Rows) -> dict[str, Any]:
            return compute(predictions, references)

    LayerMetric.__name__ = f"Stemcell{name.capitalize()}"
    return LayerMetric(keep_in_memory=True, experiment_id=uuid.uuid4().hex)
