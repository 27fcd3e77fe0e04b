"""A sweep from start to end: its folder, its study, and the trials that its workers run.

::

    SWEEP/                a run folder of its own, the parent of its trials in MLflow
        study.journal     the study, unless --storage names another place
        trials/           one run folder a trial, and what its process printed
        tables/ artifacts/  what has come of it (see :mod:`stemcell.searching.results`)
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.config import RunConfig, from_dict, to_dict
from stemcell.errors import UserError
from stemcell.searching import results, study
from stemcell.searching.progress import Progress
from stemcell.searching.space import Sweep, describe
from stemcell.searching.storage import check_storage, open_storage, storage_errors
from stemcell.searching.trial import End, Job, main
from stemcell.tracking.folder import RunFolder, is_run
from stemcell.training.display import say

if TYPE_CHECKING:
    from filelock import FileLock
    from optuna import Study, Trial
    from optuna.storages import BaseStorage

# Seconds between looks at what runs, and while others' trials are waited for.
LOOK, OTHERS = 0.25, 1.0
# So often may a trial's process die by itself (for lack of the machine's memory, say).
ATTEMPTS = 3


@dataclass(frozen=True)
class Plan:
    """What the command line says of a sweep beside its space."""

    folder: Path
    name: str
    trials: int
    workers: int = 1
    timeout: float | None = None
    storage: str | None = None
    launch: str = ""


@dataclass
class Running:
    """A trial that a process of this worker runs."""

    trial: Trial
    process: Any
    pipe: Any
    progress: Progress
    end: End | None = None
    ordered: str = ""


class Stop(Exception):
    """The sweep is to stop: its trials save themselves and go on the next time."""

    def __init__(self, number: int) -> None:
        self.signal = number


def run_sweep(sweep: Sweep, config: RunConfig, plan: Plan) -> str:
    """Run a sweep, go on with it, or join it, until all its trials have ended, and return a table of them.

    Raises:
        UserError: if corpus, storage or folder cannot be used, or hold another sweep; nothing is left half-made.
        Stop: after a signal; trials are saved.
    """
    from stemcell.corpora.store import read_corpus

    check_storage(plan.storage, plan.workers)
    corpus = read_corpus(
        config.data, layers=config.tasks, pos_column=config.pos_column, skip_broken=config.skip_broken
    )
    known = study.identity(sweep, to_dict(config), corpus.fingerprint)
    with _opened(sweep, config, plan, known) as (folder, storage, optuna_study, lock):
        record = study.known(optuna_study, str(plan.folder))
        boss = Boss(sweep, config, plan, storage, optuna_study, lock, str(record["parent"]))
        holds = _hold(folder)
        results.begin(folder)
        try:
            boss.work()
        finally:
            boss.leave()
            with contextlib.suppress(Exception) if boss.stopped or boss.broken else contextlib.nullcontext():
                _conclude(folder, sweep, config, plan, optuna_study, lock, holds)
        if boss.broken:
            raise UserError(boss.broken)
        if boss.stopped:
            raise Stop(boss.stopped)
        return results.summary(optuna_study, sweep, plan)


@contextlib.contextmanager
def _opened(
    sweep: Sweep, config: RunConfig, plan: Plan, known: dict[str, Any]
) -> Iterator[tuple[RunFolder, BaseStorage, Study, FileLock]]:
    """The sweep's folder and its study, made if they are not there; what is new goes again if no trial could begin."""
    from filelock import FileLock

    path, journal = plan.folder, plan.folder / "study.journal"
    if is_run(path):
        _check_folder(RunFolder(path), known)
    else:
        RunFolder.check_free(path)
    lock = FileLock(path.with_name(f".{path.name}.lock"))
    path.parent.mkdir(parents=True, exist_ok=True)
    with storage_errors(plan.storage, journal):
        # What cannot be reached leaves no folder behind.
        storage = open_storage(plan.storage, journal) if plan.storage else None
        with lock:
            found = study.find(storage, plan.name, sweep) if storage else None
            where = str(path) if plan.storage is None else f"--storage {plan.name}"
            before = study.known(found, where) if found else None
            if before:
                study.check_same({k: v for k, v in before.items() if k != "parent"}, known, where)
            new = not is_run(path)
            folder = _make_folder(sweep, config, plan, known, before) if new else RunFolder(path)
            try:
                storage = storage or open_storage(None, journal)
                found = found or study.find(storage, plan.name, sweep)
                found = found or study.make(storage, plan.name, sweep, {**known, "parent": folder.id})
                study.fill(found, plan.trials)
            except BaseException:
                if new:
                    shutil.rmtree(path, ignore_errors=True)
                raise
        yield folder, storage, found, lock


def _check_folder(folder: RunFolder, known: dict[str, Any]) -> None:
    if folder.tags.get("kind") != "sweep":
        raise UserError(f"{folder.path}: holds a run that is no sweep; name another folder with --out")
    study.check_same(folder.config["sweep"]["identity"], known, str(folder.path))


def _make_folder(
    sweep: Sweep, config: RunConfig, plan: Plan, known: dict[str, Any], before: dict[str, Any] | None
) -> RunFolder:
    """The sweep's run folder; of a sweep that another machine has begun, the same run once more."""
    fixed = {name: value for name, value in to_dict(config).items() if name not in sweep.space and name != "out"}
    about = {
        "name": plan.name,
        "space": describe(sweep.space),
        "objectives": list(sweep.objectives),
        "heads_budget": sweep.heads_budget,
        "sampler": dataclasses.asdict(sweep.sampler),
        "pruner": dataclasses.asdict(sweep.pruner),
        "trials": plan.trials,
        "identity": known,
    }
    tags = {"kind": "sweep", "encoder": config.encoder, "tasks": ",".join(config.tasks), "corpus": known["corpus"]}
    parent = str(before["parent"]) if before else None
    folder = RunFolder.create(plan.folder, {**fixed, "sweep": about}, tags, own_id=parent)
    folder.release()
    return folder


def _hold(folder: RunFolder) -> bool:
    """Become the one of several workers that keeps the sweep's record."""
    try:
        folder.hold()
    except UserError:
        return False
    folder.set_status("RUNNING")
    return True


def _conclude(
    folder: RunFolder, sweep: Sweep, config: RunConfig, plan: Plan, found: Study, lock: FileLock, holds: bool
) -> None:
    """Write what has come of the sweep, unless a worker that holds its record will."""
    with lock:
        if not holds and not _hold(folder):
            return
        ended = all(trial.state.is_finished() for trial in study.first(found, plan.trials))
        results.write(folder, found, sweep, config, plan.trials)
        folder.set_status("FINISHED" if ended else "KILLED", "" if ended else "stopped; goes on with the same command")
        folder.release()
        results.send(folder)


class Boss:
    """Starts trials in processes of their own, follows them, and says how they ended; it alone speaks to Optuna."""

    def __init__(
        self,
        sweep: Sweep,
        config: RunConfig,
        plan: Plan,
        storage: BaseStorage,
        optuna_study: Study,
        lock: FileLock,
        parent: str,
    ) -> None:
        self._sweep, self._config, self._plan = sweep, config, plan
        self._storage, self._study, self._lock, self._parent = storage, optuna_study, lock, parent
        self._worker = study.Worker(plan.folder, 1.0 if plan.storage else 0.0)
        self._running: dict[int, Running] = {}
        self._deadline = time.monotonic() + plan.timeout if plan.timeout is not None else float("inf")
        self._begun = False
        self.stopped, self.broken = 0, ""

    def work(self) -> None:
        """Until all trials have ended, here or elsewhere, or it is told to stop."""
        before = {number: signal.signal(number, self._note) for number in (signal.SIGTERM, signal.SIGINT)}
        try:
            while not self._done():
                self._worker.beat(self._study)
                self._start()
                sentinels = [part for one in self._running.values() for part in (one.process.sentinel, one.pipe)]
                if sentinels:
                    wait(sentinels, LOOK)
                else:
                    time.sleep(OTHERS if not self._stopping() else 0)
                for place in list(self._running):
                    self._follow(place)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def leave(self) -> None:
        """Stop what still runs, and let others take it over."""
        for one in self._running.values():
            one.process.kill()
            one.process.join()
            with contextlib.suppress(Exception):
                one.trial.set_user_attr("worker", self._worker.gone())
        self._worker.leave()

    def _note(self, number: int, frame: Any) -> None:
        if self.stopped and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.stopped = number

    def _stopping(self) -> bool:
        return bool(self.stopped or self.broken) or time.monotonic() > self._deadline

    def _done(self) -> bool:
        if self._running:
            return False
        trials = study.first(self._study, self._plan.trials)
        return self._stopping() or all(trial.state.is_finished() for trial in trials)

    def _start(self) -> None:
        for place in range(self._plan.workers):
            if self._stopping():
                break
            if place in self._running:
                continue
            with self._lock:
                trial = study.claim(self._study, self._storage, self._sweep, self._worker, self._plan.trials)
            if trial is None:
                break
            self._running[place] = self._launch(trial, place)

    def _launch(self, trial: Trial, place: int) -> Running:
        from multiprocessing import get_context

        folder = self._plan.folder.absolute() / "trials" / f"trial-{trial.number:03d}"
        folder.parent.mkdir(exist_ok=True)
        job = Job(
            folder=str(folder),
            config={**to_dict(self._config), **trial.params},
            parent=self._parent,
            log=str(folder.with_suffix(".log")),
            directory=os.getcwd(),
            place=place,
            threads=0 if "OMP_NUM_THREADS" in os.environ else max(1, (os.cpu_count() or 1) // self._plan.workers),
            launch=self._plan.launch,
        )
        say(f"trial {trial.number}: {results.shown(trial.params)}")
        trial.set_user_attr("folder", str(folder))
        context = get_context("forkserver")
        context.set_forkserver_preload(["stemcell.searching.warm"])
        ours, theirs = context.Pipe()
        process = context.Process(target=main, args=(job, dict(os.environ), theirs), name=folder.name)
        process.start()
        theirs.close()
        trial.set_user_attr("process", process.pid)
        return Running(trial, process, ours, Progress(folder))

    def _follow(self, place: int) -> None:
        one = self._running[place]
        with contextlib.suppress(EOFError, OSError):
            if one.end is None and one.pipe.poll():
                one.end = End(**one.pipe.recv())
        if one.progress.look():
            self._begun = True
            self._report(one)
        if self._stopping() and not one.ordered:
            self._order(one, "the sweep was stopped")
        if one.process.is_alive():
            return
        one.process.join()
        del self._running[place]
        self._ended(one)

    def _report(self, one: Running) -> None:
        if len(self._sweep.objectives) > 1:
            return
        for epoch, average in one.progress.averages.items():
            one.trial.report(average, epoch)
        if not one.ordered and one.end is None and one.trial.should_prune():
            epoch = max(one.progress.averages)
            self._order(one, f"pruned after epoch {epoch}: dev average {one.progress.averages[epoch] * 100:.2f}")

    def _order(self, one: Running, what: str) -> None:
        one.ordered = what
        with contextlib.suppress(OSError):
            one.pipe.send(what)

    def _ended(self, one: Running) -> None:
        """Say how a trial ended: to Optuna, and to people."""
        trial, end = one.trial, one.end
        if end is None and not one.ordered:
            died = [*trial.user_attrs.get("died", []), f"its process ended with code {one.process.exitcode}"]
            trial.set_user_attr("died", died)
            if len(died) < ATTEMPTS:
                say(f"trial {trial.number}: {died[-1]}; it goes on where it was saved")
                trial.set_user_attr("worker", self._worker.gone())
                return
            end = End("FAILED", f"{died[-1]}, {ATTEMPTS} times (out of memory?)")
        if end is not None and end.state == "FINISHED":
            self._finished(one)
        elif end is not None and end.state == "FAILED":
            if not end.begun and not self._any_begun():
                self.broken = end.reason
                trial.set_user_attr("worker", self._worker.gone())
                return
            trial.set_user_attr("reason", end.reason)
            study.finish(self._study, trial)
            say(f"trial {trial.number}: FAILED: {end.reason}")
        elif one.ordered.startswith("pruned"):
            self._measure(one)
            trial.set_user_attr("reason", one.ordered)
            study.finish(self._study, trial, pruned=True)
            say(f"trial {trial.number}: {one.ordered}")
        else:
            trial.set_user_attr("worker", self._worker.gone())

    def _finished(self, one: Running) -> None:
        average, heads = one.progress.final()
        values = [average] if len(self._sweep.objectives) == 1 else [average, heads if heads is not None else 1.0]
        self._measure(one, heads)
        one.trial.set_user_attr("reason", "")
        study.finish(self._study, one.trial, values)
        kept = "" if heads is None else f", {heads:.0%} of heads kept"
        say(f"trial {one.trial.number}: dev average {average * 100:.2f}{kept}")

    def _measure(self, one: Running, heads: float | None = None) -> None:
        heads = heads if heads is not None else one.progress.heads
        if heads is not None:
            one.trial.set_user_attr("heads", heads)
            if self._sweep.heads_budget is not None:
                one.trial.set_constraint("heads", heads - self._sweep.heads_budget)
        one.trial.set_user_attr("seconds", one.progress.seconds())

    def _any_begun(self) -> bool:
        if not self._begun:
            self._begun = any(trial.state.is_finished() for trial in study.first(self._study, self._plan.trials))
        return self._begun


def resolve(sweep: Sweep) -> RunConfig:
    """The configuration that trials start from."""
    values = dict(sweep.base)
    if values.get("from_run"):
        from stemcell.saved import inherited

        values = inherited(values)
    return from_dict(values)
