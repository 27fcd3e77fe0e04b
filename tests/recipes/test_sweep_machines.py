"""A sweep on several machines over PostgreSQL, with workers killed at random."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import optuna
import psutil
import pytest

from stemcell.searching.storage import open_storage
from stemcell.tracking import store
from tests.recipes.commands import Process, done, refused, status
from tests.recipes.postgres import Postgres, binaries

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture
def postgres() -> Iterator[Postgres]:
    programs = binaries()
    if programs is None:
        pytest.skip("PostgreSQL is not installed")
    server = Postgres(programs)
    try:
        server.start("sweeps")
        yield server
    finally:
        server.stop()


def study(url: str, name: str) -> optuna.Study:
    return optuna.load_study(study_name=name, storage=open_storage(url, Path()))


def kill_one(process: Process, chance: random.Random) -> str:
    """Kill the command, or one of its trials."""
    command = psutil.Process(process._process.pid)
    trials = [child for server in command.children() for child in server.children()]
    victim = chance.choice([command, *trials])
    os.kill(victim.pid, signal.SIGKILL)
    return "command" if victim == command else "trial"


def test_machines_share_a_study_and_survive_their_dead(corpus: Path, tmp_path: Path, postgres: Postgres) -> None:
    url = postgres.url("sweeps")
    total, chance = 5, random.Random(5)
    flags: list[Any] = ["sweep", "--data", corpus, "--encoder", "tiny-bert", "--tasks", "pos", "--train-limit", 24]
    flags += ["--batch-sentences", 4, "--epochs", 4, "--gate-lr", 0.5, "--trials", total, "--workers", 2]
    flags += ["--storage", url, "--name", "shared"]
    commands = [[*flags, "--out", tmp_path / name] for name in ("one", "other")]
    running = [Process(*command) for command in commands]
    killed: Counter[str] = Counter()
    deadline = time.monotonic() + 200
    while running and time.monotonic() < deadline:
        time.sleep(3)
        for place, process in enumerate(running):
            if process._process.poll() == -signal.SIGKILL:
                process.wait()
                running[place] = Process(*commands[place])
        if sum(killed.values()) < 3:
            alive = [process for process in running if process._process.poll() is None]
            killed[kill_one(chance.choice(alive), chance)] += 1
        elif all(process._process.poll() is not None for process in running):
            break
    assert [process.wait().code for process in running] == [0, 0]
    assert sum(killed.values()) == 3
    trials = study(url, "shared").trials
    assert [trial.number for trial in trials] == list(range(total))
    assert {trial.state.name for trial in trials} == {"COMPLETE"}
    assert all(len(trial.intermediate_values) == 4 for trial in trials)
    assert status(tmp_path / "one") == status(tmp_path / "other") == "FINISHED"
    client = store.connect()
    experiments = [experiment.experiment_id for experiment in client.search_experiments()]
    sweeps = client.search_runs(experiments, "tags.kind = 'sweep'")
    (parent,) = (run for run in sweeps if str(tmp_path) in run.data.tags["stemcell.folder"])
    children = client.search_runs(experiments, f"tags.mlflow.parentRunId = '{parent.info.run_id}'")
    assert sorted(child.info.run_name for child in children) == [f"trial-{number:03d}" for number in range(total)]
    assert {child.info.status for child in [parent, *children]} == {"FINISHED"}

    assert "another one: base.seed was 1 and is 2" in refused(*flags, "--out", tmp_path / "third", "--seed", 2)
    assert not (tmp_path / "third").exists()
    # A machine that comes late has the results, too.
    assert done(*flags, "--out", tmp_path / "late").out.count("COMPLETE") == total
    assert (tmp_path / "late" / "artifacts" / "best.yaml").exists()
