"""The copy in MLflow: complete, and nothing in it twice, whatever happened to run and server."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stemcell.config import RunConfig
from stemcell.errors import UserError
from stemcell.tracking import mirror, store
from stemcell.tracking.folder import RunFolder, find_run
from stemcell.tracking.mirror import Mirror
from stemcell.tracking.replica import Sent
from stemcell.tracking.sync import send, sync
from stemcell.tracking.tracker import Tracker

# What fake_training.py leaves of five steps an epoch: step 2's loss is not a number and stays on disk only.
LABELS = ["WP$", "``", ",", "."]


def expected(epochs: int) -> dict[str, dict[int, float]]:
    steps = range(1, 5 * epochs + 1)
    return {
        "passes/pos": {0: 1.0},
        "loss/pos": {step: 1 / step for step in steps if step != 2},
        "lr/encoder": {step: pytest.approx(0.1 * step) for step in steps},
        "f1/WP:24": dict.fromkeys(steps, 0.5),
        "dev/average": {5 * epoch: epoch / 10 for epoch in range(1, epochs + 1)},
    }


def expected_rows(epochs: int) -> list[tuple[Any, ...]]:
    return [
        (epoch, "dev", "pos", label, pytest.approx(epoch / 10)) for epoch in range(1, epochs + 1) for label in LABELS
    ]


def require_complete(copy: Any, epochs: int, status: str = "FINISHED") -> None:
    assert copy.points() == expected(epochs)
    assert copy.rows() == expected_rows(epochs)
    assert copy.run.info.status == status


def history(path: Path) -> list[tuple[int, str]]:
    return [(entry.step, str(entry.metrics)) for entry in RunFolder(path).history()]


def test_a_run_and_everything_about_it(tmp_path: Path, run_home: Path, fake_training: Any, copy_of: Any) -> None:
    path = tmp_path / "run"
    # The machine's first sample is taken after half a second.
    done = fake_training(path, 2, "--pause", 0.6)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    copy = copy_of(path)
    require_complete(copy, 2)
    data, info = copy.run.data, copy.run.info
    assert (data.params["tasks"], data.params["epochs"], data.params["encoder_lr"]) == ("pos", "2", "5e-05")
    assert (data.tags["encoder"], data.tags["stemcell.folder"]) == ("none", str(path))
    (corpus,) = copy.run.inputs.dataset_inputs
    assert (corpus.dataset.name, corpus.dataset.digest) == ("corpus", ("0123456789abcdef" * 3)[:36])
    assert '"train": {"pos": 7}' in corpus.dataset.profile
    assert {"system/cpu_utilization_percentage", "system/process_memory_megabytes"} <= set(data.metrics)
    assert abs(info.start_time - RunFolder(path).record["created"] * 1000) < 1000
    assert info.end_time > info.start_time
    files = {entry.path for entry in copy.client.list_artifacts(info.run_id)}
    assert files == {"run.json", "tables", "artifacts"}
    assert find_run(info.run_id).path == path
    losses = {e.step: e.metrics["loss/pos"] for e in RunFolder(path).history() if "loss/pos" in e.metrics}
    assert [step for step, loss in losses.items() if math.isnan(loss)] == [2], "kept on disk as what it was"


@pytest.mark.slow
def test_killed_resumed_resumed_again_and_prolonged(
    tmp_path: Path, run_home: Path, fake_training: Any, copy_of: Any
) -> None:
    """Case 24."""
    path = tmp_path / "run"
    # Killed in epoch 3, after its first steps were sent.
    assert fake_training(path, 3, "--die-in", 3, "--pause", 3).returncode == -9
    assert RunFolder(path).status().status == "KILLED"
    assert max(copy_of(path).points()["lr/encoder"]) > 10, "the test wants points beyond the checkpoint to be there"
    assert fake_training(path, 3).returncode == 0
    require_complete(copy_of(path), 3)
    fake_training(tmp_path / "whole", 3)
    assert history(path) == history(tmp_path / "whole")
    # Resumed when finished: nothing is added.
    fake_training(path, 3)
    require_complete(copy_of(path), 3)
    assert history(path) == history(tmp_path / "whole")
    # With more epochs: the changed parameter is no error.
    done = fake_training(path, 4)
    assert (done.returncode, done.stderr) == (0, "")
    copy = copy_of(path)
    require_complete(copy, 4)
    assert (copy.run.data.params["epochs"], copy.run.data.tags["resumed.epochs"]) == ("3", "4")


@pytest.mark.slow
def test_the_server_goes_away_and_comes_back(
    tmp_path: Path, server: Any, fake_training: Any, copy_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "run"
    outcome: list[Any] = []
    training = threading.Thread(target=lambda: outcome.append(fake_training(path, 4, "--pause", 2)))
    training.start()
    deadline = time.monotonic() + 60
    while not list(path.glob("tables/scores/dev-epoch-002.json")) and time.monotonic() < deadline:
        time.sleep(0.1)
    server.kill()
    training.join()
    (done,) = outcome
    # Training went on to its end, said so once, and said what to do.
    assert done.returncode == 0
    assert done.stderr.count("the run goes on") == 1
    assert f"stemcell sync {path}" in done.stderr
    with pytest.raises(UserError, match="it does not answer"):
        sync(RunFolder(path))
    server.start()
    before = copy_of(path)
    assert before.run.info.status == "RUNNING"
    assert 0 < len(before.points()["lr/encoder"]) < 20
    sent = sync(RunFolder(path))
    assert sent.points > 0
    require_complete(copy_of(path), 4)
    assert sync(RunFolder(path)) == Sent(0, 0)
    require_complete(copy_of(path), 4)
    assert find_run(copy_of(path).run.info.run_id).path == path
    # What is lost from mlflow.json is found again by the run's own id.
    (path / "mlflow.json").unlink()
    assert sync(RunFolder(path)).points == 0
    require_complete(copy_of(path), 4)


@pytest.fixture
def quiet_run(corpus: Any) -> Callable[..., RunFolder]:
    """Makes finished runs that MLflow has never heard of."""

    def make(path: Path, parent: str | None = None) -> RunFolder:
        config = {"note": "x" * 7000, "rate": float("nan"), "nested": {"a": []}}
        run = RunFolder.create(path, config, {"mode": "stl"}, parent=parent)
        with Tracker(path, run, RunConfig(), corpus) as tracker:
            tracker.metrics(1, {"loss": 1.0, "bad": float("inf")})
            tracker.table("f1", ["label", "f1"], [[label, 0.5] for label in LABELS])
        return RunFolder(path)

    return make


def test_sync_of_a_run_that_mlflow_never_saw(
    quiet_run: Callable[..., RunFolder], tmp_path: Path, run_home: Path, copy_of: Any
) -> None:
    run = quiet_run(tmp_path / "run")
    run.artifact("gates/step-000120.png", _picture())
    assert sync(run) == Sent(1, 4)
    assert sync(run) == Sent(0, 0)
    copy = copy_of(run.path)
    assert copy.points() == {"loss": {1: 1.0}}
    assert copy.rows() == [(label, 0.5) for label in LABELS]
    assert len(copy.run.data.params["note"]) == 6000
    assert copy.run.info.status == "FINISHED"
    # A picture of a film is where the UI looks for it, once, also when it was drawn anew.
    run.artifact("gates/step-000120.png", _picture(1))
    assert sync(run) == Sent(0, 1)
    images = [entry.path for entry in copy.client.list_artifacts(copy.run.info.run_id, "images")]
    assert len(images) == 2
    assert all(name.startswith("images/gates+step+120+timestamp+") for name in images)
    # A file that was deleted there comes back.
    root = Path(copy.run.info.artifact_uri.removeprefix("file://"))
    (root / "tables" / "f1.json").unlink()
    assert sync(run) == Sent(0, 1)
    assert copy.rows() == [(label, 0.5) for label in LABELS]
    # What is evaluated later goes the same way.
    run.result("test", {"pos/accuracy": 0.9})
    send(run)
    assert copy_of(run.path).points()["final/test/pos/accuracy"] == {1: 0.9}


def test_a_child_finds_its_parent_whichever_comes_first(
    quiet_run: Callable[..., RunFolder], tmp_path: Path, run_home: Path, copy_of: Any
) -> None:
    parent = quiet_run(tmp_path / "study")
    child = quiet_run(tmp_path / "trial", parent=parent.id)
    sync(child)
    assert "mlflow.parentRunId" not in copy_of(child.path).run.data.tags
    sync(parent)
    sync(child)
    assert copy_of(child.path).run.data.tags["mlflow.parentRunId"] == copy_of(parent.path).run.info.run_id


def test_a_user_without_a_name(
    quiet_run: Callable[..., RunFolder], tmp_path: Path, run_home: Path, copy_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 987654)
    run = quiet_run(tmp_path / "run")
    sync(run)
    assert copy_of(run.path).run.data.tags["mlflow.user"] == "987654"


def test_a_deleted_copy_is_restored(
    quiet_run: Callable[..., RunFolder], tmp_path: Path, run_home: Path, copy_of: Any
) -> None:
    run = quiet_run(tmp_path / "run")
    sync(run)
    copy = copy_of(run.path)
    copy.client.delete_run(copy.run.info.run_id)
    sync(run)
    assert copy_of(run.path).run.info.run_id == copy.run.info.run_id


def test_a_replaced_run_is_not_mistaken_for_its_successor(
    quiet_run: Callable[..., RunFolder], tmp_path: Path, run_home: Path, copy_of: Any
) -> None:
    run = quiet_run(tmp_path / "run")
    sync(run)
    before = copy_of(run.path).run.info.run_id
    RunFolder.create(run.path, {}, {}, overwrite=True).release()
    with pytest.raises(UserError, match="a later run replaced it"):
        find_run(before)


def test_training_never_waits_for_a_store_that_hangs(
    tmp_path: Path, run_home: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def hang(folder: RunFolder) -> None:
        time.sleep(3)
        raise ConnectionError("no answer")

    monkeypatch.setattr(mirror, "Replica", hang)
    monkeypatch.setattr(mirror, "FAREWELL", 0.2)
    run = RunFolder.create(tmp_path / "run", {}, {})
    copier = Mirror(run)
    copier.start()
    start = time.monotonic()
    assert not copier.finish()
    assert time.monotonic() - start < 2


def test_a_tracker_that_is_left_by_an_error_says_so(tmp_path: Path, corpus: Any) -> None:
    for error, status in ((ValueError("odd"), "FAILED"), (KeyboardInterrupt(), "KILLED")):
        path = tmp_path / status
        run = RunFolder.create(path, {}, {})
        with pytest.raises(type(error)), Tracker(path, run, RunConfig(), corpus):
            raise error
        assert RunFolder(path).status().status == status
    assert RunFolder(tmp_path / "FAILED").status().reason == "odd"


def test_other_processes_track_nothing(tmp_path: Path, corpus: Any) -> None:
    with Tracker(tmp_path / "run", None, RunConfig(), corpus) as tracker:
        tracker.rewind(123)
        tracker.begin({"a": 1.0})
        tracker.metrics(1, {"a": 1.0})
        tracker.table("t", [], [])
        tracker.artifact("a", "b")
        assert tracker.position() == 0
        tracker.end("FINISHED")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_four_runs_start_together_on_a_fresh_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fake_training: Any, copy_of: Any
) -> None:
    """Case 27: the store's tables are made once, and every run's copy is complete."""
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    runs = [tmp_path / f"run{number}" for number in range(4)]
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda run: fake_training(run, 2, "--pause", 1), runs))
    assert [(done.returncode, done.stdout, done.stderr) for done in answers] == [(0, "", "")] * 4
    for run in runs:
        require_complete(copy_of(run), 2)
    assert len(store.connect().search_experiments()) == 2, "MLflow's Default and ours"


def _picture(shade: int = 0) -> bytes:
    from io import BytesIO

    from PIL import Image

    file = BytesIO()
    Image.new("L", (300, 600), shade).save(file, "png")
    return file.getvalue()
