"""What all formats share: decoding, sentences as blocks of lines, and what happens to a broken sentence."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from stemcell.corpora.report import Report
from stemcell.errors import UserError

Block = list[tuple[int, str]]
"""The lines of one sentence with their numbers, from 1."""

T = TypeVar("T")


class Broken(ValueError):
    """A fault inside one sentence: the line, what kind of fault, what was found, and what to do about it."""

    def __init__(self, line: int, kind: str, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.line, self.kind, self.what, self.remedy = line, kind, what, remedy


def read_lines(path: Path, report: Report) -> list[str]:
    """The lines of a UTF-8 file without their ends; a byte order mark, CRLF, CR and a missing last end are noted.

    Bytes that are not UTF-8 text (zero bytes among them: they are in binary files and UTF-16) are a problem, and the
    file then counts as having no lines.

    Raises:
        UserError: if the file cannot be opened.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    zero = content.find(b"\0")
    try:
        text, bad = content.decode("utf-8"), zero
    except UnicodeDecodeError as error:
        text, bad = "", error.start
    if bad >= 0:
        likely = "LATIN1" if zero < 0 else "UTF-16"
        what = f"byte 0x{content[bad]:02x} is not UTF-8"
        remedy = f"convert the file to UTF-8 (iconv -f {likely} -t UTF-8, say)"
        report.problem(path, content.count(b"\n", 0, bad) + 1, "not UTF-8", what, remedy)
        return []
    if text.startswith("\ufeff"):
        report.note("files with a byte order mark")
        text = text[1:]
    if "\r" in text and "\n" not in text:
        report.note("files with CR line ends")
        text = text.replace("\r", "\n")
    # Not str.splitlines, which would also split at U+0085 or U+2028 inside a word.
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    else:
        report.note("files without an end of the last line")
    if any(line.endswith("\r") for line in lines):
        report.note("files with CRLF line ends")
        lines = [line.removesuffix("\r") for line in lines]
    return lines


def blocks(lines: Iterable[str], marks: tuple[str, ...] = ()) -> Iterator[Block]:
    """Sentences: runs of lines between blank ones or lines that begin with one of ``marks`` (themselves left out)."""
    block: Block = []
    for number, line in enumerate(lines, 1):
        # Only spaces make a line blank: one of tabs is a row of empty columns, and wrong.
        if not line.strip(" ") or (marks and line.startswith(marks)):
            if block:
                yield block
            block = []
        else:
            block.append((number, line))
    if block:
        yield block


def columns(line: str, tabs: bool) -> list[str]:
    """The columns of a line: between tabs, less spaces around them, or between runs of spaces.

    No other white space counts, which words may hold.
    """
    return [column.strip(" ") for column in line.split("\t")] if tabs else re.split(" +", line.strip(" "))


def parse_all(
    blocks: Iterable[T], parse: Callable[[T], object], path: Path, report: Report, *, skip_broken: bool
) -> None:
    """Call ``parse`` on every block; a :class:`Broken` one is a problem, or left out and counted if ``skip_broken``."""
    for block in blocks:
        try:
            parse(block)
        except Broken as fault:
            if skip_broken:
                report.note(f"broken sentences left out: {fault.kind}")
            else:
                report.problem(path, fault.line, fault.kind, fault.what, fault.remedy)


def refuse_masked(path: Path, words: Collection[tuple[str, ...]], report: Report, line: int = 0) -> bool:
    """Record a problem if the words are placeholders, as in treebanks published without their text.

    One ``[WORD]`` is enough; ``_`` is a word too, so that more than half of all words must be ``_``.
    """
    total = sum(map(len, words))
    masked = any("[WORD]" in sentence for sentence in words)
    if not masked and (total < 2 or 2 * sum(sentence.count("_") for sentence in words) <= total):
        return False
    mask = "[WORD]" if masked else "_"
    report.problem(
        path,
        line,
        "masked words",
        f"the words are masked: the file has {mask} in their place",
        "restore them from the treebank that the file was made from, or leave the file out",
    )
    return True
