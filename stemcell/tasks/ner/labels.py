"""Types of entities."""

from __future__ import annotations

from collections.abc import Iterable

from stemcell.corpora.layers import Example


def inventory(examples: Iterable[Example]) -> dict[str, list[str]]:
    """``{"types": [...]}``: the entity types seen, sorted. NULL is the decoder's own and not among them."""
    return {"types": sorted({span.label for example in examples for span in example.gold})}
