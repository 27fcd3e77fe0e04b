"""Whole sweeps: what they leave behind, and what they refuse."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import done, read, refused, snapshot, status
from tests.recipes.record import Record
from tests.recipes.sweeps import EPOCH, SIZES, assert_whole, copies, runs, states, study

pytestmark = pytest.mark.slow


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
