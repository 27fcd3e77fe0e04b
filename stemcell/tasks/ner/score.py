"""Micro F1 of exact labelled spans, as conlleval and seqeval count it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stemcell.corpora.layers import Span, from_row
from stemcell.tasks.scoring import Row, Rows, f1, label_table


def score(predictions: Rows, references: Rows) -> dict[str, Any]:
    """``precision``, ``recall`` and ``f1`` over all entities, and ``labels``: a row a type."""
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    for prediction, reference in zip(predictions, references, strict=True):
        guesses: set[Span] = set(from_row("ner", prediction))
        entities: set[Span] = set(from_row("ner", reference))
        gold.update(span.label for span in entities)
        predicted.update(span.label for span in guesses)
        correct.update(span.label for span in entities & guesses)
    precision, recall, score = f1(correct.total(), predicted.total(), gold.total())
    return {
        "precision": precision,
        "recall": recall,
        "f1": score,
        "labels": label_table(gold, predicted, correct),
    }


def counts(prediction: Row, reference: Row) -> tuple[int, int, int]:
    """Entities of a sentence that are right, predicted and gold."""
    guesses, entities = set(from_row("ner", prediction)), set(from_row("ner", reference))
    return len(guesses & entities), len(guesses), len(entities)
