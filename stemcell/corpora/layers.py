"""The data model: five annotation layers over sentences of words.

Positions of words count from 0 and ends are included, so that a one-word span has ``start == end``.
A layer's annotation has one type; :func:`to_row` and :func:`from_row` turn it into flat columns and back,
which is how it is kept in Arrow and how it is handed to the metrics.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

LAYERS = ("pos", "ner", "dep", "con", "srl")
SPLITS = ("train", "dev", "test")

BLANK = "_"
"""In the place of a word's tag: it is not annotated. Never a label: not learnt, not scored, not probed, not counted."""


class Span(NamedTuple):
    """Words ``start`` to ``end`` (both included) with a label: an entity or a bracket."""

    start: int
    end: int
    label: str


class Argument(NamedTuple):
    """Words ``start`` to ``end`` (both included) play ``role`` for the predicate at word ``predicate``."""

    predicate: int
    start: int
    end: int
    role: str


@dataclass(frozen=True, slots=True)
class Arcs:
    """A dependency tree: for word i its head (0 is the root, k is word k - 1) and its relation."""

    heads: tuple[int, ...]
    relations: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Constituents:
    """A constituency tree: a tag a word (or :data:`BLANK`), and its brackets in preorder, the root (``TOP``) first.

    Preorder makes unary chains unambiguous: of two brackets over the same words the outer one comes first.
    """

    tags: tuple[str, ...]
    brackets: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Frames:
    """Predicates (word positions, ascending) and their arguments without V, by predicate, start and end."""

    predicates: tuple[int, ...]
    arguments: tuple[Argument, ...]


# Tags of the words (POS; some may be BLANK, not all), entities (NER), or one of the above.
Annotation = tuple[str, ...] | tuple[Span, ...] | Arcs | Constituents | Frames


@dataclass(frozen=True, slots=True)
class Example:
    """A sentence with one layer's annotation.

    ``id`` names it for people only (it may repeat); nothing is keyed by it.
    """

    id: str
    words: tuple[str, ...]
    gold: Any


# Columns of each layer beside ``id`` and ``words``: a name and whether it holds strings or whole numbers.
COLUMNS: dict[str, dict[str, type]] = {
    "pos": {"tags": str},
    "ner": {"starts": int, "ends": int, "labels": str},
    "dep": {"heads": int, "relations": str},
    "con": {"tags": str, "starts": int, "ends": int, "labels": str},
    "srl": {"predicates": int, "owners": int, "starts": int, "ends": int, "roles": str},
}


def to_row(layer: str, annotation: Any) -> dict[str, list]:
    """An annotation as flat columns (:data:`COLUMNS`)."""
    if layer == "pos":
        return {"tags": list(annotation)}
    if layer == "ner":
        return _spans(annotation)
    if layer == "dep":
        return {"heads": list(annotation.heads), "relations": list(annotation.relations)}
    if layer == "con":
        return {"tags": list(annotation.tags), **_spans(annotation.brackets)}
    return {
        "predicates": list(annotation.predicates),
        "owners": [a.predicate for a in annotation.arguments],
        "starts": [a.start for a in annotation.arguments],
        "ends": [a.end for a in annotation.arguments],
        "roles": [a.role for a in annotation.arguments],
    }


def from_row(layer: str, row: dict[str, Any]) -> Any:
    """The inverse of :func:`to_row`; further columns are ignored."""
    if layer == "pos":
        return tuple(row["tags"])
    if layer == "ner":
        return tuple(map(Span, row["starts"], row["ends"], row["labels"]))
    if layer == "dep":
        return Arcs(tuple(row["heads"]), tuple(row["relations"]))
    if layer == "con":
        return Constituents(tuple(row["tags"]), tuple(map(Span, row["starts"], row["ends"], row["labels"])))
    return Frames(
        tuple(row["predicates"]), tuple(map(Argument, row["owners"], row["starts"], row["ends"], row["roles"]))
    )


def example_row(layer: str, example: Example) -> dict[str, Any]:
    """A whole example as columns: ``id``, ``words`` and the layer's own."""
    return {"id": example.id, "words": list(example.words), **to_row(layer, example.gold)}


def _spans(spans: tuple[Span, ...]) -> dict[str, list]:
    return {"starts": [s.start for s in spans], "ends": [s.end for s in spans], "labels": [s.label for s in spans]}
