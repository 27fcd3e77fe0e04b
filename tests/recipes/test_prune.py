"""Training with gates on heads: whole commands, what they keep, and what they refuse."""

from __future__ import annotations

import io
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import stemcell as package
from stemcell.heads.maps import TABLE_COLUMNS, read_gates
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import (
    Process,
    assert_same_weights,
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
from tests.recipes.record import Record, assert_equals_disk

# What torch says to its users is for nobody who trains.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("error:Converting a tensor")]

SIZES = ("--encoder", "tiny-bert", "--train-limit", 24, "--batch-sentences", 4, "--encoder-lr", 1e-3)
GATED = ("--prune", "dynamic", "--gate-lr", 0.1, "--l0-penalty", 0.05)
TASKS = ("--tasks", "pos,dep,srl")
EPOCH = 18
"""Steps: 24 sentences in batches of 4, three tasks."""


@pytest.fixture(scope="module")
def flags(corpus: Path) -> list[Any]:
    return ["train", "--data", corpus, *SIZES, *TASKS, "--epochs", 3, *GATED, "--out"]


@pytest.fixture(scope="module")
def pruned(flags: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An uninterrupted joint run, for looking only."""
    run = tmp_path_factory.mktemp("pruned") / "run"
    done(*flags, run)
    return run


@pytest.fixture(scope="module")
def per_task(flags: list[Any], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """For looking only."""
    run = tmp_path_factory.mktemp("per-task") / "run"
    done(*flags, run, "--gates", "per-task", "--overlap-penalty", 0.5)
    return run


def test_gates_move_and_are_kept_at_every_evaluation(pruned: Path) -> None:
    history = read_gates(RunFolder(pruned))
    assert history.steps == [EPOCH, 2 * EPOCH, 3 * EPOCH]
    values = history.values["joint"]
    start = read(pruned / "tables" / "gates" / f"step-{EPOCH:06d}.json")
    assert start["columns"] == TABLE_COLUMNS
    assert np.abs(values[-1] - values[0]).max() > 0.1, "an encoder learns which heads it needs"
    metrics = points(pruned)
    for step, gates in zip(history.steps, values, strict=True):
        assert metrics["gates/open_heads", step] == (gates > 1e-3).sum()
        assert metrics["gates/open_share", step] == pytest.approx((gates > 1e-3).mean())
        assert (pruned / "artifacts" / "gates" / f"step-{step:06d}.png").read_bytes().startswith(b"\x89PNG")
    with np.load(io.BytesIO((pruned / "artifacts" / "gates.npz").read_bytes()), allow_pickle=False) as arrays:
        assert arrays["steps"].tolist() == history.steps
        assert np.array_equal(arrays["joint.history"], values)
        assert np.array_equal(arrays["joint"], history.final()["joint"])
    record = read(pruned / "artifacts" / "gates.json")
    assert record["step"] == history.steps[history.best]
    assert sum(map(len, record["sets"]["joint"]["kept_heads"])) == record["sets"]["joint"]["kept"]
    assert read(pruned / "artifacts" / "report.json")["heads"]["joint"]["of"] == values[0].size
    assert RunFolder(pruned).tags["mode"] == "mtl-3-dp"
    assert {name for name, _ in metrics} >= {"loss/penalty", "lr/gates"}
    assert {value for (name, _), value in metrics.items() if name == "lr/gates"} == {0.1}, "no schedule"


def test_mlflow_has_film_and_tables(pruned: Path) -> None:
    record: Record = assert_equals_disk(pruned)
    images = [entry.path for entry in record.client.list_artifacts(record.id, "images")]
    for step in (EPOCH, 2 * EPOCH, 3 * EPOCH):
        assert any(f"gates+step+{step}+" in name for name in images)
    assert "artifacts/gates/film.png" in [e.path for e in record.client.list_artifacts(record.id, "artifacts/gates")]


@pytest.mark.parametrize("gates", ["joint", "per-task"])
def test_a_killed_run_ends_with_the_same_gates(
    flags: list[Any], pruned: Path, per_task: Path, tmp_path: Path, gates: str
) -> None:
    more = ["--gates", "per-task", "--overlap-penalty", 0.5] if gates == "per-task" else []
    run = tmp_path / "run"
    pointer = run / "checkpoints" / "last.json"
    process = Process(*flags, run, *more, "--checkpoint-minutes", 0)
    process.when(lambda: pointer.exists() and read(pointer)["step"] > EPOCH + 4).send(signal.SIGKILL)
    assert EPOCH < read(pointer)["step"] < 3 * EPOCH
    done("train", "--resume", run)
    uninterrupted = per_task if gates == "per-task" else pruned
    assert points(run) == points(uninterrupted)
    assert tables(run) == tables(uninterrupted)
    for kind in ("last", "best"):
        assert_same_weights(run, uninterrupted, kind)
        assert any("gates.log_alpha" in name for name in weights(run, kind))
    assert any("optimiser/gates.log_alpha" in name for name in weights(run, "last"))
    for name in ("gates.npz", "gates.json", "gates/film.png"):
        assert (run / "artifacts" / name).read_bytes() == (uninterrupted / "artifacts" / name).read_bytes()


def test_two_processes_draw_the_same_noise_as_one(flags: list[Any], tmp_path: Path) -> None:
    short = [*flags, tmp_path / "two", "--epochs", 1]
    assert Process(*short, processes=2).wait().code == 0
    short[short.index(tmp_path / "two")] = tmp_path / "one"
    done(*short, "--accumulation", 2)
    two, one = points(tmp_path / "two"), points(tmp_path / "one")
    assert two.keys() == one.keys()
    assert two == pytest.approx(one, rel=1e-4)
    gates = [read_gates(RunFolder(tmp_path / name)).values["joint"] for name in ("one", "two")]
    np.testing.assert_allclose(*gates, atol=1e-5)


def test_each_task_has_gates_of_its_own(per_task: Path) -> None:
    history = read_gates(RunFolder(per_task))
    assert list(history.values) == ["pos", "dep", "srl"]
    final = history.final()
    assert not np.array_equal(final["pos"], final["dep"])
    assert RunFolder(per_task).tags["mode"] == "mtl-3-dp-per-task"
    # What training scored is what commands score, and each task goes through its own gates.
    done("evaluate", per_task, "--split", "dev")
    report = read(per_task / "artifacts" / "report.json")
    scores = {name: value for (name, _), value in points(per_task, ("results.jsonl",)).items()}
    for task, values in report["dev"].items():
        for name, value in values.items():
            assert scores[f"final/dev/{task}/{name}"] == pytest.approx(value, abs=1e-6)
    pipeline = package.load(per_task)
    whole = pipeline.annotate([["Mary", "saw", "the", "man", "."]])[0]
    assert whole.pos is not None
    batch = pipeline.model.encoder.collate([pipeline.model.encoder.tokenize(whole.words)], [whole.words])
    states = {task: pipeline.model(batch, task).states for task in ("pos", "dep")}
    assert not torch.allclose(states["pos"], states["dep"])


def test_static_pruning_keeps_the_decoder(corpus: Path, tmp_path: Path) -> None:
    tuned, run = tmp_path / "tuned", tmp_path / "static"
    done("train", "--data", corpus, *SIZES, "--tasks", "ner", "--epochs", 2, "--out", tuned)
    # Encoder, tasks and corpus are the source's.
    done("train", "--prune", "static", "--from", tuned, "--gate-lr", 0.1, "--epochs", 1, "--out", run,
         "--batch-sentences", 4)  # fmt: skip
    before, after = weights(tuned, "best"), weights(run, "last")
    decoder = [name for name in before if ".decoders." in f".{name}" or "decoders" in name]
    assert decoder
    assert all(torch.equal(before[name], after[name]) for name in decoder)
    assert any(not torch.equal(before[name], after[name]) for name in before if "encoder.model" in name)
    assert RunFolder(run).tags["mode"] == "stl-sp"
    assert RunFolder(run).config["encoder"] == "tiny-bert"
    assert read(run / "artifacts" / "labels.json") == read(tuned / "artifacts" / "labels.json")
    assert "dev" in done("evaluate", run, "--split", "dev").out
    # It goes on without its source.
    tuned.rename(tmp_path / "elsewhere")
    done("train", "--resume", run, "--epochs", 2)
    assert status(run) == "FINISHED"


def test_an_export_is_trained_further(corpus: Path, pruned: Path, tmp_path: Path) -> None:
    export, run = tmp_path / "export", tmp_path / "run"
    done("export", pruned, "--out", export)
    done("train", "--from", export, "--epochs", 1, "--batch-sentences", 4, "--out", run)
    assert read(run / "encoder" / "config.json").get("removed_heads") == read(export / "encoder" / "config.json").get(
        "removed_heads"
    )
    assert steps_written(run) == EPOCH
    assert list(read(run / "artifacts" / "report.json")["dev"]) == ["pos", "dep", "srl"]
    # And pruned again: heads that are gone stay at 0 in its map, at their old places.
    again = tmp_path / "again"
    done("train", "--from", export, *GATED, "--epochs", 1, "--batch-sentences", 4, "--out", again)
    gone = read(export / "encoder" / "config.json").get("removed_heads", {})
    final = read_gates(RunFolder(again)).final()["joint"]
    assert final.shape == read_gates(RunFolder(pruned)).final()["joint"].shape
    assert all(final[int(layer), head] == 0 for layer, heads in gone.items() for head in heads)


def test_a_penalty_that_closes_every_head_is_said_loudly(flags: list[Any], tmp_path: Path) -> None:
    run = tmp_path / "run"
    result = done(*flags, run, "--l0-penalty", 100, "--gate-lr", 1)
    assert "WARNING: every head is closed" in result.err
    assert "lower --l0-penalty" in result.err
    assert status(run) == "FINISHED"
    assert (read_gates(RunFolder(run)).final()["joint"] == 0).all()
    export = tmp_path / "export"
    done("export", run, "--out", export)
    sentence = [["Mary", "saw", "the", "man", "."]]
    assert package.load(export).annotate(sentence) == package.load(run).annotate(sentence)


def test_too_few_steps_to_close_a_gate_are_said_before(flags: list[Any], tmp_path: Path) -> None:
    err = done(*flags, tmp_path / "run", "--gate-lr", 1e-3, "--epochs", 1).err
    assert err.index("WARNING: no gate can close") < err.index("epoch 1: dev")
    assert "--gate-lr 0.4" in err, "twice the way of 3 in 18 steps"
    again = done("train", "--resume", tmp_path / "run", "--epochs", 2).err
    assert "WARNING: no gate can close: 36 steps" in again, "and before a run goes on"
    assert "WARNING" not in done(*flags, tmp_path / "more", "--gate-lr", 0.4, "--epochs", 1).err


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (["--prune", "no"], "WARNING: --l0-penalty, --gate-lr without effect; give --prune, or leave it out"),
        (["--overlap-penalty", 1], "WARNING: --overlap-penalty without effect; give --gates per-task, or leave it out"),
        (["--overlap-penalty", 1, "--gates", "per-task"], ""),
        ([], ""),
    ],
)
def test_what_has_no_effect_is_said(flags: list[Any], tmp_path: Path, arguments: list[Any], warning: str) -> None:
    err = done(*flags, tmp_path / "run", "--epochs", 1, *arguments).err
    assert warning in err
    assert bool(warning) == ("without effect" in err)


@pytest.mark.parametrize("flag", ["--gate-lr", "--l0-penalty"])
def test_gates_that_are_not_finite_are_told_from_a_loss(flags: list[Any], tmp_path: Path, flag: str) -> None:
    message = refused(*flags, tmp_path / "run", flag, 1e300)
    assert "lower --gate-lr or --l0-penalty" in message
    assert "--encoder-lr" not in message
    assert status(tmp_path / "run") == "FAILED"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--l0-penalty", "-1"], "l0-penalty is -1.0: it must be 0 or more"),
        (["--prune", "dynamik"], "unknown prune 'dynamik': did you mean 'dynamic'?"),
        (["--gates", "pertask"], "unknown gates 'pertask': did you mean 'per-task'?"),
        (["--gate-low", "0"], "gate-low is 0.0: it must be below 0"),
        (["--gate-high", "1"], "gate-high is 1.0: it must be above 1"),
        (["--gate-open", "1"], "gate-open is 1.0"),
        (["--preset", "papr"], "unknown preset 'papr': did you mean 'paper'?"),
        (["--preset", "paper", "--tasks", "pos,dep"], "the paper has no such model of pos, dep"),
        (["--prune", "static"], "prune is static: it starts from a trained run; name it with --from RUN"),
        (["--prune", "static", "--from", "missing"], "missing: no such run folder"),
    ],
)
def test_wrong_requests(corpus: Path, tmp_path: Path, arguments: list[str], message: str) -> None:
    prune = [] if "--prune" in arguments else ["--prune", "dynamic"]
    assert message in refused("train", "--data", corpus, *SIZES, *prune, "--out", tmp_path / "run", *arguments)
    assert not (tmp_path / "run").exists()


def test_sources_that_do_not_fit(trained: Path, pruned: Path, tmp_path: Path) -> None:
    start = ("train", "--prune", "static", "--out", tmp_path / "run", "--from")
    assert "trained with --tasks pos,ner,dep,con,srl, not pos" in refused(*start, trained, "--tasks", "pos")
    assert "trained with --encoder tiny-bert, not tiny-roberta" in refused(*start, trained, "--encoder", "tiny-roberta")
    message = refused(*start, trained, "--srl-decoder", "paper")
    assert "trained with --srl-decoder graph, not paper; leave --srl-decoder out" in message
    assert "has gates on its heads already; remove the closed heads first" in refused(*start, pruned)
    before = snapshot(trained)
    onto_itself = refused("train", "--from", trained, "--out", trained, "--overwrite")
    assert f"{trained}: --from starts from this run, so it is not replaced" in onto_itself
    assert snapshot(trained) == before
    assert not (tmp_path / "run").exists()


def test_the_preset_is_resolved_and_kept(corpus: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    done("train", "--data", corpus, "--encoder", "tiny-bert", "--train-limit", 8, "--batch-sentences", 4,
         "--prune", "dynamic", "--preset", "paper", "--tasks", "con", "--epochs", 1, "--out", run)  # fmt: skip
    config = RunFolder(run).config
    assert (config["l0_penalty"], config["accumulation"], config["encoder_lr"]) == (0.01, 2, 1e-5)
    assert config["balance_penalty"] is True
    assert config["epochs"] == 1, "flags go over it"
