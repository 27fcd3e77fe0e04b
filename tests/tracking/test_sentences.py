from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from stemcell.errors import UserError
from stemcell.tracking import sentences
from stemcell.tracking.folder import RunFolder


@pytest.fixture
def run(tmp_path: Path) -> RunFolder:
    return RunFolder.create(tmp_path / "run", {}, {})


def test_tasks_that_are_evaluated_later_join_those_before(run: RunFolder) -> None:
    assert sentences.read(run, "test") == {}
    sentences.write(run, "test", {"pos": np.array([[1, 2], [3, 3]]), "ner": np.array([[0, 1, 1]])})
    sentences.write(run, "test", {"ner": np.array([[1, 1, 1]])})
    assert {task: counts.tolist() for task, counts in sentences.read(run, "test").items()} == {
        "pos": [[1, 2], [3, 3]],
        "ner": [[1, 1, 1]],
    }
    assert sentences.read(run, "dev") == {}


def test_the_same_counts_are_the_same_bytes(run: RunFolder) -> None:
    counts = {"pos": np.array([[1, 2]])}
    sentences.write(run, "test", counts)
    before = (run.path / "artifacts" / "sentences" / "test.npz").read_bytes()
    sentences.write(run, "test", counts)
    assert (run.path / "artifacts" / "sentences" / "test.npz").read_bytes() == before


@pytest.mark.parametrize("damage", [b"", b"PK\x03\x04 no", b"no archive at all"])
def test_a_damaged_file_is_named_and_made_anew(run: RunFolder, damage: bytes) -> None:
    path = run.artifact("sentences/test.npz", damage)
    with pytest.raises(UserError, match=r"test\.npz: damaged"):
        sentences.read(run, "test")
    sentences.write(run, "test", {"pos": np.array([[1, 2]])})
    assert list(sentences.read(run, "test")) == ["pos"]
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match=r"test\.npz: damaged"):
        sentences.read(run, "test")
