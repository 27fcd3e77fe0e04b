"""Labels of the cells of binarised trees."""

from __future__ import annotations

from collections.abc import Iterable

from stemcell.corpora.layers import Example
from stemcell.tasks.con.binary import binarise


def inventory(examples: Iterable[Example]) -> dict[str, list[str]]:
    """``{"labels": [...]}``: labels of cells seen, sorted, such as ``NP``, ``S+VP`` and the inserted ``NP|<>``."""
    return {"labels": sorted({cell.label for example in examples for cell in binarise(example.gold)})}
