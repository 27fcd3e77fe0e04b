"""Whole files or none."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from stemcell.errors import UserError
from stemcell.files import (
    OLD,
    Staged,
    disk_errors,
    intact,
    leftovers,
    read_json,
    sha256,
    staged_folder,
    staging,
    write_atomic,
    write_json,
)


def test_round_trip_makes_folders_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b.json"
    write_json(path, {"x": [1, 2.5, None], "label": "``"})
    write_json(path, {"x": [2], "label": "é"})
    assert read_json(path) == {"x": [2], "label": "é"}
    assert [entry.name for entry in path.parent.iterdir()] == ["b.json"]


def test_numbers_that_json_lacks_become_strings_that_float_reads(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_json(path, {"x": [float("nan"), (float("-inf"),)], "y": float("inf")})
    assert read_json(path) == {"x": ["nan", ["-inf"]], "y": "inf"}


def test_a_damaged_file_is_named_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text('{"x": 1,\n"y": }\n')
    with pytest.raises(UserError, match=r"a\.json:2: damaged"):
        read_json(path)
    path.write_bytes(b'{"x": "\xff"}')
    with pytest.raises(UserError, match="not UTF-8"):
        read_json(path)
    path.write_text("[" * 100_000)
    with pytest.raises(UserError, match="damaged, brackets"):
        read_json(path)
    with pytest.raises(UserError, match="missing; copy the folder that it is in again, whole"):
        read_json(tmp_path / "b.json")


def test_a_full_disk_keeps_the_old_content_and_no_half(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    write_atomic(path, "old")

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UserError, match="disk is full"):
        write_atomic(path, "new")
    assert path.read_text() == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.txt"]


def test_a_full_disk_is_understood_in_words_too(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the disk is full"), disk_errors(tmp_path):
        raise Exception("No space left on device (os error 28)")  # as tokenizers raises it
    with pytest.raises(ZeroDivisionError), disk_errors(tmp_path):
        raise ZeroDivisionError


@pytest.mark.parametrize("content", ["[]", "{}", "null", '{"x": []}', '{"x": {}}'])
def test_content_of_another_form_is_damage(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    with pytest.raises(UserError, match=r"a\.json: damaged \(.*\); copy the folder"), intact(path):
        int(read_json(path)["x"]["y"])


def test_sha256(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc")
    # The example of FIPS 180-2, appendix B.1.
    assert sha256(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def killed(target: Path, number: signal.Signals, writer: str = "staged_folder") -> subprocess.CompletedProcess[str]:
    """A process that is killed by a signal while it writes."""
    script = f"""
import os, sys, time
from pathlib import Path
from stemcell.files import staged_folder, staging
from stemcell.signals import exit_on_stop
exit_on_stop()
with {writer}(Path(sys.argv[1])) as path:
    (path / "half" if path.is_dir() else path).write_text("x")
    os.kill(os.getpid(), {int(number)})
    time.sleep(60)
"""
    return subprocess.run([sys.executable, "-c", script, str(target)], capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("writer", ["staged_folder", "staging"])
def test_what_a_killed_writer_left_is_known_and_removed_at_the_next_write(tmp_path: Path, writer: str) -> None:
    target = tmp_path / "sub" / "a.b"
    assert killed(target, signal.SIGKILL, writer).returncode == -signal.SIGKILL
    (left,) = leftovers(tmp_path, depth=None)
    assert (left.target, left.here, left.dead()) == (target, True, True)
    assert not list(leftovers(tmp_path))
    write_atomic(tmp_path / "sub" / "other", "x")
    assert left.path.exists()
    write_atomic(target, "x")
    assert sorted(path.name for path in target.parent.iterdir()) == ["a.b", "other"]


@pytest.mark.parametrize("number", [signal.SIGHUP, signal.SIGTERM])
def test_a_writer_that_is_asked_to_stop_leaves_nothing(tmp_path: Path, number: signal.Signals) -> None:
    ended = killed(tmp_path / "a", number)
    assert (ended.returncode, ended.stderr) == (128 + number, "")
    assert list(tmp_path.iterdir()) == []


def test_a_living_writer_is_left_alone_but_not_one_that_only_has_its_number(tmp_path: Path) -> None:
    target = tmp_path / "a"
    with staging(target) as path:
        path.write_text("mine")
        reused = path.with_name(re.sub(r"\.\d+\.staged$", ".1.staged", path.name))
        reused.mkdir()
        with staged_folder(target) as folder:
            (folder / "b").write_text("x")
        assert path.read_text() == "mine"
        assert not reused.exists()
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_what_another_machine_writes_is_removed_only_once_it_is_old(tmp_path: Path) -> None:
    there = tmp_path / ".a.elsewhere.7-0.1.staged"
    there.write_text("x")
    write_atomic(tmp_path / "a", "x")
    staged = Staged.of(there)
    assert staged is not None
    assert not staged.here
    assert there.exists()
    os.utime(there, (0, time.time() - OLD - 1))
    write_atomic(tmp_path / "a", "x")
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]


def test_a_staged_folder_replaces_only_what_it_may(tmp_path: Path) -> None:
    target = tmp_path / "a"
    for text in ("old", "new"):
        with staged_folder(target, replace=True) as folder:
            (folder / "b").write_text(text)
    with pytest.raises(UserError, match="already there, so it stays"), staged_folder(target) as folder:
        (folder / "b").write_text("newest")
    assert (target / "b").read_text() == "new"
    assert [entry.name for entry in tmp_path.iterdir()] == ["a"]
