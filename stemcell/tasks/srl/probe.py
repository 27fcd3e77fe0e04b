"""Which heads know a semantic role."""

from __future__ import annotations

from collections.abc import Iterator

from stemcell.corpora.layers import Frames
from stemcell.tasks.probes import Link, LinkProbe, Probe


def _items(frames: Frames) -> Iterator[Link]:
    """The arguments, from the predicate's word to the span."""
    for argument in frames.arguments:
        yield Link(argument.predicate + 1, argument.start + 1, argument.end + 1, argument.role)


PROBE: Probe = LinkProbe(_items, root=False)
