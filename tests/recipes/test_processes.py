"""Two processes do what one process does with each batch cut in two."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from stemcell.corpora.store import read_corpus
from tests.recipes.commands import (
    Process,
    assert_same_weights,
    done,
    points,
    read,
    snapshot,
    status,
    steps_written,
    tables,
)
from tests.recipes.record import assert_equals_disk

pytestmark = pytest.mark.slow

BATCHES = {
    "pairs": ("--batch-sentences", 4, "--train-limit", 24),
    "single": ("--batch-sentences", 1, "--train-limit", 4),
}
"""Batches to be shared out, and batches of fewer sentences than there are processes."""


@pytest.fixture(scope="module")
def flags(corpus: Path) -> list[Any]:
    return ["train", "--data", corpus, "--encoder", "tiny-bert", "--epochs", 1, "--out"]


@pytest.fixture(scope="module")
def runs(flags: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of runs, trained by two launches of two processes at the same time."""
    folder = tmp_path_factory.mktemp("processes")
    launches = [Process(*flags, folder / name, *more, processes=2) for name, more in BATCHES.items()]
    for result in [launch.wait() for launch in launches]:
        assert result.code == 0, result.err
        # One process speaks for both.
        assert result.err.count("run folder: ") == 1
        assert result.out.count("dev, best epoch") == 1
    return folder


@pytest.mark.parametrize("name", list(BATCHES))
def test_losses_and_scores_are_those_of_one_process(runs: Path, flags: list[Any], tmp_path: Path, name: str) -> None:
    done(*flags, tmp_path / "one", *BATCHES[name], "--accumulation", 2)
    two, one = points(runs / name), points(tmp_path / "one")
    assert two.keys() == one.keys()
    assert {key: two[key] for key in two if not key[0].startswith(("loss/", "balance/", "norm/"))} == {
        key: one[key] for key in one if not key[0].startswith(("loss/", "balance/", "norm/"))
    }
    assert two == pytest.approx(one, rel=1e-4)
    assert tables(runs / name) == tables(tmp_path / "one")
    assert read(runs / name / "artifacts" / "report.json") == read(tmp_path / "one" / "artifacts" / "report.json")
    assert_equals_disk(runs / name)


def test_scoring_counts_every_sentence_once(runs: Path, corpus: Path) -> None:
    run = runs / "pairs"
    result = Process("evaluate", run, processes=2).wait()
    assert result.code == 0, result.err
    content = read_corpus(corpus)["test"]
    assert len(content["pos"]) == 19
    rows = [row for row in tables(run) if row[:3] == ("best", "test", "pos")]
    words = sum(len(example.words) for example in content["pos"])
    assert sum(row[4] for row in rows) == sum(row[5] for row in rows) == words
    assert result.out.count("test: average") == 1
    before = snapshot(run)
    # One process finds the very same scores, so that nothing is added.
    done("evaluate", run)
    assert {name for name, content in snapshot(run).items() if content != before.get(name)} == set()


def test_a_stopped_launch_is_saved_and_goes_on(runs: Path, flags: list[Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    launch = Process(*flags, run, *BATCHES["pairs"], processes=2).when(lambda: steps_written(run) > 3)
    result = launch.send(signal.SIGTERM)
    assert result.code != 0
    assert f"stopped and saved; go on with: stemcell train --resume {run}" in result.err
    assert status(run) == "KILLED"
    assert 3 < read(run / "checkpoints" / "last.json")["step"] < 30
    result = Process("train", "--resume", run, processes=2).wait()
    assert result.code == 0, result.err
    assert points(run) == points(runs / "pairs")
    for kind in ("last", "best"):
        assert_same_weights(run, runs / "pairs", kind)
    assert_equals_disk(run)


def test_replacing_a_run_takes_nothing_from_it(runs: Path, flags: list[Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    done(*flags, run, *BATCHES["pairs"], "--encoder-lr", 1e-3)
    first = read(run / "run.json")["id"]
    result = Process(*flags, run, *BATCHES["pairs"], "--overwrite", processes=2).wait()
    assert result.code == 0, result.err
    assert read(run / "run.json")["id"] != first
    assert points(run) == points(runs / "pairs")
    assert_same_weights(run, runs / "pairs", "last")
