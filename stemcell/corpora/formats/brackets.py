r"""Penn brackets: constituency trees, one a line or over several lines.

Format: Marcus et al. (1993), "Building a Large Annotated Corpus of English". Traces (``-NONE-``), the brackets that
they leave empty, and function tags are removed; roots other than TOP become TOP.
Words are given as other layers write them: ``-LRB-`` is ``(`` and ``\/`` is ``/``; writing escapes them again.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from stemcell.corpora.formats.lines import Block, Broken, parse_all, read_lines, refuse_masked
from stemcell.corpora.layers import Constituents, Example, Span
from stemcell.corpora.penn import escape, unescape
from stemcell.corpora.report import Report

TOP = "TOP"

_ROOTS = {TOP, "S1", "ROOT", ""}
_TRACE = "-NONE-"
# White space is spelt out because \s would also match inside words that hold a no-break space.
_TOKEN = re.compile(
    r"[ \t]*(?:"
    r"\([ \t]*(?P<tag>[^() \t]+)[ \t]+(?P<word>[^() \t]+)[ \t]*(?P<shut>\))"
    r"|(?P<open>\()[ \t]*(?P<label>[^() \t]*)"
    r"|(?P<close>\))"
    r"|(?P<stray>[^() \t]+))"
)


def read(path: Path, report: Report, *, skip_broken: bool = False) -> dict[str, list[Example]]:
    """Trees (``con``) of a file. What was removed or changed is noted.

    Args:
        skip_broken: leave broken trees out, counted, instead of reporting them as problems.
    """
    examples: list[Example] = []
    trees = 0

    def parse_tree(block: Block) -> None:
        nonlocal trees
        trees += 1
        seen: Counter[str] = Counter()
        words, tree = _parse(" ".join(line for _, line in block), block[0][0], seen)
        for what, count in seen.items():
            report.note(what, count)
        if words:
            examples.append(Example(f"{path.stem}-{trees}", words, tree))
        else:
            report.note("trees dropped that hold traces only")

    parse_all(_trees(read_lines(path, report)), parse_tree, path, report, skip_broken=skip_broken)
    if refuse_masked(path, [example.words for example in examples], report):
        return {"con": []}
    return {"con": examples}


def parse(text: str) -> tuple[tuple[str, ...], Constituents]:
    """The words and the tree of one bracketed sentence; of a tree of traces only, no words.

    Raises:
        ValueError: if the text is not exactly one tree; says why.
    """
    return _parse(" ".join(text.splitlines()), 1, Counter())


def format_tree(words: Sequence[str], tree: Constituents) -> str:
    """A tree on one line; brackets and backslashes in words are escaped so that :func:`parse` gives the words back.

    Raises:
        ValueError: if the brackets are not in preorder, or cross.
    """
    parts: list[str] = []
    ends: list[int] = []
    brackets = list(reversed(tree.brackets))
    for i, (word, tag) in enumerate(zip(words, tree.tags, strict=True)):
        while brackets and brackets[-1].start == i:
            bracket = brackets.pop()
            if bracket.end < i or (ends and bracket.end > ends[-1]):
                raise ValueError(f"bracket {bracket} crosses another or is out of preorder")
            parts.append(f" ({bracket.label}")
            ends.append(bracket.end)
        parts.append(f" ({tag} {escape(word)})")
        while ends and ends[-1] == i:
            parts.append(")")
            ends.pop()
    if brackets or ends:
        raise ValueError("brackets out of preorder, or beyond the last word")
    return "".join(parts).strip()


def write(path: Path, examples: Sequence[Example]) -> None:
    """Write trees, one a line."""
    with open(path, "w", encoding="utf-8", newline="\n") as out:
        for example in examples:
            out.write(format_tree(example.words, example.gold) + "\n")


def rooted(brackets: Sequence[Span], size: int, seen: Counter[str]) -> tuple[Span, ...]:
    """A tree's brackets over ``size`` words, in preorder, under exactly one TOP; changes are counted in ``seen``."""
    rest = list(brackets)
    whole = 0
    while whole < len(rest) and rest[whole].label in _ROOTS and rest[whole][:2] == (0, size - 1):
        whole += 1
    if whole == 0:
        seen["trees without a root, put under TOP"] += 1
    elif rest[0].label != TOP or whole > 1:
        seen["roots S1, ROOT or empty turned into TOP"] += 1
    return (Span(0, size - 1, TOP), *rest[whole:])


def plain_label(label: str, seen: Counter[str]) -> str:
    """A bracket's label without function tags and indices: ``NP-SBJ-1`` and ``NP=2`` are ``NP``, ``-X-`` stays."""
    # Tags' names such as -LRB- begin with the mark itself: nothing would be left of them.
    cut = min((at for at in (label.find("-"), label.find("=")) if at >= 0), default=0)
    if not cut:
        return label
    seen["function tags and indices removed from labels"] += 1
    return label[:cut]


def _trees(lines: list[str]) -> Iterator[Block]:
    """The lines of each tree; where one does not close, it ends before the line at which another surely begins."""
    written = [line for line in lines if line.strip(" \t")]
    one_a_line = all(line.startswith("(") for line in written)
    indented = any(line[0] in " \t" for line in written)
    block: Block = []
    depth = 0
    for number, line in enumerate(lines, 1):
        if not line.strip(" \t"):
            continue
        # In a file without indentation that is not one tree a line, nothing tells where a new tree begins.
        if block and line.startswith("(") and (one_a_line or indented):
            yield block
            block, depth = [], 0
        block.append((number, line))
        depth += line.count("(") - line.count(")")
        if depth <= 0:
            yield block
            block, depth = [], 0
    if block:
        yield block


def _parse(text: str, line: int, seen: Counter[str]) -> tuple[tuple[str, ...], Constituents]:
    """As :func:`parse`; ``line`` is named in errors, ``seen`` counts what is removed. No recursion: depth is free."""
    words: list[str] = []
    tags: list[str] = []
    brackets: list[Span | None] = []
    open_brackets: list[tuple[int, str]] = []
    filled = [False]
    at, size = 0, len(text.rstrip(" \t"))
    while at < size:
        token = _TOKEN.match(text, at)
        assert token is not None
        at = token.end()
        if not open_brackets and filled[0]:
            raise _after_the_end(token.group().strip(" \t"), line)
        if token["shut"]:
            filled[-1] = True
            if token["tag"] == _TRACE:
                seen["traces removed"] += 1
            else:
                words.append(unescape(token["word"]))
                tags.append(token["tag"])
        elif token["open"]:
            label = token["label"]
            if not label and open_brackets:
                raise Broken(line, "labels", "a bracket inside the tree has no label", _ESCAPE_ADVICE)
            filled[-1] = True
            filled.append(False)
            open_brackets.append((len(brackets), label))
            brackets.append(Span(len(words), 0, plain_label(label, seen)))
        elif token["close"]:
            if not open_brackets:
                raise Broken(line, "brackets", "unbalanced: ')' before any '('", "every tree needs as many ( as )")
            if not filled.pop():
                what = f"the bracket ({open_brackets[-1][1]}) has nothing in it"
                raise Broken(line, "brackets", what, _ESCAPE_ADVICE)
            index, _ = open_brackets.pop()
            bracket = brackets[index]
            assert bracket is not None
            empty = bracket.start == len(words)
            brackets[index] = None if empty else bracket._replace(end=len(words) - 1)
        else:
            what = f"{token['stray']!r} stands outside a (TAG word) pair"
            raise Broken(line, "brackets", what, "give every word a tag: (NN word)")
    if open_brackets:
        what = f"unbalanced: {len(open_brackets)} bracket(s) of the tree that begins here are not closed"
        raise Broken(line, "brackets", what, "every tree needs as many ( as )")
    if not words:
        return (), Constituents((), ())
    return tuple(words), Constituents(tuple(tags), rooted([b for b in brackets if b], len(words), seen))


_ESCAPE_ADVICE = "write brackets that are words as -LRB- and -RRB-"


def _after_the_end(token: str, line: int) -> Broken:
    if token.startswith("("):
        return Broken(line, "trees", "several trees on one line", "put each tree on a line of its own")
    what = f"unbalanced: {token!r} after the end of the tree"
    return Broken(line, "brackets", what, "every tree needs as many ( as )")
