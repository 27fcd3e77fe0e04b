"""Accuracy of tags, over the words whose tag is known."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stemcell.corpora.layers import BLANK
from stemcell.tasks.scoring import Row, Rows, label_table


def score(predictions: Rows, references: Rows) -> dict[str, Any]:
    """``accuracy``: the share of words with the right tag; ``labels``: a row a tag. Words without a gold tag
    are left out of both.

    Raises:
        ValueError: a prediction has another number of sentences or words than its reference.
    """
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for prediction, reference in zip(predictions, references, strict=True):
        pairs = _pairs(prediction, reference)
        gold.update(right for _, right in pairs)
        predicted.update(guess for guess, _ in pairs)
        correct.update(right for guess, right in pairs if guess == right)
    return {"accuracy": correct.total() / max(1, gold.total()), "labels": label_table(gold, predicted, correct)}


def counts(prediction: Row, reference: Row) -> tuple[int, int]:
    """Words of a sentence with the right tag, and all that have a gold tag."""
    pairs = _pairs(prediction, reference)
    return sum(guess == right for guess, right in pairs), len(pairs)


def _pairs(prediction: Row, reference: Row) -> list[tuple[str, str]]:
    """The predicted and the gold tag of each word that has a gold tag."""
    pairs = zip(prediction["tags"], reference["tags"], strict=True)
    return [(guess, right) for guess, right in pairs if right != BLANK]
