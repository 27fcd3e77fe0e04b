"""Annotating a file or standard input, some sentences at a time."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path
from typing import IO

from stemcell.errors import UserError
from stemcell.files import disk_errors, staging

# Sentences annotated at once: enough for full batches of similar length.
CHUNK = 512
# Words stand apart by these alone: other white space, such as the no-break space, may be inside them.
SPACE = re.compile("[ \t]+")


def split_spaced(sentence: str) -> tuple[str, ...]:
    """The words of a sentence in which they stand apart already; none of an empty one."""
    return tuple(filter(None, SPACE.split(sentence)))


def predict_file(
    run: str, source: Path | None, form: str, *, pretokenized: bool, out: Path | None, overwrite: bool
) -> None:
    """Annotate sentences, one a line, and write them in a format; an empty line keeps its place as an empty sentence.

    Raises:
        UserError: if the input is missing or not UTF-8, the output exists, or the format does not fit the run's tasks.
    """
    from stemcell.analysis.pipeline import load, split_words
    from stemcell.analysis.render import check_format, render

    if out is not None and out.is_dir():
        raise UserError(f"{out}: a folder, so it stays; name a file with --out")
    if out is not None and out.is_file() and not overwrite:
        raise UserError(f"{out}: exists already; give --overwrite to replace it")
    if out is not None and not out.parent.is_dir():
        raise UserError(f"{out.parent}: no such folder to write {out.name} into")
    # A pipe (`<(command)`) will do as well as a file.
    if source is not None and (source.is_dir() or not os.access(source, os.R_OK)):
        raise UserError(f"{source}: no such file, or not yours to read")
    pipeline = load(run)
    check_format(form, pipeline.tasks)
    numbers = count(1)
    with _output(out) as target:
        lines = _lines(source)
        while chunk := list(islice(lines, CHUNK)):
            split = split_spaced if pretokenized else split_words
            for analysis in pipeline.annotate(map(split, chunk)):
                target.write(render(analysis, form, next(numbers)))
            target.flush()


def _lines(source: Path | None) -> Iterator[str]:
    with open(source, "rb") if source else sys.stdin.buffer as handle:
        for number, raw in enumerate(handle, 1):
            try:
                line = raw.decode("utf-8-sig" if number == 1 else "utf-8").strip(" \t\r\n")
            except UnicodeDecodeError as error:
                place = f"{source or 'standard input'}:{number}"
                raise UserError(f"{place}: not UTF-8 ({error}); convert it first") from None
            yield line


@contextmanager
def _output(out: Path | None) -> Iterator[IO[str]]:
    if out is None:
        yield sys.stdout
        return
    if out.exists() and not out.is_file():
        # A device or a pipe is written to; a file in its place would be in everybody's way.
        with disk_errors(out), out.open("w", encoding="utf-8", newline="\n") as handle:
            yield handle
        return
    with staging(out) as temporary:
        with temporary.open("w", encoding="utf-8", newline="\n") as handle:
            yield handle
        temporary.replace(out)
