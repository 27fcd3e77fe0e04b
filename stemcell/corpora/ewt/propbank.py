"""PropBank's trees and predicates for the English Web Treebank, released with their words masked.

A document's file has its sentences in the order of UD, so that words are found by position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from stemcell.corpora.ewt.treebank import WHOLE, Tree
from stemcell.corpora.formats.lines import Block, Broken, blocks, parse_all, read_lines
from stemcell.corpora.layers import BLANK
from stemcell.corpora.report import Report
from stemcell.errors import UserError

SUFFIX = ".xml.gold_skel"


class Token(NamedTuple):
    """A masked word: its tag, its part of the tree with ``*`` in its place, its roleset (or ``-``) and its roles."""

    tag: str
    parse: str
    roleset: str
    roles: tuple[str, ...]


Skeleton = tuple[Token, ...]


def find_documents(folder: Path) -> dict[str, Path]:
    """The files ``GENRE/00/NAME.xml.gold_skel`` of a folder by UD's names of their documents, ``GENRE-NAME``.

    Raises :class:`UserError` if there is none.
    """
    found = {f"{path.parts[-3]}-{path.name.removesuffix(SUFFIX)}": path for path in folder.glob(f"*/*/*{SUFFIX}")}
    if not found:
        raise UserError(f"{folder} has no GENRE/00/NAME{SUFFIX}; lay the source out as its repository is")
    return found


def read_skeletons(path: Path) -> list[Skeleton]:
    """Read a document's sentences. Raises :class:`UserError` with file and line where columns are missing."""
    skeletons: list[Skeleton] = []

    def parse(block: Block) -> None:
        rows = [(number, text.split()) for number, text in block]
        width = len(rows[0][1])
        for number, columns in rows:
            if len(columns) != width or width < 8:
                raise Broken(number, "columns", f"{len(columns)} columns", WHOLE)
        skeletons.append(tuple(Token(c[4], c[5], c[7], tuple(c[8:])) for _, c in rows))

    report = Report()
    parse_all(blocks(read_lines(path, report)), parse, path, report, skip_broken=False)
    report.raise_problems()
    return skeletons


def predicates_stand(skeleton: Skeleton) -> bool:
    """Whether each predicate has a role column with it in its V (in a few sentences it is in a C-V instead).

    In the release the columns are in the order of the predicates: a sentence where they are not is left out, too.
    """
    if any(BLANK in (token.roleset, *token.roles) for token in skeleton):
        return False
    predicates = [i for i, token in enumerate(skeleton) if token.roleset != "-"]
    if len(predicates) != len(skeleton[0].roles):
        return False
    for column, predicate in enumerate(predicates):
        cells = [token.roles[column] for token in skeleton]
        start = next((i for i, cell in enumerate(cells) if "(V*" in cell), len(cells))
        end = next((i for i in range(start, len(cells)) if ")" in cells[i]), -1)
        if not start <= predicate <= end:
            return False
    return True


def pair(trees: Sequence[Tree], skeletons: Sequence[Skeleton]) -> list[Skeleton | None]:
    """For each of a document's sentences its skeleton, or ``None`` where it has none that can be trusted.

    They are paired by order or, where the counts differ, by a monotone alignment. A pair has the same length and the
    same tags on half of its words at least; by order, up to three words may differ more, for UD retagged many such.
    """
    if len(trees) == len(skeletons):
        return [
            skeleton if _same_length(tree, skeleton) and (len(skeleton) <= 3 or _trusted(tree, skeleton)) else None
            for tree, skeleton in zip(trees, skeletons, strict=True)
        ]
    paired: list[Skeleton | None] = [None] * len(trees)
    for i, j in _align(trees, skeletons):
        paired[i] = skeletons[j]
    return paired


def _same_length(tree: Tree, skeleton: Skeleton) -> bool:
    return len(tree.words) == len(skeleton)


def _agreement(tree: Tree, skeleton: Skeleton) -> int:
    return sum(tag == token.tag for tag, token in zip(tree.tags, skeleton, strict=True))


def _trusted(tree: Tree, skeleton: Skeleton) -> bool:
    return 2 * _agreement(tree, skeleton) >= len(skeleton)


def _align(trees: Sequence[Tree], skeletons: Sequence[Skeleton]) -> Iterator[tuple[int, int]]:
    """The monotone alignment with the most agreeing tags, over pairs of the same length that can be trusted."""
    gain = [[_agreement(t, s) if _same_length(t, s) and _trusted(t, s) else 0 for s in skeletons] for t in trees]
    # best[i][j] is the agreement that the sentences from i on and the skeletons from j on can reach.
    best = [[0] * (len(skeletons) + 1) for _ in range(len(trees) + 1)]
    for i in reversed(range(len(trees))):
        for j in reversed(range(len(skeletons))):
            best[i][j] = max(best[i + 1][j], best[i][j + 1], gain[i][j] + best[i + 1][j + 1])
    i = j = 0
    while i < len(trees) and j < len(skeletons):
        if gain[i][j] and best[i][j] == gain[i][j] + best[i + 1][j + 1]:
            yield i, j
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
