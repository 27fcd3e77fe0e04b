"""Histories on disk: torn ends, rewinding, odd values, cost."""

from __future__ import annotations

import errno
import math
import os
import time
from pathlib import Path

import pytest

from stemcell.errors import UserError
from stemcell.tracking.journal import Journal, entries


def steps(path: Path) -> list[int]:
    return [entry.step for entry in entries(path)]


def written(path: Path, count: int) -> Journal:
    journal = Journal(path)
    for step in range(1, count + 1):
        journal.append(step, {"loss": 1 / step})
    return journal


@pytest.mark.parametrize("end", [b'{"step": 4, "time": 1.0, "met', b"\0" * 50, b'{"step": 4}\n', b"\0\n"])
def test_a_torn_end_is_passed_over_and_then_cut_off(tmp_path: Path, end: bytes) -> None:
    path = tmp_path / "metrics.jsonl"
    written(path, 3).close()
    whole = path.read_bytes()
    path.write_bytes(whole + end)
    if b"\n" not in end:
        assert steps(path) == [1, 2, 3]
    journal = Journal(path)
    assert path.read_bytes() == whole
    journal.append(4, {"loss": 0.1})
    journal.close()
    assert steps(path) == [1, 2, 3, 4]


def test_every_cut_of_a_history_leaves_its_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    written(path, 3).close()
    whole = path.read_bytes()
    for cut in range(len(whole)):
        path.write_bytes(whole[:cut])
        Journal(path).close()
        assert steps(path) == list(range(1, whole[:cut].count(b"\n") + 1))


def test_rewinding_forgets_what_came_after_the_checkpoint(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    journal = written(path, 3)
    position = journal.position()
    journal.append(4, {"loss": 9.0})
    journal.close()
    journal = Journal(path)
    journal.rewind(position)
    journal.append(4, {"loss": 0.25})
    assert [(e.step, e.metrics) for e in entries(path)] == [(s, {"loss": 1 / s}) for s in (1, 2, 3, 4)]
    journal.rewind(0)
    assert steps(path) == []


def test_rewinding_another_history_is_refused(tmp_path: Path) -> None:
    journal = written(tmp_path / "metrics.jsonl", 3)
    for position in (journal.position() + 1, journal.position() - 3):
        with pytest.raises(UserError, match="not the history"):
            journal.rewind(position)
    assert steps(journal.path) == [1, 2, 3]


def test_values_that_are_no_numbers_are_kept_as_what_they_are(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    journal = Journal(tmp_path / "metrics.jsonl")
    journal.append(1, {"nan": math.nan, "up": math.inf, "down": -math.inf, "tensor": torch.tensor(2.5), "``": 3})
    (entry,) = entries(journal.path)
    assert math.isnan(entry.metrics.pop("nan"))
    assert entry.metrics == {"up": math.inf, "down": -math.inf, "tensor": 2.5, "``": 3.0}
    assert b'"nan": "nan"' in journal.path.read_bytes()


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    written(path, 3).close()
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + b"edited\n" + lines[2])
    with pytest.raises(UserError, match=r"metrics\.jsonl:2: damaged"):
        list(entries(path))


def test_a_full_disk_leaves_whole_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = written(tmp_path / "metrics.jsonl", 3)
    write = os.write

    def half(descriptor: int, data: bytes) -> int:
        if data.endswith(b"}}\n") and len(data) > 20:
            return write(descriptor, data[:20])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", half)
    with pytest.raises(UserError, match="disk is full"):
        journal.append(4, {"loss": 0.25, "other": 12345.678})
    monkeypatch.undo()
    assert steps(journal.path) == [1, 2, 3]
    journal.append(4, {"loss": 0.25})
    assert steps(journal.path) == [1, 2, 3, 4]


def test_a_step_costs_less_than_a_thousandth_of_a_fast_one(tmp_path: Path) -> None:
    """A training step of a small model takes 50 ms; noting it must stay far below (measured: about 0.025 ms)."""
    journal = Journal(tmp_path / "metrics.jsonl")
    values = {f"metric/{i}": i / 3 for i in range(8)}
    times = []
    for _ in range(5):
        start = time.perf_counter()
        for step in range(200):
            journal.append(step, values)
        times.append((time.perf_counter() - start) / 200)
    assert min(times) < 50e-6
