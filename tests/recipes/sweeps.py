"""What a sweep has left on disk, in Optuna and in MLflow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import optuna
import pytest
from mlflow import MlflowClient

from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from tests.recipes.commands import points, read, status

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
