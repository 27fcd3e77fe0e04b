"""Who may take which trial: on one machine, on several, and after a worker's death."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from optuna.trial import TrialState

from stemcell.errors import UserError
from stemcell.searching import storage as storages
from stemcell.searching import study
from stemcell.searching.boss import Boss
from stemcell.searching.space import Sampler, Sweep, find_sweep, read_sweep
from stemcell.searching.storage import check_storage, open_storage

SWEEP = read_sweep(find_sweep("default"), {})
RECORD = {"corpus": "c0ffee", "parent": "1" * 32}


def opened(folder: Path, total: int = 6) -> tuple[Any, Any]:
    """A storage and a study of so many trials."""
    storage = open_storage(None, folder / "study.journal")
    found = study.find(storage, "s", SWEEP)
    if found is None:
        found, made = study.make(storage, "s", SWEEP, RECORD)
        assert made
    study.fill(found, total)
    return storage, found


def states(found: Any) -> list[str]:
    return [trial.state.name for trial in study.first(found, 100)]


def take(folder: Path, total: int, taken: Any) -> None:
    """Take trials until there are none, and finish them."""
    storage, found = opened(folder, total)
    worker = study.Worker(folder)
    while trial := study.claim(found, storage, SWEEP, worker, total):
        taken.put((trial.number, os.getpid(), trial.params["l0_penalty"]))
        study.finish(found, trial, [trial.number / total])
    worker.leave()


def test_every_trial_is_taken_once(tmp_path: Path) -> None:
    opened(tmp_path, 20)
    context = multiprocessing.get_context("fork")
    taken = context.Queue()
    workers = [context.Process(target=take, args=(tmp_path, 20, taken)) for _ in range(3)]
    for worker in workers:
        worker.start()
    found = [taken.get(timeout=60) for _ in range(20)]
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert taken.empty()
    assert sorted(number for number, _, _ in found) == list(range(20))
    assert len({penalty for _, _, penalty in found}) == 20
    assert states(opened(tmp_path, 20)[1]) == ["COMPLETE"] * 20


def test_a_dead_workers_trial_is_taken_over_as_it_is(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import sys, os, signal
        from pathlib import Path
        from stemcell.searching import study
        from tests.searching.test_study import SWEEP, opened
        folder = Path(sys.argv[1])
        storage, found = opened(folder)
        worker = study.Worker(folder)
        for _ in range(2):
            print(study.claim(found, storage, SWEEP, worker, 6).params["l0_penalty"], flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
    """)
    dead = subprocess.run([sys.executable, "-c", code, tmp_path], capture_output=True, text=True, timeout=120)
    assert dead.returncode == -signal.SIGKILL, dead.stderr
    storage, found = opened(tmp_path)
    assert states(found) == ["RUNNING"] * 2 + ["WAITING"] * 4
    worker = study.Worker(tmp_path)
    trials = [study.claim(found, storage, SWEEP, worker, 6) for _ in range(3)]
    assert [trial.number for trial in trials if trial] == [0, 1, 2]
    assert [str(trial.params["l0_penalty"]) for trial in trials[:2] if trial] == dead.stdout.split()
    # The living keep theirs.
    other = study.Worker(tmp_path)
    third = study.claim(found, storage, SWEEP, other, 6)
    assert third is not None
    assert third.number == 3


def test_another_machine_is_dead_when_its_signs_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage, found = opened(tmp_path)
    far, here = study.Worker(tmp_path / "far"), study.Worker(tmp_path / "here")
    far.host = "elsewhere"
    trial = study.claim(found, storage, SWEEP, far, 6)
    assert trial is not None
    far.beat(found)
    now = [study.time.monotonic() + study.BEAT]
    monkeypatch.setattr(study.time, "monotonic", lambda: now[0])

    def dead() -> bool:
        return here.dead(study.first(found, 6)[0], found.user_attrs)

    assert not dead()
    now[0] += study.GRACE - 1
    assert not dead()
    far.beat(found)
    now[0] += study.GRACE - 1
    assert not dead(), "it gave a sign"
    now[0] += study.GRACE + 1
    assert dead()
    over = study.claim(found, storage, SWEEP, here, 6)
    assert over is not None
    assert over.number == trial.number


def test_only_so_many_are_taken(tmp_path: Path) -> None:
    """Two machines that fill a study at once add too many, which nobody takes."""
    storage, found = opened(tmp_path, 2)
    found.enqueue_trial({})
    worker = study.Worker(tmp_path)
    assert [study.claim(found, storage, SWEEP, worker, 2) is None for _ in range(3)] == [False, False, True]
    assert states(found) == ["RUNNING", "RUNNING", "WAITING"]
    study.fill(found, 5)
    assert len(states(found)) == 5


def test_trials_do_not_depend_on_who_takes_them(tmp_path: Path) -> None:
    penalties = []
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        storage, found = opened(tmp_path / name)
        trials = []
        workers = [study.Worker(tmp_path / name) for _ in range(3)]
        for worker in workers:
            # Each as in a process that has just begun.
            storage, found = opened(tmp_path / name)
            trials.append(study.claim(found, storage, SWEEP, worker, 6))
        penalties.append([trial.params["l0_penalty"] for trial in trials if trial])
    assert penalties[0] == penalties[1]
    assert len(set(penalties[0])) == 3, "a seed given again draws the same again"
    assert study.make_sampler(Sampler(seed=2), 0).__class__.__name__ == "TPESampler"


def test_the_best_is_within_the_budget(tmp_path: Path) -> None:
    storage, found = opened(tmp_path, 4)
    worker = study.Worker(tmp_path)
    for average, heads in ((0.9, 0.8), (0.7, 0.5), (0.8, 0.4)):
        trial = study.claim(found, storage, SWEEP, worker, 4)
        assert trial is not None
        trial.set_constraint("heads", heads - 0.5)
        study.finish(found, trial, [average])
    best = study.best(study.first(found, 4))
    assert best is not None
    assert best.number == 2
    none_within = study.best(study.first(found, 1))
    assert none_within is not None
    assert not study.feasible(none_within)
    assert study.best([]) is None


def test_another_sweep_of_the_name_is_told_apart() -> None:
    from stemcell.config import RunConfig, to_dict

    config = to_dict(RunConfig(encoder="tiny-bert", prune="dynamic"))
    known = study.identity(study.about(SWEEP), config, "a" * 64)
    study.check_same(
        known, study.identity(study.about(SWEEP), {**config, "l0_penalty": 0.3, "experiment": "x"}, "a" * 64), "here"
    )
    wider = Sweep("mtl-dp", {**SWEEP.space, "epochs": SWEEP.space["l0_penalty"]}, SWEEP.base)
    for other, message in (
        (study.identity(study.about(SWEEP), {**config, "seed": 2}, "a" * 64), "base.seed was 1 and is 2"),
        (study.identity(study.about(wider), config, "a" * 64), "space.epochs was nothing and is {'low'"),
        (study.identity(study.about(SWEEP), config, "b" * 64), "the corpus is not the one that this sweep began with"),
    ):
        with pytest.raises(UserError, match=r"^here: ") as error:
            study.check_same(known, other, "here")
        assert message in str(error.value)


@pytest.mark.parametrize(
    ("url", "workers", "message"),
    [
        ("sqlite:///study.db", 2, "--storage sqlite: works for one worker only"),
        ("study.db", 1, "--storage study.db: give sqlite:///FILE, postgresql://"),
        ("redis://user:secret@host", 1, "--storage redis://host: give"),
    ],
)
def test_addresses_that_are_none(url: str, workers: int, message: str) -> None:
    with pytest.raises(UserError, match=message):
        check_storage(url, workers)


def test_storages_that_cannot_be_used(tmp_path: Path) -> None:
    journal = tmp_path / "study.journal"
    with pytest.raises(UserError, match=r"postgresql://127.0.0.1:9/none cannot be used: .*(refused|failed)"):
        open_storage("postgresql://me:secret@127.0.0.1:9/none", journal)
    with pytest.raises(UserError, match=r"mysql://127.0.0.1:9/none cannot be used: .*refused"):
        open_storage("mysql://me:secret@127.0.0.1:9/none", journal)
    (tmp_path / "text.db").write_text("this is no database, whatever its name is" * 100)
    with pytest.raises(UserError, match=r"text\.db cannot be used: file is not a database"):
        open_storage(f"sqlite:///{tmp_path / 'text.db'}", journal)
    assert not journal.exists()


def test_a_proxy_that_does_not_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storages, "PROXY_SECONDS", 0.5)
    with pytest.raises(UserError, match=r"grpc://127.0.0.1:9 cannot be used: it does not answer$"):
        open_storage("grpc://127.0.0.1:9", tmp_path / "study.journal")


def test_a_study_that_is_not_ours(tmp_path: Path) -> None:
    import optuna

    storage = open_storage(f"sqlite:///{tmp_path / 'study.db'}", tmp_path)
    optuna.create_study(study_name="s", storage=storage).enqueue_trial({})
    found = study.find(storage, "s", SWEEP)
    with pytest.raises(UserError, match=r"its study 's' was not made by stemcell; give another --name"):
        study.known(found, "here", RECORD)
    assert found is not None
    assert found.trials[0].state == TrialState.WAITING


@pytest.mark.parametrize(("url", "package"), [("mysql://me:secret@host/x", "pymysql"), ("grpc://host:1", "grpcio .*")])
def test_what_a_storage_needs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, package: str) -> None:
    for module in ("MySQLdb", "pymysql", "grpc"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(UserError, match=rf"needs a package: pip install {package}$") as error:
        open_storage(url, tmp_path / "study.journal")
    assert "secret" not in str(error.value)


def test_a_study_whose_maker_was_killed_is_taken_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import optuna

    monkeypatch.setattr(study, "AT_WORK", 0.0)
    storage = open_storage(None, tmp_path / "study.journal")
    optuna.create_study(study_name="s", storage=storage, direction="maximize")
    found, made = study.make(storage, "s", SWEEP, RECORD)
    assert not made
    assert study.known(found, "here", RECORD) == RECORD
    assert opened(tmp_path)[1].user_attrs[study.IDENTITY] == RECORD


@pytest.mark.filterwarnings("error:The constraint value is ignored")
def test_a_trial_that_was_measured_before_its_worker_died_is_measured_again(tmp_path: Path) -> None:
    found = opened(tmp_path)[1]
    boss = object.__new__(Boss)
    boss._sweep = SWEEP
    one = SimpleNamespace(trial=found.ask(), progress=SimpleNamespace(heads=0.75, seconds=lambda: 1.0))
    for _ in range(2):
        boss._measure(one)
    assert one.trial.constraints == {"heads": pytest.approx(0.75 - SWEEP.heads_budget)}
