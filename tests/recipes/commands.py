"""Whole commands, in this process or in ones of their own, and what they leave behind."""

from __future__ import annotations

import contextlib
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stemcell.tracking.journal import entries

Points = dict[tuple[str, int], float]
"""Values by metric and step."""


class Result(NamedTuple):
    """How a command ended and what it printed."""

    code: int
    out: str
    err: str


def stemcell(*arguments: object, stdin: str = "") -> Result:
    """Run a command in this process, which spares the seconds that a new one needs to import torch.

    An exception that reaches the user, and would be a traceback, reaches the test.
    """
    from stemcell.cli.main import main

    out, err, code = io.StringIO(), io.StringIO(), 0
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        patch.setattr(sys, "argv", ["stemcell", *map(str, arguments)])
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8"))
        try:
            main()
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else int(end.code is not None)
    return Result(code, out.getvalue(), err.getvalue())


def done(*arguments: object, stdin: str = "") -> Result:
    """As :func:`stemcell`, for a command that must succeed."""
    result = stemcell(*arguments, stdin=stdin)
    assert result.code == 0, result.err
    return result


def refused(*arguments: object) -> str:
    """Run a command that must fail as a user's error does: exit code 2 and one message, which is returned."""
    result = stemcell(*arguments)
    assert result.code == 2, result
    assert result.out == ""
    assert result.err.count("stemcell: ") == 1
    return result.err[result.err.index("stemcell: ") :]


class Process:
    """``python -m stemcell`` or, with ``processes``, ``torchrun … -m stemcell``, from outside."""

    def __init__(self, *arguments: object, processes: int = 0) -> None:
        torchrun = ["torch.distributed.run", "--standalone", "--nproc-per-node", str(processes), "-m"]
        command = [sys.executable, "-m", *(torchrun if processes else []), "stemcell", *map(str, arguments)]
        # One thread, as in this process: sums come out the same to the last bit.
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
        )

    def when(self, reached: Callable[[], bool]) -> Process:
        """Wait until something holds; fails if the process ends before."""
        while not reached():
            if self._process.poll() is not None:
                raise AssertionError(f"ended before: {self._process.communicate()}")
            time.sleep(0.01)
        return self

    def send(self, number: signal.Signals) -> Result:
        """Send a signal to the process started, and wait for its end."""
        self._process.send_signal(number)
        return self.wait()

    def wait(self, timeout: float = 180) -> Result:
        """Wait for the end; whatever is left of the process and its children is killed."""
        try:
            out, err = self._process.communicate(timeout=timeout)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        return Result(self._process.returncode, out, err)


def steps_written(run: Path) -> int:
    """The last step in a run's history, -1 where there is none yet."""
    return max((entry.step for entry in entries(run / "metrics.jsonl")), default=-1)


def read(path: Path) -> Any:
    """A JSON file."""
    return json.loads(path.read_text("utf-8"))


def status(run: Path) -> str:
    """The status of a run on disk."""
    return str(read(run / "status.json")["status"])


def points(run: Path, journals: Sequence[str] = ("metrics.jsonl",), speed: bool = False) -> Points:
    """Values on disk; fails if a metric has a step twice. Speeds, which no two runs share, are left out."""
    found = [
        (name, entry.step, value)
        for journal in journals
        for entry in entries(run / journal)
        for name, value in entry.metrics.items()
        if speed or not name.startswith("speed/")
    ]
    assert max(Counter((name, step) for name, step, _ in found).values()) == 1
    return {(name, step): value for name, step, value in found}


def tables(run: Path) -> list[tuple[Any, ...]]:
    """The rows of all tables on disk, sorted; fails if one is there twice."""
    rows = [tuple(row) for path in (run / "tables").rglob("*.json") for row in read(path)["data"]]
    assert max(Counter(rows).values(), default=1) == 1
    return sorted(rows, key=repr)


def weights(run: Path, kind: str) -> dict[str, Any]:
    """All tensors of a run's checkpoint by file and name."""
    from stemcell.training import checkpoints

    tensors, _ = checkpoints.load(run / "checkpoints", kind)
    return {f"{file}/{name}": tensor for file, values in tensors.items() for name, tensor in values.items()}


def assert_same_weights(first: Path, second: Path, kind: str) -> None:
    """Fails unless two runs' checkpoints are equal bit for bit."""
    import torch

    one, other = weights(first, kind), weights(second, kind)
    assert one.keys() == other.keys()
    assert [name for name in one if not torch.equal(one[name], other[name])] == []


def snapshot(folder: Path) -> dict[str, bytes]:
    """The bytes of all files of a folder but locks."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != ".lock"
    }
