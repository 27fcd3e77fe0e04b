"""Which heads know a constituent's label."""

from __future__ import annotations

from collections.abc import Iterator

from stemcell.corpora.layers import Constituents, Span
from stemcell.tasks.probes import CentroidProbe, Probe


def _items(tree: Constituents) -> Iterator[Span]:
    """The constituents of height 3, parents of preterminals only: those without a bracket inside."""
    for bracket, following in zip(tree.brackets, (*tree.brackets[1:], None), strict=True):
        # In preorder the first bracket inside of another one comes right after it.
        if following is None or following.start > bracket.end:
            yield bracket


PROBE: Probe = CentroidProbe(_items)
