"""Which heads know a dependency relation."""

from __future__ import annotations

from collections.abc import Iterator

from stemcell.corpora.layers import Arcs
from stemcell.tasks.probes import Link, LinkProbe, Probe


def _items(tree: Arcs) -> Iterator[Link]:
    """The arcs, from the head (0 is the root) to the dependent."""
    for word, (head, relation) in enumerate(zip(tree.heads, tree.relations, strict=True), 1):
        yield Link(head, word, word, relation)


PROBE: Probe = LinkProbe(_items, root=True)
