"""The greedy choice of spans that may stand together."""

from __future__ import annotations

from collections.abc import Iterable

from stemcell.corpora.layers import Span


def select(ranked: Iterable[Span], nested: bool) -> list[Span]:
    """Takes spans in the order given unless they clash with one taken before (Yu et al. 2020, section 3).

    Args:
        ranked: spans, best first.
        nested: two spans clash where they cross; otherwise where they share a word.
    """
    chosen: list[Span] = []
    for span in ranked:
        clash = _crosses if nested else _overlaps
        if not any(clash(span, other) for other in chosen):
            chosen.append(span)
    return chosen


def _overlaps(a: Span, b: Span) -> bool:
    return a.start <= b.end and b.start <= a.end


def _crosses(a: Span, b: Span) -> bool:
    return a.start < b.start <= a.end < b.end or b.start < a.start <= b.end < a.end
