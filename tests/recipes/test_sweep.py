"""Whole sweeps: what they leave behind, who dies on the way, and what they refuse."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
import yaml
from mlflow import MlflowClient

from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import Process, done, points, read, refused, snapshot, status, steps_written
from tests.recipes.record import Record

pytestmark = pytest.mark.slow

SIZES = (
    "--encoder",
    "tiny-bert",
    "--tasks",
    "pos,ner",
    "--train-limit",
    24,
    "--batch-sentences",
    8,
    "--encoder-lr",
    1e-3,
)
EPOCH = 6
"""Steps: 24 sentences in batches of 8, two tasks."""


@pytest.fixture
def sweep(corpus: Path, tmp_path: Path) -> list[Any]:
    """A sweep of four trials; the command, less its name."""
    return ["sweep", "--data", corpus, *SIZES, "--epochs", 2, "--gate-lr", 0.5, "--trials", 4, "--out", tmp_path / "s"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "s"


def study(folder: Path) -> optuna.Study:
    """The study, as anybody may open it."""
    backend = optuna.storages.journal.JournalFileBackend(str(folder / "study.journal"))
    return optuna.load_study(study_name=None, storage=optuna.storages.JournalStorage(backend))


def states(folder: Path) -> list[str]:
    return [trial.state.name for trial in study(folder).trials]


def runs(folder: Path) -> list[Path]:
    return sorted(path for path in (folder / "trials").iterdir() if path.is_dir())


def copies(folder: Path) -> tuple[Any, list[Any]]:
    """The sweep's run in MLflow and its children's; fails unless each is there once."""
    client: MlflowClient = store.connect()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    (parent,) = client.search_runs(experiments, f"tags.`stemcell.id` = '{RunFolder(folder).id}'")
    children = client.search_runs(experiments, f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert len({child.data.tags["stemcell.id"] for child in children}) == len(children)
    return parent, children


def assert_whole(folder: Path, total: int, state: str = "COMPLETE") -> None:
    """Every trial is there once, on disk, in Optuna and in MLflow."""
    trials = study(folder).trials
    assert [trial.number for trial in trials] == list(range(total))
    assert [trial.state.name for trial in trials] == [state] * total
    assert [run.name for run in runs(folder)] == [f"trial-{number:03d}" for number in range(total)]
    assert status(folder) == "FINISHED"
    parent, children = copies(folder)
    assert parent.info.status == "FINISHED"
    assert len(children) == total
    for trial, run in zip(trials, runs(folder), strict=True):
        points(run)
        report = read(run / "artifacts" / "report.json")
        (child,) = (child for child in children if child.info.run_name == run.name)
        assert child.info.status == "FINISHED"
        assert trial.values[0] == report["dev_average"]
        config = RunFolder(run).config
        for name, value in trial.params.items():
            assert config[name] == value
            assert float(child.data.params[name]) == pytest.approx(value)


def test_two_workers_leave_everything_behind(sweep: list[Any], folder: Path, tmp_path: Path) -> None:
    result = done(*sweep, "--workers", 2)
    assert_whole(folder, 4)
    trials = study(folder).trials
    assert len({trial.params["l0_penalty"] for trial in trials}) == 4
    assert result.out.count("COMPLETE") == 4
    columns, rows = RunFolder(folder).read_table("trials")
    assert [row[columns.index("dev_average")] for row in rows] == [trial.value for trial in trials]
    heads = [read(run / "artifacts" / "report.json")["heads"]["joint"] for run in runs(folder)]
    assert [row[columns.index("heads")] for row in rows] == [part["kept"] / part["of"] for part in heads]

    parent, children = copies(folder)
    client = store.connect()
    named = [
        entry.path
        for part in ("artifacts", "artifacts/plots")
        for entry in client.list_artifacts(parent.info.run_id, part)
    ]
    assert {"artifacts/best.yaml", "artifacts/sweep.html", "artifacts/plots/history.png"} <= set(named)
    assert parent.data.tags["kind"] == "sweep"
    assert parent.data.params["sweep.space.l0_penalty.high"] == "0.1"
    assert "l0_penalty" not in parent.data.params
    assert len(Record(folder).tables()) == 4
    for child in children:
        images = [entry.path for entry in client.list_artifacts(child.info.run_id, "images")]
        assert any(f"gates+step+{2 * EPOCH}+" in name for name in images)
    page = (folder / "artifacts" / "sweep.html").read_text("utf-8")
    assert not re.search(r'<(script|link)[^>]*(src|href)="https?:', page), "needs no network"
    assert page.count("Plotly.newPlot(") >= 2
    for name in ("history", "contour"):
        assert (folder / "artifacts" / "plots" / f"{name}.png").read_bytes().startswith(b"\x89PNG")

    # The best within the budget, as a configuration that gives the same again.
    within = [t for t in trials if t.user_attrs["heads"] <= 0.5] or [min(trials, key=lambda t: t.user_attrs["heads"])]
    best = max(within, key=lambda trial: trial.value)
    config = folder / "artifacts" / "best.yaml"
    assert f"Trial {best.number} of the sweep mtl-dp" in config.read_text("utf-8")
    done("train", "--config", config, "--out", tmp_path / "again")
    assert read(tmp_path / "again" / "artifacts" / "report.json")["dev_average"] == best.value

    assert "a sweep, which is no model; name one of its trials" in refused("train", "--resume", folder)

    # Once more: nothing is done twice.
    before = {run: (run / "run.json").read_bytes() for run in runs(folder)}
    done(*sweep, "--workers", 2)
    assert {run: (run / "run.json").read_bytes() for run in runs(folder)} == before
    assert_whole(folder, 4)
    # And more trials are more.
    done(*sweep, "--trials", 5)
    assert_whole(folder, 5)


def test_a_killed_trial_and_a_killed_sweep_go_on(sweep: list[Any], folder: Path, tmp_path: Path) -> None:
    sweep = [*sweep, "--workers", 2, "--epochs", 6, "--checkpoint-minutes", 0]
    process = Process(*sweep)
    process.when(
        lambda: (folder / "trials/trial-001/metrics.jsonl").exists() and steps_written(folder / "trials/trial-001") > 3
    )
    (first,) = (trial.user_attrs["process"] for trial in study(folder).trials if trial.number == 0)
    os.kill(first, signal.SIGKILL)
    process.when(lambda: "died" in study(folder).trials[0].user_attrs)
    process._process.kill()
    process._process.wait()
    assert "RUNNING" in states(folder)
    penalties = [trial.params["l0_penalty"] for trial in study(folder).trials if trial.params]
    done(*sweep)
    assert_whole(folder, 4)
    trials = study(folder).trials
    assert [trial.params["l0_penalty"] for trial in trials][: len(penalties)] == penalties
    assert trials[0].user_attrs["died"] == ["its process ended with code -9"]
    assert [len(trial.intermediate_values) for trial in trials] == [6] * 4
    # The trial that was killed has the losses and scores that it would have had.
    killed = folder / "trials" / "trial-000"
    done("train", "--config", killed / "config.yaml", "--out", tmp_path / "whole")
    assert points(killed) == points(tmp_path / "whole")


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[str]:
    """Optuna's proxy of a journal, in a process of its own; its address."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    code = (
        "import sys, optuna.storages as s, optuna.storages.journal as j\n"
        "storage = s.JournalStorage(j.JournalFileBackend(sys.argv[1]))\n"
        "s.run_grpc_proxy_server(storage, host='127.0.0.1', port=int(sys.argv[2]))\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, tmp_path / "proxy.journal", str(port)]) as process:
        yield f"grpc://127.0.0.1:{port}"
        process.kill()


def test_a_killed_sweep_goes_on_over_a_proxy(sweep: list[Any], folder: Path, proxy: str) -> None:
    sweep = [*sweep, "--workers", 2, "--epochs", 4, "--storage", proxy, "--name", "shared"]
    process = Process(*sweep).when(lambda: (folder / "trials/trial-001/metrics.jsonl").exists())
    process._process.kill()
    process._process.wait()
    host, _, port = proxy.removeprefix("grpc://").partition(":")
    storage = optuna.storages.GrpcStorageProxy(host=host, port=int(port))
    shared = optuna.load_study(study_name="shared", storage=storage)
    assert "RUNNING" in [trial.state.name for trial in shared.trials]
    done(*sweep)
    trials = shared.trials
    assert [(trial.number, trial.state.name) for trial in trials] == [(number, "COMPLETE") for number in range(4)]
    assert [run.name for run in runs(folder)] == [f"trial-{number:03d}" for number in range(4)]
    for trial, run in zip(trials, runs(folder), strict=True):
        assert trial.values[0] == read(run / "artifacts" / "report.json")["dev_average"]
    assert len(copies(folder)[1]) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
def test_ctrl_c_or_a_lost_terminal_saves_and_a_timeout_too(
    sweep: list[Any], folder: Path, number: signal.Signals
) -> None:
    long = [*sweep, "--epochs", 20]
    process = Process(*long).when(lambda: (folder / "trials/trial-000/metrics.jsonl").exists())
    if number == signal.SIGHUP:
        # Every process of the terminal has it.
        os.killpg(process._process.pid, number)
        result = process.wait()
    else:
        result = process.send(number)
    assert result.code == 128 + number, result
    assert "stopped and saved; the same command goes on" in result.err
    run = folder / "trials" / "trial-000"
    assert status(run) == "KILLED"
    assert (run / "checkpoints" / "last.json").exists()
    assert (states(folder), status(folder)) == (["RUNNING"] + ["WAITING"] * 3, "KILLED")
    done(*long, "--timeout", 0)
    assert states(folder) == ["RUNNING"] + ["WAITING"] * 3
    assert copies(folder)[0].info.status == "KILLED"


def test_several_commands_at_once_share_the_trials(
    sweep: list[Any], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Case 27: on databases that do not exist yet."""
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "fresh"))
    results = [process.wait() for process in [Process(*sweep) for _ in range(3)]]
    assert [result.code for result in results] == [0, 0, 0], results
    assert_whole(folder, 4)
    begun = [len(re.findall(r"^trial \d+: l0_penalty", result.err, re.MULTILINE)) for result in results]
    assert sum(begun) == 4


def test_failed_trials_are_recorded_and_the_sweep_goes_on(corpus: Path, folder: Path, tmp_path: Path) -> None:
    """Case 25: one of three rates is without measure."""
    space = tmp_path / "rates.yaml"
    space.write_text("space:\n  encoder_lr: [5.0e-5, 1.0e+30]\nsampler: random\n")
    command = ["sweep", space, "--data", corpus, *SIZES[:-2], "--decoder-lr", 0.01, "--epochs", 1, "--out", folder]
    result = done(*command, "--trials", 4)
    trials = study(folder).trials
    assert {trial.state.name for trial in trials} == {"COMPLETE", "FAIL"}
    parent, children = copies(folder)
    for trial, run in zip(trials, runs(folder), strict=True):
        (child,) = (child for child in children if child.info.run_name == run.name)
        if trial.params["encoder_lr"] == 1e30:
            assert trial.state.name == "FAIL"
            assert "is not finite" in trial.user_attrs["reason"] or "is nan" in trial.user_attrs["reason"]
            assert f"trial {trial.number}: FAILED" in result.err
            assert child.info.status == status(run) == "FAILED"
    assert yaml.safe_load((folder / "artifacts" / "best.yaml").read_text("utf-8"))["encoder_lr"] == 5e-5
    columns, rows = RunFolder(folder).read_table("trials")
    assert [row[columns.index("state")] for row in rows] == [trial.state.name for trial in trials]
    assert status(folder) == parent.info.status == "FINISHED"


def test_all_trials_may_fail(corpus: Path, folder: Path, tmp_path: Path) -> None:
    space = tmp_path / "rates.yaml"
    space.write_text("space:\n  encoder_lr: [1.0e+29, 1.0e+30]\n")
    result = done("sweep", space, "--data", corpus, *SIZES[:-2], "--epochs", 1, "--trials", 2, "--out", folder)
    assert states(folder) == ["FAIL", "FAIL"]
    assert "no trial has finished; the last reason: " in result.out
    assert not (folder / "artifacts" / "best.yaml").exists()


def test_trials_are_pruned_early(corpus: Path, folder: Path, tmp_path: Path) -> None:
    space = tmp_path / "early.yaml"
    space.write_text(
        "space:\n  decoder_lr: [1.0e-2, 1.0e-9]\nsampler: {name: random, seed: 2}\n"
        "pruner: {startup_trials: 1, warmup_epochs: 0}\nbase: {early_stop: false}\n"
    )
    command = ["sweep", space, "--data", corpus, *SIZES, "--epochs", 8, "--out", folder, "--trials", 5]
    done(*command)
    found = study(folder).trials
    pruned = [trial for trial in found if trial.state.name == "PRUNED"]
    assert pruned
    _, children = copies(folder)
    for trial in pruned:
        assert trial.user_attrs["reason"].startswith("pruned after epoch ")
        assert len(trial.intermediate_values) < 8
        (child,) = (child for child in children if child.info.run_name == f"trial-{trial.number:03d}")
        assert child.info.status == "KILLED"
        assert child.data.tags["stemcell.reason"] == trial.user_attrs["reason"]
    assert {trial.state.name for trial in found} == {"COMPLETE", "PRUNED"}


def test_two_objectives_have_a_front(corpus: Path, folder: Path) -> None:
    flags = ["--data", corpus, *SIZES, "--gate-lr", 0.5, "--epochs", 2, "--out", folder, "--trials", 5, "--workers", 2]
    result = done("sweep", "pareto", *flags)
    assert_whole(folder, 5)
    found = study(folder)
    assert [len(trial.values) for trial in found.trials] == [2] * 5
    reports = [read(run / "artifacts" / "report.json")["heads"]["joint"] for run in runs(folder)]
    assert [trial.values[1] for trial in found.trials] == [part["kept"] / part["of"] for part in reports]
    front = {trial.number for trial in found.best_trials}
    assert {int(path.stem[-3:]) for path in (folder / "artifacts" / "front").iterdir()} == front
    assert {int(number) for number in re.findall(r"(\d+)\*", result.out)} == front
    assert (folder / "artifacts" / "plots" / "pareto.png").exists()


def test_a_trial_may_be_several_processes(sweep: list[Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    launch = f"{sys.executable} -m accelerate.commands.launch --cpu --num_processes 2 --num_machines 1"
    done(*sweep, "--trials", 1, "--launch", f"{launch} --mixed_precision no --dynamo_backend no")
    assert_whole(folder, 1)
    assert len(study(folder).trials[0].intermediate_values) == 2


def test_a_launcher_that_fails_is_told(sweep: list[Any], folder: Path) -> None:
    message = refused(*sweep, "--launch", "no-such-launcher --all")
    assert "--launch: no-such-launcher cannot be started (No such file or directory)" in message


def test_a_dry_run_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    shown = yaml.safe_load(done("sweep", "--encoder", "deberta", "--dry-run").out)
    assert shown["name"] == "mtl-dp-deberta"
    assert (shown["trials"], shown["heads_budget"]) == (20, 0.5)
    assert shown["space"]["l0_penalty"] == {"low": 0.0003, "high": 0.1, "log": True}
    first = shown["first trial"]
    assert 0.0003 <= first["l0_penalty"] <= 0.1
    assert (first["encoder"], first["prune"], len(first["tasks"])) == ("deberta", "dynamic", 5)
    assert list(tmp_path.iterdir()) == []


def test_mlflow_may_be_away(sweep: list[Any], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stemcell.tracking.mirror.FAREWELL", 1.0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
        result = done(*sweep, "--trials", 2, "--workers", 2)
    assert "the sweep goes on without it" in result.err
    assert f"complete the record later with: stemcell sync {folder}" in result.err
    done("sync", folder)
    assert_whole(folder, 2)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--l0-penalty", 0.1], "--l0-penalty is given, but this sweep searches it"),
        (["--encoder", "tiny-bret"], "unknown encoder 'tiny-bret': did you mean 'tiny-bert'?"),
        (["--data", "missing"], "missing"),
        (["--storage", "sqlite:///x.db", "--workers", 2], "--storage sqlite: works for one worker only"),
        (["--storage", "postgresql://me:secret@127.0.0.1:9/x"], "postgresql://127.0.0.1:9/x cannot be used"),
        (["--name", "a/b"], "--name a/b: use letters"),
        (["--epochs", 0], "epochs is 0"),
        (["--gate-lr", 0.001], "would prune nothing: no gate can close: 12 steps at --gate-lr 0.001"),
        (["--gate-lr", 0.001], "give --gate-lr 0.5 or more"),
    ],
)
def test_bad_requests_leave_nothing(sweep: list[Any], tmp_path: Path, more: list[Any], message: str) -> None:
    said = refused(*sweep, *more)
    assert message in said
    assert "secret" not in said
    assert list(tmp_path.iterdir()) == []


def test_what_another_sweep_has_is_refused(sweep: list[Any], corpus: Path, folder: Path, tmp_path: Path) -> None:
    mine = tmp_path / "corpus"
    shutil.copytree(corpus, mine)
    sweep = [*sweep, "--data", mine, "--trials", 1, "--epochs", 1]
    done(*sweep)
    before = snapshot(folder)
    assert "base.seed was 1 and is 2; give another --name" in refused(*sweep, "--seed", 2)
    other = refused("sweep", "pareto", *sweep[1:])
    assert "is another one: space.l0_penalty.low was 0.0003 and is 0.0001" in other
    with (mine / "dev" / "dev.conllu").open("a") as file:
        text = (mine / "dev" / "dev.conllu").read_text("utf-8")
        file.write(text[: text.index("\n\n") + 2])
    assert "the corpus is not the one that this sweep began with" in refused(*sweep)
    assert snapshot(folder) == before
    run = folder / "trials" / "trial-000"
    assert "holds a run that is no sweep" in refused(*sweep, "--out", run)
    url = f"sqlite:///{tmp_path / 'study.db'}"
    done(*sweep, "--data", corpus, "--out", tmp_path / "two", "--storage", url, "--name", "n")
    message = refused(
        *sweep, "--data", corpus, "--out", tmp_path / "three", "--storage", url, "--name", "n", "--seed", 3
    )
    assert f"{url}: a sweep of this name is there and is another one: base.seed was 1 and is 3" in message
    assert not (tmp_path / "three").exists()
    assert json.loads((tmp_path / "two" / "run.json").read_text())["tags"]["kind"] == "sweep"


def test_what_no_trial_can_begin_with_is_said_once(sweep: list[Any], folder: Path, tmp_path: Path) -> None:
    broken = tmp_path / "encoder"
    broken.mkdir()
    for name in ("config.json", "model.safetensors"):
        (broken / name).write_text("{}")
    message = refused(*sweep, "--encoder", broken)
    assert f"encoder '{broken}' has no configuration that can be used" in message
    assert set(states(folder)) == {"RUNNING", "WAITING"}, "it can go on once that is mended"
