"""Output whose reader goes away: `stemcell ... | head -1`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from stemcell.corpora.demo import write_demo


def unread(*arguments: object, both: bool = False) -> tuple[int, str]:
    """Exit code and standard error of a command whose output goes into a pipe that nobody reads any more."""
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "stemcell", *map(str, arguments)]
    stderr = writer if both else subprocess.PIPE
    result = subprocess.run(command, stdout=writer, stderr=stderr, text=True)
    os.close(writer)
    return result.returncode, result.stderr or ""


@pytest.mark.parametrize(
    "arguments", [["--help"], ["train", "--help"], ["--version"], ["study", "pruning", "--dry-run", "--data", "demo"]]
)
def test_it_ends_quietly(arguments: list[str]) -> None:
    assert unread(*arguments) == (141, "")
    assert unread(*arguments, both=True) == (141, "")


def test_a_table_ends_quietly(tmp_path: Path) -> None:
    write_demo(tmp_path / "demo", (4, 2, 2))
    assert unread("data", "check", tmp_path / "demo") == (141, "")


def test_unbuffered_output_ends_quietly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    assert unread("--help") == (141, "")


def test_a_message_that_nobody_reads_makes_no_traceback() -> None:
    assert unread("data", "check", "nowhere", both=True)[0] == 141


def test_a_full_disk_is_one_message() -> None:
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "stemcell", "--version"]
        result = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (result.returncode, result.stderr) == (2, "stemcell: [Errno 28] No space left on device\n")


def test_a_real_pipeline() -> None:
    script = f"set -o pipefail; {sys.executable} -m stemcell train --help | head -0 "
    # The reader is gone long before Python has started.
    result = subprocess.run(["bash", "-c", script], capture_output=True, text=True)
    assert (result.returncode, result.stderr) == (141, "")
