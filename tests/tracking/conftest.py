"""A run home of the tests' own, MLflow's view of a run, and a server that can go away."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder


@pytest.fixture(scope="session")
def session_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def run_home(session_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The default store, in one home for all tests: making a store takes seconds."""
    monkeypatch.setenv("STEMCELL_HOME", str(session_home))
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    return session_home


class Corpus:
    """As much of a corpus as tracking asks for."""

    folder = Path("corpus")
    fingerprint = "0123456789abcdef" * 4

    datasets: ClassVar = {split: {"pos": [0] * 7} for split in ("train", "dev", "test")}


@pytest.fixture
def corpus() -> Corpus:
    return Corpus()


class Copy:
    """What MLflow has of a run, asked through its own client."""

    def __init__(self, path: Path) -> None:
        self.client = store.connect()
        own = RunFolder(path).id
        experiments = [e.experiment_id for e in self.client.search_experiments()]
        found = self.client.search_runs(experiments, f"tags.`stemcell.id` = '{own}'")
        assert len(found) == 1, "one run, not several"
        self.run = self.client.get_run(found[0].info.run_id)

    def points(self) -> dict[str, dict[int, float]]:
        """Values by metric and step; fails on a step that has two."""
        points = {}
        for name in self.run.data.metrics:
            if not name.startswith("system/"):
                history = self.client.get_metric_history(self.run.info.run_id, name)
                assert max(Counter(point.step for point in history).values()) == 1, f"{name} has a step twice"
                points[name] = {point.step: point.value for point in history}
        return points

    def rows(self) -> list[tuple[Any, ...]]:
        """All rows of all tables that MLflow knows as tables."""
        import mlflow

        # ``load_table`` asks the global store, whichever the client is of; setting that changes the environment.
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("MLFLOW_TRACKING_URI", store.tracking_uri())
            mlflow.set_tracking_uri(store.tracking_uri())
            return self._rows()

    def _rows(self) -> list[tuple[Any, ...]]:
        tables = [entry["path"] for entry in json.loads(self.run.data.tags["mlflow.loggedArtifacts"])]
        rows = []
        for name in tables:
            table = self.client.load_table(self.run.info.experiment_id, name, [self.run.info.run_id])
            rows += [tuple(row) for row in table.itertuples(index=False)]
        return rows


class Server:
    """``mlflow server`` on a free port of this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self.uri = f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(self._port)]
        command += ["--workers", "1", "--backend-store-uri", f"sqlite:///{self._folder / 'server.db'}"]
        command += ["--artifacts-destination", (self._folder / "artifacts").as_uri()]
        environment = {**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false", "MLFLOW_DISABLE_TELEMETRY": "true"}
        environment.pop("MLFLOW_TRACKING_URI", None)
        log = (self._folder / "server.log").open("ab")
        self._process = subprocess.Popen(
            command, env=environment, stdout=log, stderr=log, start_new_session=True, cwd=self._folder
        )
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                urllib.request.urlopen(f"{self.uri}/health", timeout=5).close()
                return
            except OSError:
                time.sleep(0.2)
        raise AssertionError((self._folder / "server.log").read_text()[-3000:])

    def kill(self) -> None:
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """A running server, which ``MLFLOW_TRACKING_URI`` names."""
    folder = tmp_path / "server"
    folder.mkdir()
    server = Server(folder)
    server.start()
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", server.uri)
    yield server
    server.kill()


def fake_training(*arguments: object) -> subprocess.CompletedProcess[str]:
    """Run fake_training.py to its end or death."""
    command = [sys.executable, str(Path(__file__).with_name("fake_training.py")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.fixture(name="fake_training")
def fake_training_fixture() -> Any:
    return fake_training


@pytest.fixture(name="copy_of")
def copy_fixture() -> type[Copy]:
    return Copy
