"""Sweeps whose trials or commands die on the way, or share the trials: none is lost or done twice."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

from tests.recipes.commands import Process, done, points, read, status, steps_written
from tests.recipes.sweeps import assert_whole, copies, runs, states, study

pytestmark = pytest.mark.slow


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
