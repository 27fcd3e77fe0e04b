"""Roles of arguments."""

from __future__ import annotations

from collections.abc import Iterable

from stemcell.corpora.layers import Example


def inventory(examples: Iterable[Example]) -> dict[str, list[str]]:
    """``{"roles": [...]}``: the roles seen, sorted, C- and R- among them. "No role" is the decoder's own."""
    return {"roles": sorted({argument.role for example in examples for argument in example.gold.arguments})}
