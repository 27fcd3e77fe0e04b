"""The English Web Treebank in Universal Dependencies, and Universal NER's entities on its words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from pathlib import Path

from stemcell.corpora.columns import bio_spans
from stemcell.corpora.formats.lines import Block, Broken, blocks, parse_all, read_lines
from stemcell.corpora.layers import BLANK, Span
from stemcell.corpora.report import Report

KEPT_COMMENTS = ("# newdoc id = ", "# sent_id = ", "# text = ")
ENTITY_TYPES = ("PER", "ORG", "LOC")
SAME_TEXT = 0.9
"""How alike two texts must be to be the same sentence, typing errors mended: the share of characters in common."""

WHOLE = "copy the file anew: this is not how the repository has it"

Entities = dict[str, tuple[tuple[str, ...], tuple[Span, ...]]]
"""By sentence id: words and spans."""


@dataclass(frozen=True, slots=True)
class Tree:
    """A sentence of UD: the document and the id it has there, its words and tags, and its CoNLL-U block."""

    document: str
    id: str
    words: tuple[str, ...]
    tags: tuple[str, ...]
    conllu: str


def read_ud(path: Path) -> list[Tree]:
    """Read a UD file, without empty nodes, enhanced dependencies, and what MISC says beside ``SpaceAfter=No``.

    Raises :class:`UserError` if the file is missing or, with file and line, if it is broken.
    """
    trees: list[Tree] = []
    document = ""

    def parse(block: Block) -> None:
        nonlocal document
        document = _comment(block, "# newdoc id = ") or document
        kept, words, tags = [], [], []
        for number, text in block:
            if text.startswith("#"):
                kept += [text] if text.startswith(KEPT_COMMENTS) else []
                continue
            columns = text.split("\t")
            if len(columns) != 10:
                raise Broken(number, "columns", f"{len(columns)} columns instead of 10", WHOLE)
            if "." in columns[0]:
                continue
            columns[8:] = ["_", "SpaceAfter=No" if "SpaceAfter=No" in columns[9].split("|") else "_"]
            kept.append("\t".join(columns))
            if "-" not in columns[0]:
                words.append(columns[1])
                tags.append(columns[4])
        trees.append(Tree(document, _sentence_id(block), tuple(words), tuple(tags), "\n".join(kept)))

    _parse_file(path, parse)
    return trees


def read_uner(path: Path) -> Entities:
    """Read a Universal NER file, without types beside :data:`ENTITY_TYPES`: OTH is annotated only in part of it.

    Raises :class:`UserError` if the file is missing or, with file and line, if it is broken.
    """
    sentences: Entities = {}

    def parse(block: Block) -> None:
        words, tags = [], []
        for number, text in block:
            if text.startswith("#"):
                continue
            columns = text.split("\t")
            if len(columns) < 3:
                raise Broken(number, "columns", f"{len(columns)} columns instead of 3 or more", WHOLE)
            if columns[2] in (BLANK, "-"):
                return  # Not annotated: as if the sentence were not there.
            words.append(columns[1])
            tags.append(columns[2] if columns[2].partition("-")[2] in ENTITY_TYPES else "O")
        sentences[_sentence_id(block)] = (tuple(words), bio_spans(tags))

    _parse_file(path, parse)
    return sentences


def project(spans: Sequence[Span], old: Sequence[str], new: Sequence[str]) -> tuple[Span, ...] | None:
    """Move spans from one tokenisation of a sentence to another: they follow their characters.

    UNER was made on an older UD, where some words were cut otherwise. A span whose words became part of a word that
    the span before has already is left out. Gives ``None`` if the texts differ too much to be the same sentence.
    """
    if tuple(old) == tuple(new):
        return tuple(spans)
    old_owner = [i for i, word in enumerate(old) for _ in word]
    new_owner = [i for i, word in enumerate(new) for _ in word]
    matcher = SequenceMatcher(None, "".join(old), "".join(new), autojunk=False)
    if matcher.ratio() < SAME_TEXT:
        return None
    images: list[list[int]] = [[] for _ in old]
    for a, b, size in matcher.get_matching_blocks():
        for k in range(size):
            images[old_owner[a + k]].append(new_owner[b + k])
    moved: list[Span] = []
    for start, end, label in spans:
        image = [word for words in images[start : end + 1] for word in words]
        if image and (not moved or image[0] > moved[-1].end):
            moved.append(Span(image[0], image[-1], label))
    return tuple(moved)


def _parse_file(path: Path, parse: Callable[[Block], None]) -> None:
    report = Report()
    parse_all(blocks(read_lines(path, report)), parse, path, report, skip_broken=False)
    report.raise_problems()


def _comment(block: Block, start: str) -> str:
    return next((text.removeprefix(start) for _, text in block if text.startswith(start)), "")


def _sentence_id(block: Block) -> str:
    name = _comment(block, "# sent_id = ")
    if not name:
        raise Broken(block[0][0], "ids", "a sentence without sent_id", WHOLE)
    return name
