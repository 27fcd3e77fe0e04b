"""Whole files or none."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from stemcell.errors import UserError
from stemcell.files import disk_errors, intact, read_json, sha256, write_atomic, write_json


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
