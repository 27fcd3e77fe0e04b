"""Losses that are not numbers, damaged files, full disks: what is good stays, and one message says what to do."""

from __future__ import annotations

import errno
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import stemcell
from stemcell.errors import UserError
from stemcell.tracking import description
from stemcell.tracking.folder import RunFolder
from stemcell.training import checkpoints, loop
from tests.recipes import commands
from tests.recipes.commands import (
    done,
    points,
    read,
    refused,
    snapshot,
    status,
    steps_written,
    tables,
    weights,
)
from tests.recipes.record import assert_equals_disk

EPOCH = 8
"""Steps: 16 sentences in batches of 4, two tasks."""


@pytest.fixture(scope="module")
def flags(corpus: Path) -> list[Any]:
    return [
        *("train", "--data", corpus, "--encoder", "tiny-bert", "--tasks", "pos,srl", "--train-limit", 16),
        *("--batch-sentences", 4, "--epochs", 3, "--out"),
    ]


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A finished run to be damaged."""
    copy = tmp_path / "run"
    shutil.copytree(trained, copy)
    return copy


def test_a_loss_that_is_not_finite_ends_the_run_with_a_reason(flags: list[Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    message = refused(*flags, run, "--encoder-lr", 1e30, "--decoder-lr", 1e30)
    said = re.search(
        r"the loss of (POS|SRL) is (nan|inf) at step (\d) of epoch 1 \(sentences ([\d, ]+) of its training data\); "
        r"lower --encoder-lr or --decoder-lr; there was no checkpoint yet",
        message,
    )
    assert said, message
    assert int(said[3]) == steps_written(run) + 1
    assert len(said[4].split(", ")) == 4
    record = assert_equals_disk(run)
    assert (status(run), record.run.info.status) == ("FAILED", "FAILED")
    assert said[0] in read(run / "status.json")["reason"]
    assert said[0] in record.run.data.tags["stemcell.reason"]
    assert "no checkpoint 'best' here" in refused("evaluate", run)


def explode(patch: pytest.MonkeyPatch, step: int) -> None:
    """Let the update of one step be far too large."""
    real = loop.set_rates

    def rates(optimiser: torch.optim.Optimizer, number: int, *rest: Any) -> None:
        real(optimiser, number, *rest)
        if number + 1 == step:
            for group in optimiser.param_groups:
                group["lr"] *= 1e36

    patch.setattr(loop, "set_rates", rates)


def test_the_last_good_checkpoint_stays(flags: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    with monkeypatch.context() as patch:
        explode(patch, EPOCH + 5)
        message = refused(*flags, run, "--checkpoint-minutes", 0)
    assert "at step 6 of epoch 2 (" in message
    assert "the last checkpoint was written before this step and stays" in message
    assert status(run) == "FAILED"
    assert read(run / "checkpoints" / "last.json")["step"] == EPOCH + 4
    assert read(run / "checkpoints" / "best.json")["step"] == EPOCH
    for kind in ("last", "best"):
        assert all(tensor.isfinite().all() for tensor in weights(run, kind).values())
    assert all(value == value for value in points(run).values())
    done("evaluate", run, "--split", "dev")
    # Whatever it was has passed: it goes on from before.
    done("train", "--resume", run)
    assert status(run) == "FINISHED"
    assert {row[0] for row in tables(run)} == {1, 2, 3, "best"}


def test_nothing_that_is_not_finite_becomes_the_best(
    flags: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    real = loop.Trainer._step

    def step(trainer: Any, *rest: Any) -> None:
        real(trainer, *rest)
        if trainer.progress.total == 2 * EPOCH:
            # No loss has shown it yet: the epoch is at its end.
            next(trainer.model.decoders["srl"].parameters()).data.fill_(float("nan"))

    with monkeypatch.context() as patch:
        patch.setattr(loop.Trainer, "_step", step)
        message = refused(*flags, run, "--checkpoint-minutes", 0)
    assert re.search(r"the weights decoders\.srl\.\S+ are not finite after step 8 of epoch 2; lower", message)
    assert {row[0] for row in tables(run)} == {1}
    assert read(run / "checkpoints" / "best.json")["step"] == EPOCH
    for kind in ("last", "best"):
        assert all(tensor.isfinite().all() for tensor in weights(run, kind).values())


def forget(run: Path) -> None:
    """Make a run one of an earlier version, which noted no SHA-256 of labels, encoder and records."""
    for file in ("run.json", "checkpoints/best.json", "checkpoints/last.json"):
        record = read(run / file)
        del record["sha256"]
        if file == "run.json":
            del record["files"]
        (run / file).write_text(json.dumps(record))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-100])


def flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


@pytest.mark.parametrize("damage", [truncate, flip, Path.unlink])
def test_a_damaged_checkpoint_is_named(run: Path, damage: Callable[[Path], None]) -> None:
    best, last = (
        run / "checkpoints" / read(run / "checkpoints" / f"{kind}.json")["folder"] for kind in ("best", "last")
    )
    damage(best / "model.safetensors")
    damage(last / "optimiser.safetensors")
    for message in (refused("evaluate", run), refused("predict", run)):
        assert f"stemcell: {best / 'model.safetensors'}: " in message
    assert f"stemcell: {last / 'optimiser.safetensors'}: " in refused("train", "--resume", run, "--epochs", 3)


@pytest.mark.parametrize(
    ("file", "command"),
    [
        ("run.json", "evaluate"),
        ("checkpoints/best.json", "evaluate"),
        ("artifacts/labels.json", "evaluate"),
        ("encoder/config.json", "evaluate"),
        ("encoder/tokenizer.json", "evaluate"),
        ("checkpoints/last.json", "resume"),
    ],
)
@pytest.mark.parametrize("version", [forget, lambda run: None], ids=["old", "new"])
def test_any_damaged_file_is_named(run: Path, file: str, command: str, version: Callable[[Path], None]) -> None:
    version(run)
    truncate(run / file)
    arguments = ("evaluate", run) if command == "evaluate" else ("train", "--resume", run, "--epochs", 3)
    place = str(run / file) if not file.startswith("encoder") else str(run / "encoder")
    assert place in refused(*arguments)


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("artifacts/labels.json", '"NN"', '"XX"'),
        ("encoder/config.json", '"layer_norm_eps"', '"layer_norm_eps_"'),
        ("encoder/tokenizer.json", '"the"', '"teh"'),
        ("encoder/tokenizer_config.json", "{", '{"mine": 1, '),
        ("run.json", '"projective": false', '"projective": true'),
        ("run.json", '"pos_column": "xpos"', '"pos_column": "upos"'),
    ],
)
def test_a_file_changed_by_hand_is_named(run: Path, tmp_path: Path, file: str, old: str, new: str) -> None:
    """Each would still load, and predict something else."""
    before = (run / file).read_text("utf-8")
    assert old in before
    (run / file).write_text(before.replace(old, new, 1), "utf-8")
    changed = snapshot(run)
    for arguments in (
        ("evaluate", run),
        ("predict", run),
        ("probe", run, "--out", tmp_path / "probes"),
        ("export", run, "--out", tmp_path / "export"),
        ("train", "--resume", run, "--epochs", 3),
        ("train", "--from", run, "--out", tmp_path / "new"),
    ):
        message = refused(*arguments)
        assert f"{run / file}: " in message
        assert "changed by hand" in message
        assert "copy it again from the original, or train again" in message
    with pytest.raises(UserError, match="changed by hand"):
        stemcell.load(run)
    assert snapshot(run) == changed
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    (run / file).write_text(before, "utf-8")
    done("predict", run)


def test_a_run_of_an_earlier_version_is_loaded_and_goes_on(run: Path) -> None:
    sentence = "Mary slept .\n"
    before, step = done("predict", run, stdin=sentence).out, steps_written(run)
    forget(run)
    assert done("predict", run, stdin=sentence).out == before
    done("train", "--resume", run, "--epochs", 3)
    assert steps_written(run) > step
    assert status(run) == "FINISHED"
    done("evaluate", run)


@pytest.mark.parametrize("killed", ["labels", "encoder", "files"])
def test_a_kill_before_the_checksums_does_no_harm(
    flags: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, killed: str
) -> None:
    """Neither in a new run nor where one without a checkpoint goes on, whatever is on disk by then."""
    run = tmp_path / "run"

    class Killed(BaseException):
        pass

    def die(*_: Any) -> None:
        raise Killed

    def kill(*arguments: Any) -> None:
        with monkeypatch.context() as patch:
            if killed == "labels":
                patch.setattr(description, "write_json", die)
            elif killed == "encoder":
                patch.setattr("stemcell.encoders.words.WordEncoder.save_description", die)
            else:
                patch.setattr(RunFolder, "note_files", die)
            with pytest.raises(Killed):
                commands.stemcell(*arguments)

    kill(*flags, run, "--tasks", "pos", "--epochs", 1, "--train-limit", 4)
    with monkeypatch.context() as patch:
        # Checksums are there, a checkpoint is not.
        patch.setattr(loop.Trainer, "run", die)
        with pytest.raises(Killed):
            commands.stemcell("train", "--resume", run)
    assert "artifacts/labels.json" in read(run / "run.json")["files"]
    # What an other version of a library might write.
    for file in ("artifacts/labels.json", "encoder/config.json"):
        (run / file).write_text("{}")
    kill("train", "--resume", run)
    done("train", "--resume", run)
    assert status(run) == "FINISHED"
    done("evaluate", run, "--split", "dev")


@pytest.mark.parametrize("content", ["{}", "[]", '{"pos": {}, "ner": {}, "dep": {}, "con": {}, "srl": {}}'])
def test_labels_that_are_not_a_models_are_named(run: Path, corpus: Path, tmp_path: Path, content: str) -> None:
    forget(run)
    (run / "artifacts" / "labels.json").write_text(content)
    assert f"{run / 'artifacts' / 'labels.json'}: damaged" in refused("train", "--resume", run, "--epochs", 3)
    started = refused("train", "--from", run, "--data", corpus, "--out", tmp_path / "new")
    assert f"{run}: damaged" in started
    assert not (tmp_path / "new").exists()


def test_a_run_or_checkpoint_of_another_version_is_refused(run: Path) -> None:
    best = run / "checkpoints" / "best.json"
    best.write_text(json.dumps({**read(best), "format": 99}))
    assert f"{best}: checkpoint format 99, but this version of stemcell reads 1" in refused("evaluate", run)
    (run / "run.json").write_text(json.dumps({**read(run / "run.json"), "format": 98}))
    for arguments in (("evaluate", run), ("train", "--resume", run), ("predict", run), ("sync", run)):
        assert f"{run}: run format 98, but this version of stemcell reads 1" in refused(*arguments)


def full(patch: pytest.MonkeyPatch, module: Any, name: str, when: Callable[[Any], bool]) -> None:
    """Let a function find no room on the disk."""
    real = getattr(module, name)

    def replacement(*arguments: Any) -> Any:
        if when(arguments):
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(*arguments)

    patch.setattr(module, name, replacement)


@pytest.fixture(scope="module")
def whole(flags: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run to its end with nothing in its way; for looking only."""
    run = tmp_path_factory.mktemp("whole") / "run"
    done(*flags, run)
    return run


@pytest.mark.parametrize("where", ["weights", "pointer", "table", "history"])
def test_a_full_disk_says_so_and_loses_nothing(
    flags: list[Any], whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    import os

    from safetensors import torch as safetensors

    run = tmp_path / "run"

    def second_epoch(arguments: Any) -> bool:
        return steps_written(run) >= EPOCH + 3

    with monkeypatch.context() as patch:
        if where == "weights":
            full(patch, safetensors, "save_file", second_epoch)
        elif where == "history":
            full(patch, os, "write", lambda arguments: b'"metrics"' in arguments[1] and second_epoch(arguments))
        else:
            name = "last.json" if where == "pointer" else "dev-epoch-002.json"
            full(patch, os, "replace", lambda arguments: Path(arguments[1]).name == name and second_epoch(arguments))
        message = refused(*flags, run, "--checkpoint-minutes", 0)
    assert "the disk is full; make room and " in message
    assert RunFolder(run).status().status == "FAILED"
    assert "disk is full" in RunFolder(run).status().reason
    # The checkpoint before is whole, and the run goes on to the end that it would have had.
    _, state = checkpoints.load(run / "checkpoints", "last")
    assert EPOCH <= state["progress"]["total"] < 2 * EPOCH
    done("train", "--resume", run)
    assert points(run) == points(whole)
    assert tables(run) == tables(whole)
    assert sorted(path.name for path in (run / "checkpoints").iterdir())[1::2] == ["best.json", "last.json"]
    assert [name for name in snapshot(run) if ".staged" in name] == []
