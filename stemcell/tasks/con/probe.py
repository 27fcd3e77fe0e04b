"""Which heads know a constituent's label."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from stemcell.corpora.layers import Constituents, Span
from stemcell.tasks.probes import CentroidProbe, Probe


def _items(height: int | None, tree: Constituents) -> Iterator[Span]:
    """The constituents of a height; all of them if it is None."""
    if height is None:
        yield from tree.brackets
        return
    for bracket, own in zip(tree.brackets, heights(tree), strict=True):
        if own == height:
            yield bracket


def heights(tree: Constituents) -> list[int]:
    """The height of each bracket: words have 1, preterminals 2, so that parents of preterminals only have 3."""
    found = [3] * len(tree.brackets)
    above: list[int] = []
    for place, bracket in enumerate(tree.brackets):
        # In preorder all that a bracket lies in came before it, the innermost last.
        while above and bracket.start > tree.brackets[above[-1]].end:
            above.pop()
        for steps, outer in enumerate(reversed(above), 1):
            found[outer] = max(found[outer], 3 + steps)
        above.append(place)
    return found


def at_height(height: int | None) -> Probe:
    """The probe of constituents of a height from 3, or of all (None)."""
    return CentroidProbe(partial(_items, height))


PROBE: Probe = at_height(3)
