"""CoNLL-U and CoNLL-X: part-of-speech tags and dependency trees.

Formats: https://universaldependencies.org/format.html; Buchholz and Marsi (CoNLL 2006) for CoNLL-X, which has the
same first eight columns and no comments.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from stemcell.corpora.formats.lines import Block, Broken, blocks, columns, parse_all, read_lines, refuse_masked
from stemcell.corpora.layers import BLANK, Arcs, Example
from stemcell.corpora.report import Report
from stemcell.errors import unknown

TAG_COLUMNS = {"upos": 3, "xpos": 4}

_ID, _FORM, _HEAD, _RELATION, _COLUMNS = 0, 1, 6, 7, 10
_RANGE = re.compile(r"\d+-\d+")
_EMPTY = re.compile(r"\d+\.\d+")


def read(
    path: Path, report: Report, *, pos_column: str = "xpos", skip_broken: bool = False
) -> dict[str, list[Example]]:
    """Tags (``pos``) and trees (``dep``) of a file.

    ``_`` says that something is not annotated. A sentence without any tag lacks POS. As half a tree is no
    tree, a sentence that lacks the head or the relation of any word lacks DEP. Multi-word ranges and empty nodes are
    not words; all of these are noted. Every tree must have one root and no cycle.

    Args:
        pos_column: ``xpos`` or ``upos``.
        skip_broken: leave broken sentences out, counted, instead of reporting them as problems.

    Raises:
        UserError: if ``pos_column`` is neither, or the file cannot be opened.
    """
    if pos_column not in TAG_COLUMNS:
        raise unknown("tag column", pos_column, TAG_COLUMNS)
    layers: dict[str, list[Example]] = {"pos": [], "dep": []}
    words_seen: list[tuple[str, ...]] = []
    ids: Counter[str] = Counter()

    def parse(block: Block) -> None:
        name, rows = _rows(block, report)
        if not rows:
            report.note("comments without a sentence")
            return
        name_or_number = name or f"{path.stem}-{len(words_seen) + 1}"
        words = tuple(row[_FORM] for _, row in rows)
        tags = tuple(row[TAG_COLUMNS[pos_column]] for _, row in rows)
        unparsed = sum(BLANK in (row[_HEAD], row[_RELATION]) for _, row in rows)
        arcs = None if unparsed else _arcs(rows, name_or_number)
        if name:
            ids[name] += 1
        words_seen.append(words)
        untagged = tags.count(BLANK)
        if untagged < len(tags):
            layers["pos"].append(Example(name_or_number, words, tags))
        if 0 < untagged < len(tags):
            report.note(f"words without {pos_column}, left out of POS", untagged)
        elif untagged:
            report.note(f"sentences without {pos_column}")
        if arcs:
            layers["dep"].append(Example(name_or_number, words, arcs))
        elif unparsed == len(rows):
            report.note("sentences without heads or relations")
        else:
            report.note("sentences with heads or relations for some words only, left out of DEP")

    parse_all(blocks(read_lines(path, report)), parse, path, report, skip_broken=skip_broken)
    if repeated := sum(ids.values()) - len(ids):
        report.note("repeated sentence ids", repeated)
    if refuse_masked(path, words_seen, report):
        return {"pos": [], "dep": []}
    return layers


def write(path: Path, pos: Sequence[Example], dep: Sequence[Example]) -> None:
    """Write tags and trees of the same sentences as CoNLL-U; either may be empty. Tags go to the xpos column.

    Raises:
        ValueError: if both are given and their words differ.
    """
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for tagged, parsed in zip_longest(pos, dep):
            example = parsed or tagged
            if (pos and dep) and (tagged is None or parsed is None or tagged.words != parsed.words):
                raise ValueError(f"tags and trees are not of the same sentences: {example.id}")
            out.write(f"# sent_id = {example.id}\n# text = {' '.join(example.words)}\n")
            for i, word in enumerate(example.words):
                tag = tagged.gold[i] if tagged else "_"
                head, relation = (parsed.gold.heads[i], parsed.gold.relations[i]) if parsed else ("_", "_")
                out.write(f"{i + 1}\t{word}\t_\t_\t{tag}\t_\t{head}\t{relation}\t_\t_\n")
            out.write("\n")


def _rows(block: Block, report: Report) -> tuple[str, list[tuple[int, list[str]]]]:
    """The sentence's id (or nothing) and its words' rows with their line numbers."""
    name = ""
    rows: list[tuple[int, list[str]]] = []
    for number, line in block:
        if line.startswith("#"):
            if line[1:].lstrip().startswith("sent_id") and "=" in line:
                name = line.split("=", 1)[1].strip()
            continue
        row = columns(line, tabs=True)
        if len(row) != _COLUMNS:
            what = f"{len(row)} column{'s' if len(row) > 1 else ''} where 10 are expected"
            raise Broken(number, "columns", what, "separate the ten columns of CoNLL-U by one tab each")
        if _RANGE.fullmatch(row[_ID]):
            report.note("multi-word ranges skipped")
        elif _EMPTY.fullmatch(row[_ID]):
            report.note("empty nodes skipped")
        elif row[_ID] != str(len(rows) + 1):
            what = f"word id {row[_ID]!r} where {len(rows) + 1} is expected"
            raise Broken(number, "word ids", what, "number the words from 1 and put a blank line between sentences")
        elif not all(row[: _RELATION + 1]):
            what = f"column {row.index('') + 1} is empty"
            raise Broken(number, "empty columns", what, "put _ where there is nothing")
        else:
            rows.append((number, row))
    return name, rows


def _arcs(rows: list[tuple[int, list[str]]], name: str) -> Arcs:
    """The tree of a sentence, checked."""
    size = len(rows)
    heads: list[int] = []
    for number, row in rows:
        word = f"word {row[_ID]} of sentence {name}"
        head = row[_HEAD]
        if not (head.isascii() and head.isdigit()):
            raise Broken(number, "heads", f"head {head!r} of {word} is not a number", "give the number of its head")
        if len(head) > 9 or int(head) > size:
            what = f"head {head} of {word} is out of range"
            raise Broken(number, "heads", what, f"heads of this sentence go from 0 to {size}")
        if head == row[_ID]:
            raise Broken(number, "heads", f"{word} is its own head", "give another head, or 0 for the root")
        heads.append(int(head))
    if heads.count(0) != 1:
        roots = [row[_ID] for (_, row), head in zip(rows, heads, strict=True) if head == 0]
        found = f"{len(roots)} roots (words {', '.join(roots)})" if roots else "no root"
        raise Broken(rows[0][0], "roots", f"sentence {name} has {found}", "exactly one word must have head 0")
    if cycle := _cycle(heads):
        what = f"sentence {name} has a cycle (word {cycle} is above itself)"
        raise Broken(rows[cycle - 1][0], "cycles", what, "following heads must lead to the root from every word")
    return Arcs(tuple(heads), tuple(row[_RELATION] for _, row in rows))


def _cycle(heads: list[int]) -> int:
    """A word, from 1, that is above itself, or 0 if there is none."""
    settled = [True] + [False] * len(heads)
    for start in range(1, len(heads) + 1):
        path: list[int] = []
        word = start
        while not settled[word]:
            settled[word] = True
            path.append(word)
            word = heads[word - 1]
        if word in path:
            return word
    return 0
