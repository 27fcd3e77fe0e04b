"""The best set of arguments of one predicate: weighted interval scheduling."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence


def heaviest(spans: Sequence[tuple[int, int, float]]) -> list[int]:
    """The spans without a common word whose scores have the greatest sum, exactly, in O(k log k).

    Args:
        spans: (first word, last word, score) with scores above 0.

    Returns:
        Indices of the chosen spans, left to right.
    """
    order = sorted(range(len(spans)), key=lambda index: spans[index][1])
    ends = [spans[index][1] for index in order]
    # totals[k] is the best sum among the first k spans by end; taken[k] tells whether it takes the k-th of them.
    totals, taken, before = [0.0], [False], [0]
    for rank, index in enumerate(order):
        start, _, score = spans[index]
        compatible = bisect_left(ends, start, 0, rank)
        with_it = totals[compatible] + score
        taken.append(with_it > totals[rank])
        totals.append(max(with_it, totals[rank]))
        before.append(compatible)
    chosen, k = [], len(order)
    while k:
        if taken[k]:
            chosen.append(order[k - 1])
            k = before[k]
        else:
            k -= 1
    return chosen[::-1]
