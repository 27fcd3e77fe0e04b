"""Which heads know a word's tag."""

from __future__ import annotations

from collections.abc import Iterator

from stemcell.corpora.layers import Span
from stemcell.tasks.probes import CentroidProbe, Probe


def _items(tags: tuple[str, ...]) -> Iterator[Span]:
    """The words."""
    for word, tag in enumerate(tags):
        yield Span(word, word, tag)


PROBE: Probe = CentroidProbe(_items)
