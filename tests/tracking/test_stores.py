"""Which store is used, and what is said of it."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from stemcell.errors import UserError
from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.sync import sync


def test_the_default_lies_in_the_run_home(run_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert store.tracking_uri() == f"sqlite:///{run_home}/mlflow.db"
    client = store.connect()
    found = client.get_experiment(store.experiment(client, "stemcell"))
    assert found.artifact_location == (run_home / "mlartifacts").as_uri()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("uri", "file"),
    [
        ("sqlite:////data/my%20runs/m.db", "/data/my%20runs/m.db"),
        ("sqlite:///m.db?timeout=9", "m.db"),
        ("sqlite://", None),
        ("postgresql://u:p@host/db", None),
        ("http://host", None),
    ],
)
def test_sqlite_files(uri: str, file: str | None) -> None:
    assert store.database(uri) == (Path(file).absolute() if file else None)


def test_passwords_are_not_shown() -> None:
    assert store.shown("postgresql://me:secret@db.example/mlflow") == "postgresql://db.example/mlflow"
    assert store.shown("sqlite:////home/me/mlflow.db") == "sqlite:////home/me/mlflow.db"
    assert store.shown("http://me:p@ss@host/a@b is bad") == "http://host/a@b is bad"


def test_a_store_that_mlflow_refuses_is_a_users_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = RunFolder.create(tmp_path / "run", {}, {})
    run.set_status("FINISHED")
    run.release()
    start = time.monotonic()
    files = (f"{tmp_path}/mlruns", f"sqlite:///{tmp_path}/run/run.json", f"sqlite:///{tmp_path}")
    for uri in (*files, "nonsense://x", "http://[::1", "oracle://me:secret@host/x"):
        monkeypatch.setenv("MLFLOW_TRACKING_URI", uri)
        with pytest.raises(UserError, match="MLflow at") as refused:
            sync(run)
        assert "secret" not in str(refused.value)
    assert time.monotonic() - start < 60, "MLflow kept trying"


def test_an_experiment_in_the_bin_is_named(run_home: Path) -> None:
    client = store.connect()
    client.delete_experiment(store.experiment(client, "binned"))
    with pytest.raises(UserError, match="'binned' was deleted"):
        store.experiment(client, "binned")
