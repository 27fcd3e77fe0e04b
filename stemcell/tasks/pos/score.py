"""Accuracy of tags."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stemcell.tasks.scoring import Row, Rows, label_table


def score(predictions: Rows, references: Rows) -> dict[str, Any]:
    """``accuracy``: the share of words with the right tag; ``labels``: a row a tag.

    Raises:
        ValueError: a prediction has another number of sentences or words than its reference.
    """
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for prediction, reference in zip(predictions, references, strict=True):
        gold.update(reference["tags"])
        predicted.update(prediction["tags"])
        pairs = zip(prediction["tags"], reference["tags"], strict=True)
        correct.update(right for guess, right in pairs if guess == right)
    return {"accuracy": correct.total() / max(1, gold.total()), "labels": label_table(gold, predicted, correct)}


def counts(prediction: Row, reference: Row) -> tuple[int, int]:
    """Words of a sentence with the right tag, and all."""
    pairs = list(zip(prediction["tags"], reference["tags"], strict=True))
    return sum(guess == right for guess, right in pairs), len(pairs)
