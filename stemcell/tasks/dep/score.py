"""Attachment scores of dependency trees."""

from __future__ import annotations

from collections import Counter
from typing import Any
from unicodedata import category

from stemcell.tasks.scoring import Row, Rows, label_table


def score(predictions: Rows, references: Rows) -> dict[str, Any]:
    """Shares of words with the right head (uas), and with the right relation to it (las).

    ``las`` and ``uas`` count all words and full relations, ``las_nopunct`` and ``uas_nopunct`` leave out words made of
    punctuation characters alone, ``las_universal`` cuts relations at ``:`` as the CoNLL 2018 UD scorer does; ``labels``
    has a row a relation, right where the head is right too.
    """
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    words = others = 0
    for prediction, reference in zip(predictions, references, strict=True):
        gold.update(reference["relations"])
        predicted.update(prediction["relations"])
        for word, head, guess, relation, label in zip(
            reference["words"],
            reference["heads"],
            prediction["heads"],
            reference["relations"],
            prediction["relations"],
            strict=True,
        ):
            counted = not _is_punctuation(word)
            words += 1
            others += counted
            if head == guess:
                hits["uas"] += 1
                hits["uas_nopunct"] += counted
                hits["las_universal"] += relation.partition(":")[0] == label.partition(":")[0]
                if relation == label:
                    hits["las"] += 1
                    hits["las_nopunct"] += counted
                    correct[relation] += 1
    return {
        "las": hits["las"] / max(1, words),
        "uas": hits["uas"] / max(1, words),
        "las_nopunct": hits["las_nopunct"] / max(1, others),
        "uas_nopunct": hits["uas_nopunct"] / max(1, others),
        "las_universal": hits["las_universal"] / max(1, words),
        "labels": label_table(gold, predicted, correct),
    }


def counts(prediction: Row, reference: Row) -> tuple[int, int]:
    """Words of a sentence with the right head and relation, and all."""
    names = ("heads", "relations")
    pairs = zip(*(zip(*(row[name] for name in names), strict=True) for row in (prediction, reference)), strict=True)
    right = [guess == truth for guess, truth in pairs]
    return sum(right), len(right)


def _is_punctuation(word: str) -> bool:
    return all(category(character).startswith("P") for character in word)
