"""All trees of short sentences, by brute force: what the structured algorithms are checked against."""

from __future__ import annotations

from functools import cache
from itertools import product

Spans = tuple[tuple[int, int], ...]
LENGTHS = [6, 1, 2, 3, 4, 5, 6, 3]
"""Mixed lengths of a batch whose scores are one position longer than its longest sentence."""


@cache
def bracketings(start: int, end: int) -> tuple[Spans, ...]:
    """All binary bracketings between two fenceposts, each in preorder."""
    if end - start == 1:
        return (((start, end),),)
    return tuple(
        ((start, end), *left, *right)
        for split in range(start + 1, end)
        for left in bracketings(start, split)
        for right in bracketings(split, end)
    )


@cache
def dependency_trees(words: int) -> tuple[tuple[int, ...], ...]:
    """Heads of all trees with exactly one root (0) over words 1 to ``words``."""
    return tuple(heads for heads in product(range(words + 1), repeat=words) if is_single_root_tree(heads))


@cache
def projective_trees(words: int) -> tuple[tuple[int, ...], ...]:
    """Those of :func:`dependency_trees` whose arcs do not cross, the root standing before the first word."""
    return tuple(heads for heads in dependency_trees(words) if not _crossing(heads))


def is_single_root_tree(heads: tuple[int, ...]) -> bool:
    """True where one word hangs from 0 and every word is reached from there."""
    reached = {0}
    while grown := {word for word, head in enumerate(heads, 1) if head in reached} - reached:
        reached |= grown
    return heads.count(0) == 1 and len(reached) == len(heads) + 1


def _crossing(heads: tuple[int, ...]) -> bool:
    arcs = [(min(word, head), max(word, head)) for word, head in enumerate(heads, 1)]
    return any(a < c < b < d for a, b in arcs for c, d in arcs)
