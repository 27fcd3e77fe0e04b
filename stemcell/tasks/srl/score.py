"""Micro F1 of (predicate, span, role), end to end, and beside it the count of srl-eval.pl."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from stemcell.corpora.layers import Argument, Frames, from_row
from stemcell.tasks.scoring import Row, Rows, f1, label_table

Joined = tuple[int, str, tuple[tuple[int, int], ...]]
"""A predicate, a role and the pieces (first word, last word) of an argument."""


def score(predictions: Rows, references: Rows) -> dict[str, Any]:
    """Scores of frames, and ``labels``: a row a role, by the first of the counts.

    - ``precision``, ``recall``, ``f1``: (predicate, span, role) by exact match, C- and R- being roles of their own.
    - ``conll_precision``, ``conll_recall``, ``conll_f1``: what srl-eval.pl says (Carreras and Màrquez 2005): pieces are
      joined by :func:`joined`, and predicates that gold lacks are ignored, so it says nothing of end-to-end precision.
    - ``predicate_precision``, ``predicate_recall``, ``predicate_f1``: predicates with at least one argument.
    """
    gold: Counter[str] = Counter()
    predicted: Counter[str] = Counter()
    correct: Counter[str] = Counter()
    conll, heads = [0, 0, 0], [0, 0, 0]
    for prediction, reference in zip(predictions, references, strict=True):
        guess, truth = from_row("srl", prediction), from_row("srl", reference)
        guesses, arguments = set(guess.arguments), set(truth.arguments)
        gold.update(argument.role for argument in arguments)
        predicted.update(argument.role for argument in guesses)
        correct.update(argument.role for argument in arguments & guesses)
        whole = joined(truth)
        known = set(truth.predicates)
        _count(conll, {item for item in joined(guess) if item[0] in known}, whole)
        _count(heads, {a.predicate for a in guesses}, {a.predicate for a in arguments})
    result: dict[str, Any] = {}
    totals = {
        "": (correct.total(), predicted.total(), gold.total()),
        "conll_": tuple(conll),
        "predicate_": tuple(heads),
    }
    for prefix, counts in totals.items():
        result |= zip([f"{prefix}precision", f"{prefix}recall", f"{prefix}f1"], f1(*counts), strict=True)
    return {**result, "labels": label_table(gold, predicted, correct)}


def counts(prediction: Row, reference: Row) -> tuple[int, int, int]:
    """(Predicate, span, role) of a sentence that are right, predicted and gold."""
    guesses, arguments = (set(from_row("srl", row).arguments) for row in (prediction, reference))
    return len(guesses & arguments), len(guesses), len(arguments)


def joined(frames: Frames) -> set[Joined]:
    """Arguments with their C- pieces, as srl-eval.pl builds them.

    Left to right, C-X continues the last X of the predicate; a C-X without an X before it is an X itself, and what
    continues V counts as little as V does.
    """
    owned: dict[int, list[Argument]] = defaultdict(list)
    for argument in frames.arguments:
        owned[argument.predicate].append(argument)
    result: set[Joined] = set()
    for predicate, arguments in owned.items():
        whole: list[tuple[str, list[tuple[int, int]]]] = []
        last: dict[str, list[tuple[int, int]]] = {}
        for argument in sorted(set(arguments), key=lambda a: (a.start, -a.end)):
            piece = (argument.start, argument.end)
            role = argument.role.removeprefix("C-")
            if role != argument.role and role in last:
                last[role].append(piece)
            elif role != "V":
                last[role] = [piece]
                whole.append((role, last[role]))
        result |= {(predicate, role, tuple(pieces)) for role, pieces in whole}
    return result


def _count(counts: list[int], guesses: set, truths: set) -> None:
    """Adds to correct, predicted and gold."""
    for place, items in enumerate((guesses & truths, guesses, truths)):
        counts[place] += len(items)
