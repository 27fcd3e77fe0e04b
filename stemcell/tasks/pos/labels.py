"""Tags of the words."""

from __future__ import annotations

from collections.abc import Iterable

from stemcell.corpora.layers import BLANK, Example


def inventory(examples: Iterable[Example]) -> dict[str, list[str]]:
    """``{"tags": [...]}``: the tags seen, sorted."""
    return {"tags": sorted({tag for example in examples for tag in example.gold if tag != BLANK})}
