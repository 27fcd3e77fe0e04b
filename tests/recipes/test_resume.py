"""Runs that were killed, stopped or prolonged go on as if nothing had happened."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from stemcell.corpora.layers import LAYERS
from stemcell.tracking.folder import RunFolder
from stemcell.training import loop
from tests.recipes.commands import (
    Process,
    assert_same_weights,
    done,
    points,
    read,
    refused,
    snapshot,
    status,
    stemcell,
    steps_written,
    tables,
    weights,
)
from tests.recipes.record import assert_equals_disk

pytestmark = pytest.mark.slow

EPOCH = 30
"""Steps: 24 sentences in batches of 4, five tasks."""


@pytest.fixture(scope="module")
def flags(corpus: Path) -> list[Any]:
    """A short run of all five tasks, without its folder."""
    return [
        *("train", "--data", corpus, "--encoder", "tiny-bert", "--train-limit", 24, "--batch-sentences", 4),
        *("--encoder-lr", 1e-3, "--epochs", 3, "--out"),
    ]


@pytest.fixture(scope="module")
def uninterrupted(flags: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("uninterrupted") / "run"
    done(*flags, run)
    assert {name for name, _ in points(run)} >= {f"loss/{task}" for task in LAYERS}
    assert steps_written(run) == 3 * EPOCH
    return run


def assert_as_uninterrupted(run: Path, uninterrupted: Path) -> None:
    """Fails on any difference in metrics (losses, rates, norms, balance, scores), tables or weights."""
    assert status(run) == "FINISHED"
    assert points(run) == points(uninterrupted)
    assert tables(run) == tables(uninterrupted)
    for kind in ("last", "best"):
        assert_same_weights(run, uninterrupted, kind)
    state, other = (read(folder / "checkpoints" / "last.json")["state"] for folder in (run, uninterrupted))
    assert state["balance"] == other["balance"]
    assert state["progress"] == other["progress"]
    kept = sorted(path.name for path in (run / "checkpoints").iterdir())
    assert [name.partition("-")[0] for name in kept] == ["best", "best.json", "last", "last.json"]


def checkpoint(run: Path) -> int:
    """Steps done at the last checkpoint, -1 where there is none."""
    pointer = run / "checkpoints" / "last.json"
    return int(read(pointer)["step"]) if pointer.exists() else -1


def test_a_killed_run_goes_on_and_ends_the_same(flags: list[Any], uninterrupted: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    process = Process(*flags, run, "--checkpoint-minutes", 0)
    process.when(lambda: checkpoint(run) > 2 * EPOCH + 3).send(signal.SIGKILL)
    assert 2 * EPOCH < checkpoint(run) < 3 * EPOCH, "killed in the middle of the third epoch"
    assert RunFolder(run).status().status == "KILLED"
    done("train", "--resume", run)
    assert_as_uninterrupted(run, uninterrupted)
    assert_equals_disk(run)

    # Once more, and nothing is left to do.
    before = snapshot(run)
    done("train", "--resume", run)
    after = snapshot(run)
    assert {name for name in after if after[name] != before.get(name)} <= {"status.json", "system.jsonl"}
    assert before.keys() == after.keys()
    assert_equals_disk(run)

    # More epochs: the same run and the same record, longer.
    done("train", "--resume", run, "--epochs", 4)
    assert steps_written(run) == 4 * EPOCH
    values = points(run)
    first = {key: value for key, value in values.items() if key[1] <= 3 * EPOCH}
    assert first == points(uninterrupted)
    assert {step for name, step in values if name == "lr/encoder"} == set(range(1, 4 * EPOCH + 1))
    assert {row[0] for row in tables(run)} == {1, 2, 3, 4}
    assert read(run / "artifacts" / "report.json")["epochs"] == 4
    record = assert_equals_disk(run)
    assert record.run.info.status == "FINISHED"
    assert record.run.data.params["epochs"] == "3"
    assert record.run.data.tags["resumed.epochs"] == "4"


def test_a_run_killed_before_its_first_checkpoint_starts_again(
    flags: list[Any], uninterrupted: Path, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    Process(*flags, run, "--checkpoint-minutes", 0).when(lambda: steps_written(run) >= 0).send(signal.SIGKILL)
    assert checkpoint(run) == -1
    done("train", "--resume", run)
    assert_as_uninterrupted(run, uninterrupted)
    assert_equals_disk(run)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_run_saves_itself_and_says_how_to_go_on(
    flags: list[Any], uninterrupted: Path, tmp_path: Path, number: signal.Signals
) -> None:
    run = tmp_path / "run"
    # Ten minutes between checkpoints: the one that is there comes of the signal.
    result = Process(*flags, run).when(lambda: steps_written(run) > EPOCH + 3).send(number)
    assert result.code == 128 + number
    assert f"stopped and saved; go on with: stemcell train --resume {run}" in result.err
    assert "Traceback" not in result.err
    assert EPOCH < checkpoint(run) == steps_written(run) < 2 * EPOCH
    assert status(run) == "KILLED"
    assert read(run / "status.json")["reason"] == f"signal {int(number)}"
    assert assert_equals_disk(run).run.info.status == "KILLED"
    done("train", "--resume", run)
    assert_as_uninterrupted(run, uninterrupted)
    assert_equals_disk(run)


class Killed(BaseException):
    """The process ends here: nothing after it is done, not even what a handler of errors would do."""


def interrupt(patch: pytest.MonkeyPatch, what: str, place: int) -> None:
    """Let this process be as good as killed, or told to stop, at the ``place``-th epoch's end."""
    place_of = {"told to stop": (loop, "evaluate"), "log_scores": (loop, "log_scores")}
    owner, name = place_of.get(what, (loop.Trainer, what))
    real = getattr(owner, name)
    count = iter(range(1, 1000))

    def replacement(*arguments: Any, **choices: Any) -> Any:
        if what == "told to stop":
            if next(count) == place:
                signal.raise_signal(signal.SIGTERM)
        elif what == "_save_last":
            trainer = arguments[0]
            if trainer.progress.step == 0 and trainer.progress.epoch == place:
                raise Killed
        elif next(count) == place:
            raise Killed
        return real(*arguments, **choices)

    patch.setattr(owner, name, replacement)


@pytest.mark.parametrize(
    "what",
    [
        pytest.param("told to stop", id="SIGTERM while dev is annotated"),
        pytest.param("_evaluate", id="killed while dev is annotated"),
        pytest.param("log_scores", id="killed before scores are noted"),
        pytest.param("_save_last", id="killed between the best checkpoint and the last"),
    ],
)
def test_an_epochs_end_may_be_interrupted(
    flags: list[Any], uninterrupted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        interrupt(patch, what, place=2)
        if what == "told to stop":
            assert stemcell(*flags, run).code == 128 + signal.SIGTERM
            assert checkpoint(run) == 2 * EPOCH
        else:
            with pytest.raises(Killed):
                stemcell(*flags, run, "--checkpoint-minutes", 0)
            # The step that was done last is saved before the next, and so is not.
            assert checkpoint(run) == 2 * EPOCH - 1
    done("train", "--resume", run)
    assert_as_uninterrupted(run, uninterrupted)
    assert_equals_disk(run)


def test_what_would_make_it_another_run_is_refused(corpus: Path, flags: list[Any], tmp_path: Path) -> None:
    copy = tmp_path / "corpus"
    shutil.copytree(corpus, copy)
    run = tmp_path / "run"
    done(*flags, run, "--data", copy, "--epochs", 1, "--tasks", "pos", "--train-limit", 8)
    before = snapshot(run)
    message = refused("train", "--resume", run, "--seed", 2, "--encoder-lr", 0.5, "--epochs", 2)
    assert "keeps its seed, encoder_lr; only epochs, checkpoint_minutes, early_stop may change" in message
    assert "keeps its data" in refused("train", "--resume", run, "--data", corpus)

    # One tag of one training sentence differs, and the annotation of a task that the run does not even have.
    for name in ("train.conllu", "dev.ner.tsv"):
        path = copy / name.partition(".")[0] / name
        text = path.read_text("utf-8")
        path.write_text(text.replace("\tNN\t", "\tNNS\t", 1).replace("\tB-PER", "\tB-LOC", 1), "utf-8")
        assert path.read_text("utf-8") != text
        message = refused("train", "--resume", run, "--epochs", 2)
        assert f"{copy}: the corpus is not the one that {run} was trained on" in message
        path.write_text(text, "utf-8")
    assert snapshot(run) == before
    done("train", "--resume", run, "--epochs", 2)
    assert steps_written(run) == 4


def test_a_run_has_one_writer(trained: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(trained, run)
    folder = RunFolder(run).hold()
    folder.set_status("RUNNING")
    before = snapshot(run)
    config = ("--config", run / "config.yaml", "--out", run)
    for arguments in (("--resume", run), config, (*config, "--overwrite")):
        assert f"{run}: another process is writing this run" in refused("train", *arguments)
    assert snapshot(run) == before
    folder.release()


def test_half_precision_goes_on_too(flags: list[Any], tmp_path: Path) -> None:
    from accelerate.state import AcceleratorState, GradientState

    more = ["--precision", "bf16", "--tasks", "con,srl", "--epochs", 1]

    def reset() -> None:
        # Within one process accelerate keeps to the first precision.
        AcceleratorState._reset_state(True)
        GradientState._reset_state()

    reset()
    try:
        done(*flags, tmp_path / "whole", *more)
        count = iter(range(1, 1000))
        real = loop.Trainer._step

        def step(*arguments: Any) -> None:
            if next(count) == 7:
                signal.raise_signal(signal.SIGINT)
            real(*arguments)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop.Trainer, "_step", step)
            assert stemcell(*flags, tmp_path / "cut", *more).code == 128 + signal.SIGINT
        assert checkpoint(tmp_path / "cut") == 6
        done("train", "--resume", tmp_path / "cut")
    finally:
        reset()
    assert points(tmp_path / "cut") == points(tmp_path / "whole")
    assert_same_weights(tmp_path / "cut", tmp_path / "whole", "last")
    assert all(tensor.dtype == torch.float32 for tensor in weights(tmp_path / "cut", "last").values())
    assert json.loads((tmp_path / "cut" / "status.json").read_text())["status"] == "FINISHED"


def test_under_nohup_a_hangup_is_not_heard(flags: list[Any], uninterrupted: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        process = Process(*flags, run)
    finally:
        signal.signal(signal.SIGHUP, before)
    result = process.when(lambda: steps_written(run) > EPOCH + 3).send(signal.SIGHUP)
    assert result.code == 0, result
    assert_as_uninterrupted(run, uninterrupted)


def test_training_goes_on_when_nobody_reads_what_it_prints(
    flags: list[Any], uninterrupted: Path, tmp_path: Path
) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    run = tmp_path / "run"
    command = [sys.executable, "-m", "stemcell", *map(str, [*flags, run])]
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "ACCELERATE_USE_CPU": "true"}
    assert subprocess.run(command, stdout=writer, stderr=writer, env=environment).returncode == 0
    os.close(writer)
    assert_as_uninterrupted(run, uninterrupted)


def test_results_of_a_run_that_was_trained_further_are_refused_until_made_again(
    flags: list[Any], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    done(*flags, run, "--epochs", 1)
    done("evaluate", run)
    done("compare", run, "--out", tmp_path / "first")
    done("train", "--resume", run, "--epochs", 2)
    message = refused("compare", run, "--out", tmp_path / "second")
    assert (
        f"trained further after their results on test were made; make them again:\n  stemcell evaluate {run}" in message
    )
    done("evaluate", run)
    done("compare", run, "--out", tmp_path / "second")
