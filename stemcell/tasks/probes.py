"""What a task's probe is made of (docs/method.md, section 6): items of text with a label, from the gold annotation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

from stemcell.corpora.layers import Span


class Link(NamedTuple):
    """A word and the span that it is linked to, such as a predicate and its argument.

    Positions count the words from 1, as 0 is the root; ends are included.
    """

    source: int
    start: int
    end: int
    label: str


@dataclass(frozen=True, slots=True)
class CentroidProbe:
    """Asks which label's mean vector is nearest to an item's vector.

    Attributes:
        items: the labelled spans of an annotation; words count from 0.
    """

    items: Callable[[Any], Iterable[Span]]


@dataclass(frozen=True, slots=True)
class LinkProbe:
    """Asks whether the two ends of a link attend most to each other, in either direction.

    Attributes:
        items: the links of an annotation.
        root: whether the first special token, as the root, takes part in the attention.
    """

    items: Callable[[Any], Iterable[Link]]
    root: bool


Probe = CentroidProbe | LinkProbe
