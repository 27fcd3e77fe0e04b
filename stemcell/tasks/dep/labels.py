"""Relations of the arcs."""

from __future__ import annotations

from collections.abc import Iterable

from stemcell.corpora.layers import Example


def inventory(examples: Iterable[Example]) -> dict[str, list[str]]:
    """``{"relations": [...]}``: the relations seen, with their subtypes, sorted."""
    return {"relations": sorted({relation for example in examples for relation in example.gold.relations})}
