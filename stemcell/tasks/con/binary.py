"""Constituency trees as left-binarised trees of labelled cells, and back without loss.

A sentence of n words has 2n - 1 cells (i, j, label) between fenceposts i < j, one-word cells included. A cell that is
a constituent is labelled with its unary chain from the outside in, joined with ``+``; a cell that binarising inserted,
and a word that stands alone among the children of X, is labelled ``X|<>`` (as Zhang, Zhou and Li 2020 do). The root's
TOP is left out, since every tree has it.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby
from typing import NamedTuple

from stemcell.corpora.layers import Constituents, Span

JOIN = "+"
INSERTED = "|<>"
ROOT = "TOP"


class Cell(NamedTuple):
    """A node of a binary tree between two fenceposts."""

    start: int
    end: int
    label: str


def binarise(tree: Constituents) -> list[Cell]:
    """The 2n - 1 cells of a tree over n words, in no particular order."""
    cells: list[Cell] = []
    open_nodes: list[_Node] = []

    def close_until(position: int) -> None:
        """Finish what ends at or before ``position`` and take the words up to it as children of what remains open."""
        while open_nodes:
            node = open_nodes[-1]
            while node.end - node.start > 1 and node.reached < min(node.end, position):
                cells.append(Cell(node.reached, node.reached + 1, node.inserted))
                node.take(node.reached + 1, cells)
            if node.end > position:
                return
            open_nodes.pop()
            if open_nodes:
                open_nodes[-1].take(node.end, cells)

    for (start, last), chain in groupby(tree.brackets, key=lambda bracket: bracket[:2]):
        labels = [bracket.label for bracket in chain]
        inserted = _escaped(labels[-1]) + INSERTED
        close_until(start)
        # The outermost bracket is the root's; what is left of a chain may be nothing.
        own = labels if open_nodes else labels[1:]
        cells.append(Cell(start, last + 1, JOIN.join(map(_escaped, own)) if own else inserted))
        open_nodes.append(_Node(start, last + 1, inserted))
    close_until(len(tree.tags))
    return cells


def debinarise(cells: Iterable[tuple[int, int, str]], words: int) -> Constituents:
    """The tree of cells given in preorder; tags are not known and stand as ``_``. Any labels make a tree."""
    brackets = [Span(0, words - 1, ROOT)]
    for start, end, label in cells:
        if not label.endswith(INSERTED):
            brackets += [Span(start, end - 1, _unescaped(part)) for part in label.split(JOIN)]
    return Constituents(("_",) * words, tuple(brackets))


class _Node:
    """A constituent whose children are being read from left to right; ``reached`` is the last child's end."""

    def __init__(self, start: int, end: int, inserted: str) -> None:
        self.start, self.end, self.inserted = start, end, inserted
        self.reached = start

    def take(self, end: int, cells: list[Cell]) -> None:
        """One more child, from ``reached`` to ``end``: from the second on, what was read so far is an inserted node."""
        if self.start < self.reached and end < self.end:
            cells.append(Cell(self.start, end, self.inserted))
        self.reached = end


def _escaped(label: str) -> str:
    return label.replace("%", "%25").replace(JOIN, "%2B").replace(INSERTED, "%7C<>")


def _unescaped(label: str) -> str:
    return label.replace("%7C<>", INSERTED).replace("%2B", JOIN).replace("%25", "%")
