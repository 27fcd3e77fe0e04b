"""Labelled brackets as EVALB with COLLINS.prm counts them (Sekine and Collins 1997)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from stemcell.tasks.scoring import Row, Rows, f1, label_table

PUNCTUATION = frozenset([",", ":", "``", "''", ".", "-NONE-"])
"""Tags that COLLINS.prm deletes; it deletes brackets of these labels and of TOP too."""
DELETED = PUNCTUATION | {"TOP"}
EQUAL = {"PRT": "ADVP"}

Bracket = tuple[int, int, str]


def score(predictions: Rows, references: Rows) -> dict[str, Any]:
    """``f1``, ``precision``, ``recall``, ``complete_match`` and ``labels`` (whose rows keep PRT and ADVP apart).

    Words are told to be punctuation by the reference's tags on both sides; a prediction's tags are not read.
    """
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    matched = complete = sentences = 0
    for prediction, reference in zip(predictions, references, strict=True):
        right = brackets(reference, reference["tags"])
        guess = brackets(prediction, reference["tags"])
        gold.update(label for _, _, label in right.elements())
        predicted.update(label for _, _, label in guess.elements())
        correct.update(label for _, _, label in (right & guess).elements())
        matches = (_merged(right) & _merged(guess)).total()
        matched += matches
        # As EVALB does, sentences of punctuation alone are skipped, which only the share of complete matches feels.
        if not PUNCTUATION.issuperset(reference["tags"]):
            sentences += 1
            complete += matches == right.total() == guess.total()
    precision, recall, score = f1(matched, predicted.total(), gold.total())
    return {
        "f1": score,
        "precision": precision,
        "recall": recall,
        "complete_match": complete / max(1, sentences),
        "labels": label_table(gold, predicted, correct),
    }


def counts(prediction: Row, reference: Row) -> tuple[int, int, int]:
    """Brackets of a sentence that match, predicted and gold ones, as EVALB counts them."""
    guess, right = (_merged(brackets(row, reference["tags"])) for row in (prediction, reference))
    return (guess & right).total(), guess.total(), right.total()


def brackets(row: dict[str, Any], tags: list[str]) -> Counter[Bracket]:
    """Counted brackets (first word, last word + 1, label) of a tree, in positions among the words but punctuation.

    TOP and brackets over punctuation alone are left out; repeated brackets count as often as they stand.
    """
    before = [0]
    for tag in tags:
        before.append(before[-1] + (tag not in PUNCTUATION))
    spans = zip(row["starts"], row["ends"], row["labels"], strict=True)
    return Counter(
        (before[start], before[end + 1], label)
        for start, end, label in spans
        if label not in DELETED and before[start] < before[end + 1]
    )


def _merged(counts: Counter[Bracket]) -> Counter[Bracket]:
    merged: Counter[Bracket] = Counter()
    for (start, end, label), count in counts.items():
        merged[start, end, EQUAL.get(label, label)] += count
    return merged
