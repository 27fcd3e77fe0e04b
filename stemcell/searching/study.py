"""A study and its trials: who may take which, whose worker is dead, and what becomes of each.

A study is made with all its trials, waiting. So a trial is taken by one worker alone, whatever the storage, and there
are never more nor fewer than were asked for. A trial whose worker was killed is taken over by another under its number,
with its parameters, and goes on in its run folder.
"""

from __future__ import annotations

import dataclasses
import os
import socket
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.errors import UserError
from stemcell.searching.space import Pruner, Sampler, Sweep, describe, distributions

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial

IDENTITY = "stemcell"
# Settings that do not make another sweep.
PLACES = ("data", "out", "experiment")
# Seconds between signs of life, and without one until a worker on another machine counts as dead.
BEAT, GRACE = 15.0, 90.0
# Seconds in which a machine that makes a study says what it is.
AT_WORK = 10.0


def make_sampler(sampler: Sampler, number: int) -> BaseSampler:
    """The sampler of one trial: seeded by sweep and trial: a seed alone would repeat the first trials on resume."""
    import numpy as np
    from optuna.samplers import NSGAIISampler, RandomSampler, TPESampler

    seed = int(np.random.SeedSequence([sampler.seed, number]).generate_state(1)[0])
    if sampler.name == "random":
        return RandomSampler(seed=seed)
    if sampler.name == "nsga2":
        return NSGAIISampler(seed=seed, population_size=max(4, sampler.startup_trials))
    return TPESampler(seed=seed, n_startup_trials=sampler.startup_trials, constant_liar=True)


def make_pruner(pruner: Pruner) -> BasePruner:
    """The pruner of a study; it is not stored with it."""
    from optuna.pruners import MedianPruner, NopPruner

    if pruner.name == "none":
        return NopPruner()
    return MedianPruner(n_startup_trials=pruner.startup_trials, n_warmup_steps=pruner.warmup_epochs)


def about(sweep: Sweep) -> dict[str, Any]:
    """A sweep as plain values, for its record."""
    return {
        "space": describe(sweep.space),
        "objectives": list(sweep.objectives),
        "heads_budget": sweep.heads_budget,
        "sampler": dataclasses.asdict(sweep.sampler),
        "pruner": dataclasses.asdict(sweep.pruner),
    }


def identity(sweep: dict[str, Any], config: dict[str, Any], corpus: str) -> dict[str, Any]:
    """What makes two sweeps the same: space, fixed fields, objectives, sampler and corpus; not how many trials.

    Args:
        sweep: as :func:`about` gives it, or as it is recorded.
        config: of its trials, or as the sweep's run folder has it.
        corpus: fingerprint.
    """
    fixed = {name: value for name, value in config.items() if name not in (*PLACES, *sweep["space"], "sweep")}
    return {
        "space": sweep["space"],
        "base": fixed,
        "objectives": sweep["objectives"],
        "heads_budget": sweep["heads_budget"],
        "sampler": {name: sweep["sampler"][name] for name in ("name", "seed")},
        "corpus": corpus,
    }


def check_same(before: dict[str, Any], now: dict[str, Any], where: str) -> None:
    """Check that a sweep that is there already is the one meant.

    Raises:
        UserError: if it is another; says what differs.
    """
    if before["corpus"] != now["corpus"]:
        raise UserError(
            f"{where}: the corpus is not the one that this sweep began with ({now['corpus'][:12]} instead of "
            f"{before['corpus'][:12]}); restore it, or begin another sweep with --name"
        )
    if changed := _differences(before, now):
        what = "; ".join(changed[:3])
        raise UserError(f"{where}: a sweep of this name is there and is another one: {what}; give another --name")


def _differences(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> list[str]:
    found = []
    for key in dict.fromkeys((*one, *other)):
        first, second = one.get(key), other.get(key)
        if first == second:
            continue
        if isinstance(first, dict) and isinstance(second, dict):
            found += _differences(first, second, f"{prefix}{key}.")
        else:
            found.append(f"{prefix}{key} was {_shown(first)} and is {_shown(second)}")
    return found


def _shown(value: Any) -> str:
    return "nothing" if value is None else ",".join(map(str, value)) if isinstance(value, list) else str(value)


def directions(sweep: Sweep) -> list[Any]:
    """Which way each objective goes."""
    return ["maximize", "minimize"][: len(sweep.objectives)]


def find(storage: BaseStorage, name: str, sweep: Sweep) -> Study | None:
    """The study of a name, if it is there."""
    import optuna

    try:
        return optuna.load_study(study_name=name, storage=storage, pruner=make_pruner(sweep.pruner))
    except KeyError:
        return None


def known(study: Study, where: str, record: dict[str, Any]) -> dict[str, Any]:
    """The identity of a study, with the id of its parent run as ``parent``.

    ``record`` is what it becomes where whoever made the study was killed before saying so.

    Raises:
        UserError: if stemcell has not made it.
    """
    deadline = time.monotonic() + AT_WORK
    while IDENTITY not in study.user_attrs:
        if study.get_trials(deepcopy=False):
            raise UserError(f"{where}: its study '{study.study_name}' was not made by stemcell; give another --name")
        if time.monotonic() > deadline:
            study.set_user_attr(IDENTITY, record)
        time.sleep(0.2)
    return dict(study.user_attrs[IDENTITY])


def make(storage: BaseStorage, name: str, sweep: Sweep, record: dict[str, Any]) -> tuple[Study, bool]:
    """Make a study, or find the one that another machine has made this moment; and whether it was made."""
    import optuna

    pruner = make_pruner(sweep.pruner)
    try:
        study = optuna.create_study(study_name=name, storage=storage, directions=directions(sweep), pruner=pruner)
    except optuna.exceptions.DuplicatedStudyError:
        return optuna.load_study(study_name=name, storage=storage, pruner=pruner), False
    study.set_metric_names(list(sweep.objectives))
    study.set_user_attr(IDENTITY, record)
    return study, True


def announce(study: Study) -> None:
    """Say that the study has its trials, and that the parent run is in MLflow, as far as that answers."""
    if "announced" not in study.user_attrs:
        study.set_user_attr("announced", True)


def await_announced(study: Study) -> None:
    """Wait for the machine that has made the study to say so, lest trials or parents be doubled; it may be dead."""
    deadline = time.monotonic() + 60
    while "announced" not in study.user_attrs and time.monotonic() < deadline:
        time.sleep(0.2)


def fill(study: Study, total: int) -> None:
    """Let trials wait until there are so many; what two machines add too many is never taken."""
    for _ in range(total - len(study.get_trials(deepcopy=False))):
        study.enqueue_trial({})


class Worker:
    """This process, as others tell that it lives: by a lock on this machine, by beats on others.

    ``settle``: seconds in which workers that take over the same trial see each other, where no lock parts them.
    """

    def __init__(self, folder: Path, settle: float = 0.0) -> None:
        from filelock import FileLock

        self.settle = settle
        self.host = socket.gethostname()
        self.name = f"{self.host}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self._file = folder / ".workers" / f"{self.name}.lock"
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self._file)
        self._lock.acquire()
        self._last, self._beats = -BEAT, 0
        self._seen: dict[str, tuple[Any, float]] = {}

    def beat(self, study: Study) -> None:
        """Give a sign of life, if it is time for one."""
        if time.monotonic() - self._last >= BEAT:
            self._beats += 1
            study.set_user_attr(f"beat:{self.name}", self._beats)
            self._last = time.monotonic()

    def mark(self) -> dict[str, str]:
        """What is noted with a trial that this worker runs."""
        return {"name": self.name, "host": self.host, "lock": str(self._file)}

    def gone(self) -> dict[str, Any]:
        """What is noted with a trial that this worker leaves unfinished."""
        return {**self.mark(), "gone": True}

    def dead(self, trial: FrozenTrial, beats: dict[str, Any]) -> bool:
        """Whether nobody runs a trial that is said to be running."""
        from filelock import FileLock, Timeout

        worker = trial.user_attrs.get("worker")
        if worker and worker.get("gone"):
            return True
        if worker and worker["name"] == self.name:
            return False
        if worker and worker["host"] == self.host and Path(worker["lock"]).exists():
            try:
                with FileLock(worker["lock"]).acquire(timeout=0):
                    return True
            except Timeout:
                return False
        # By our own clock: those of two machines may differ.
        name = worker["name"] if worker else f"trial {trial.number}"
        sign = beats.get(f"beat:{name}")
        if name not in self._seen or self._seen[name][0] != sign:
            self._seen[name] = (sign, time.monotonic())
        return time.monotonic() - self._seen[name][1] > GRACE

    def leave(self, told: bool = True) -> None:
        """Be gone: nothing of it runs any more; ``told`` if no trial says that it still does."""
        self._lock.release()
        if told:
            self._file.unlink(missing_ok=True)


def first(study: Study, total: int) -> list[FrozenTrial]:
    """The trials that were asked for."""
    return sorted(study.get_trials(deepcopy=False), key=lambda trial: trial.number)[:total]


def claim(study: Study, storage: BaseStorage, sweep: Sweep, worker: Worker, total: int) -> Trial | None:
    """Take a trial whose worker is dead, or else one that waits, with its parameters; None if there is none now."""
    from optuna.exceptions import UpdateFinishedTrialError
    from optuna.trial import Trial, TrialState

    trials, beats = first(study, total), study.user_attrs
    lost = [t for t in trials if t.state == TrialState.RUNNING and worker.dead(t, beats)]
    waiting = [t for t in trials if t.state == TrialState.WAITING]
    study_id = storage.get_study_id_from_name(study.study_name)
    for frozen in (*lost, *waiting):
        study.sampler = make_sampler(sweep.sampler, frozen.number)
        trial_id = storage.get_trial_id_from_study_id_trial_number(study_id, frozen.number)
        try:
            if frozen.state == TrialState.WAITING and not storage.set_trial_state_values(trial_id, TrialState.RUNNING):
                continue
            trial = Trial(study, trial_id)
            trial.set_user_attr("worker", worker.mark())
            if frozen.state == TrialState.RUNNING and not _ours(storage, trial_id, worker):
                continue
            suggest(trial, sweep)
            return trial
        except UpdateFinishedTrialError:
            # Another worker was quicker, and its trial has ended since.
            continue
    return None


def _ours(storage: BaseStorage, trial_id: int, worker: Worker) -> bool:
    """Whether it is this worker that took a trial over, and no other in the same moment."""
    time.sleep(worker.settle)
    return bool(storage.get_trial_user_attrs(trial_id).get("worker") == worker.mark())


def suggest(trial: Trial, sweep: Sweep) -> None:
    """Draw a trial's parameters, or find those that it has."""
    from optuna.distributions import FloatDistribution, IntDistribution

    for name, part in distributions(sweep.space).items():
        if isinstance(part, FloatDistribution):
            trial.suggest_float(name, part.low, part.high, log=part.log)
        elif isinstance(part, IntDistribution):
            trial.suggest_int(name, part.low, part.high, log=part.log)
        else:
            trial.suggest_categorical(name, part.choices)  # type: ignore[attr-defined]


def reported(study: Study, number: int) -> int:
    """The last epoch that Optuna knows of a trial, 0 if none."""
    frozen = next(trial for trial in study.get_trials(deepcopy=False) if trial.number == number)
    return frozen.last_step or 0


def finish(study: Study, trial: Trial, values: Sequence[float] | None = None, pruned: bool = False) -> None:
    """Tell Optuna how a trial ended; after another machine has said so, it is nothing."""
    from optuna.trial import TrialState

    state = TrialState.COMPLETE if values else TrialState.PRUNED if pruned else TrialState.FAIL
    study.tell(trial, values, state=state, skip_if_finished=True)


def feasible(trial: FrozenTrial) -> bool:
    """Whether a trial keeps the budget of heads, if there is one."""
    return all(value <= 0 for value in trial.constraints.values())


def best(trials: Sequence[FrozenTrial]) -> FrozenTrial | None:
    """The finished trial of highest dev average within the budget; else the one that is nearest to it."""
    from optuna.trial import TrialState

    complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
    within = [trial for trial in complete if feasible(trial)]
    if within:
        return max(within, key=lambda trial: trial.values[0])
    return min(complete, key=lambda trial: max(trial.constraints.values()), default=None)
