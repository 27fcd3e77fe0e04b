"""A metric history on disk: one line of JSON a step, appended while a run goes on.

A line is ``{"step": 12, "time": 1700000000.123, "metrics": {"loss/pos": 0.5}}``. A process that dies leaves at worst
one torn last line, which readers pass over and the next writer cuts off.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from stemcell.errors import UserError
from stemcell.files import disk_errors, finite_json


class Entry(NamedTuple):
    """One line: a step, seconds since 1970, and values by metric name."""

    step: int
    time: float
    metrics: dict[str, float]


class Journal:
    """The writer of one history; one at a time."""

    def __init__(self, path: Path) -> None:
        """Open or make the file and cut a torn end off."""
        self.path = path
        with disk_errors(path):
            self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._size = _sound_length(path)
            os.ftruncate(self._descriptor, self._size)

    def append(self, step: int, values: Mapping[str, Any]) -> None:
        """Add a line; values are anything that ``float`` takes.

        Raises:
            UserError: if the disk is full; the lines before stay whole.
        """
        metrics = {name: float(value) for name, value in values.items()}
        record = {"step": step, "time": round(time.time(), 3), "metrics": metrics}
        try:
            line = json.dumps(record, ensure_ascii=False, allow_nan=False)
        except ValueError:
            line = json.dumps(finite_json(record), ensure_ascii=False)
        data = (line + "\n").encode("utf-8")
        with disk_errors(self.path):
            try:
                written = os.write(self._descriptor, data)
                while written < len(data):
                    written += os.write(self._descriptor, data[written:])
            except OSError:
                os.ftruncate(self._descriptor, self._size)
                raise
        self._size += len(data)

    def position(self) -> int:
        """How far the history goes, in bytes, for :meth:`rewind`; what is before it is safe on disk."""
        with disk_errors(self.path):
            os.fsync(self._descriptor)
        return self._size

    def rewind(self, position: int) -> None:
        """Forget every line after a :meth:`position`.

        Raises:
            UserError: if the history is shorter, or no line ends there: it is not the one the position is of.
        """
        ends_line = position == 0 or os.pread(self._descriptor, 1, position - 1) == b"\n"
        if position > self._size or not ends_line:
            raise UserError(f"{self.path}: not the history that the checkpoint knows; copy the run folder again, whole")
        os.ftruncate(self._descriptor, position)
        self._size = position

    def close(self) -> None:
        """Close the file, once."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def entries(path: Path) -> Iterator[Entry]:
    """All whole lines of a history; none if the file is missing.

    Raises:
        UserError: if a line is damaged; names file and line.
    """
    lines, _ = read_lines(path, 0)
    for number, line in enumerate(lines, 1):
        try:
            yield parse(line)
        except ValueError:
            raise UserError(f"{path}:{number}: damaged; expected {{'step': …, 'time': …, 'metrics': …}}") from None


def read_lines(path: Path, start: int) -> tuple[list[bytes], int]:
    """The whole lines from a byte position on, and the position after them."""
    try:
        with path.open("rb") as handle:
            handle.seek(start)
            data = handle.read()
    except FileNotFoundError:
        return [], start
    end = data.rfind(b"\n") + 1
    return data[:end].splitlines(), start + end


def parse(line: bytes) -> Entry:
    """A line's entry.

    Raises:
        ValueError: if it is none.
    """
    try:
        record = json.loads(line)
        metrics = {str(name): float(value) for name, value in record["metrics"].items()}
        return Entry(int(record["step"]), float(record["time"]), metrics)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"not an entry: {error!r}") from error


def _sound_length(path: Path) -> int:
    """The bytes up to the last readable line: a power cut may leave a torn one or a block of zeros after it."""
    data = path.read_bytes()
    end = data.rfind(b"\n") + 1
    while end:
        start = data.rfind(b"\n", 0, end - 1) + 1
        try:
            parse(data[start:end])
            return end
        except ValueError:
            end = start
    return 0
