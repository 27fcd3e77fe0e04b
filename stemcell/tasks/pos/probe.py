"""Which heads know a word's tag."""

from __future__ import annotations

from collections.abc import Iterator

from stemcell.corpora.layers import BLANK, Span
from stemcell.tasks.probes import CentroidProbe, Probe


def _items(tags: tuple[str, ...]) -> Iterator[Span]:
    """The words that have a tag."""
    for word, tag in enumerate(tags):
        if tag != BLANK:
            yield Span(word, word, tag)


PROBE: Probe = CentroidProbe(_items)
