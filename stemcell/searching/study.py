"""A study and its trials: who may take the next one, which have lost their worker, and what has become of each.

A *slot* is one configuration to be tried; a study has as many as ``--trials`` says. A trial whose worker was killed is
failed in Optuna and queued again with the same parameters: a new trial of the same slot, which goes on in the same run
folder. A slot is named by the number of its first trial. Where machines that share nothing but a database take the last
slot at once, the later one is given back (``surplus``).
"""

from __future__ import annotations

import os
import socket
import time
import uuid
from dataclasses import dataclass
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
# Seconds between signs of life, and without one until a worker on another machine counts as dead.
BEAT, GRACE = 15.0, 90.0
# A trial whose process dies (out of the machine's memory, say) is tried so often in all.
ATTEMPTS = 3


def make_sampler(sampler: Sampler, number: int) -> BaseSampler:
    """The sampler of one trial: seeded by study and trial, since a seed alone would repeat the first trials on resume."""
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


def identity(sweep: Sweep, config: dict[str, Any], corpus: str) -> dict[str, Any]:
    """What makes two studies the same: space, fixed fields, objectives, seed and corpus; not how many trials."""
    fixed = {name: value for name, value in config.items() if name not in ("data", "out", "experiment", *sweep.space)}
    return {
        "space": describe(sweep.space),
        "base": fixed,
        "objectives": list(sweep.objectives),
        "heads_budget": sweep.heads_budget,
        "sampler": {"name": sweep.sampler.name, "seed": sweep.sampler.seed},
        "corpus": corpus,
    }


def differences(one: dict[str, Any], other: dict[str, Any], prefix: str = "") -> list[str]:
    """What differs between two identities, as text."""
    found = []
    for key in dict.fromkeys((*one, *other)):
        first, second = one.get(key), other.get(key)
        if first == second:
            continue
        if isinstance(first, dict) and isinstance(second, dict) and prefix != "space.":
            found += differences(first, second, f"{prefix}{key}.")
        else:
            values = (str(value)[:12] if key == "corpus" else value for value in (first, second))
            found.append(f"{prefix}{key} was {{}} and is {{}}".format(*values))
    return found


def load(storage: BaseStorage, name: str, sweep: Sweep) -> Study | None:
    """The study of a name, if it is there."""
    import optuna

    try:
        return optuna.load_study(study_name=name, storage=storage, pruner=make_pruner(sweep.pruner))
    except KeyError:
        return None


def create(storage: BaseStorage, name: str, sweep: Sweep, known: dict[str, Any], parent: str) -> Study:
    """Make a study; raises optuna.exceptions.DuplicatedStudyError if another machine was quicker."""
    import optuna

    directions = ["maximize", "minimize"][: len(sweep.objectives)]
    pruner = make_pruner(sweep.pruner)
    study = optuna.create_study(study_name=name, storage=storage, directions=directions, pruner=pruner)
    study.set_metric_names(list(sweep.objectives))
    study.set_user_attr(IDENTITY, {**known, "parent": parent})
    return study


def check_same(study: Study, known: dict[str, Any], where: str) -> str:
    """Check that a study is the one meant, and return its parent run's id.

    Raises:
        UserError: if it is another, and what differs.
    """
    deadline = time.monotonic() + 60
    while (before := study.user_attrs.get(IDENTITY)) is None:
        # Made this moment on another machine, or not by us.
        if time.monotonic() > deadline or study.get_trials(deepcopy=False):
            raise UserError(f"{where}: its study '{study.study_name}' was not made by stemcell; give another --name")
        time.sleep(1)
    before = dict(before)
    parent = str(before.pop("parent"))
    if changed := differences(before, known):
        corpus = "; the corpus has changed: restore it" if before["corpus"] != known["corpus"] else ""
        raise UserError(
            f"{where}: the sweep '{study.study_name}' there is another one ({'; '.join(changed[:3])}){corpus}; "
            "give another --name"
        )
    return parent


@dataclass
class Worker:
    """This process, as others tell that it lives: by a lock on this machine, by beats on others."""

    folder: Path
    beats: int = 0

    def __post_init__(self) -> None:
        from filelock import FileLock

        self.host = socket.gethostname()
        self.name = f"{self.host}-{os.getpid()}-{uuid.uuid4().hex[:6]}"
        self.file = self.folder / ".workers" / f"{self.name}.lock"
        self.file.parent.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(self.file)
        self._lock.acquire()
        self._last = -BEAT
        self._seen: dict[str, tuple[Any, float]] = {}

    def beat(self, study: Study) -> None:
        """Give a sign of life, if it is time for one."""
        if time.monotonic() - self._last >= BEAT:
            self.beats += 1
            study.set_user_attr(f"beat:{self.name}", self.beats)
            self._last = time.monotonic()

    def mark(self) -> dict[str, str]:
        """What is noted with a trial that this worker runs."""
        return {"name": self.name, "host": self.host, "lock": str(self.file)}

    def dead(self, trial: FrozenTrial, beats: dict[str, Any]) -> bool:
        """Whether the worker of a running trial is no more."""
        from filelock import FileLock, Timeout

        worker = trial.user_attrs.get("worker")
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

    def leave(self) -> None:
        """Be gone: nothing of it runs any more."""
        self._lock.release()
        self.file.unlink(missing_ok=True)


def slot(trial: FrozenTrial) -> int:
    """The number of the first trial of this trial's slot."""
    return int(trial.user_attrs.get("slot", trial.number))


def slots(study: Study) -> dict[int, FrozenTrial]:
    """The last trial of each slot."""
    trials = [trial for trial in study.get_trials(deepcopy=False) if not trial.user_attrs.get("surplus")]
    return {slot(trial): trial for trial in sorted(trials, key=lambda trial: trial.number)}


def mend(study: Study, worker: Worker) -> None:
    """Fail the trials whose workers are dead, and queue every trial that was lost again; under the sweep's lock."""
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False)
    beats = study.user_attrs
    for trial in trials:
        if trial.state == TrialState.RUNNING and worker.dead(trial, beats):
            lose(study, trial.number, "its worker was killed")
    trials = study.get_trials(deepcopy=False)
    retried = {trial.user_attrs.get("retries") for trial in trials}
    for trial in trials:
        lost = trial.state == TrialState.FAIL and trial.user_attrs.get("lost") and not trial.user_attrs.get("surplus")
        if lost and trial.number not in retried:
            attributes = {"slot": slot(trial), "retries": trial.number}
            study.enqueue_trial(dict(trial.params), user_attrs=attributes)


def lose(study: Study, number: int, reason: str) -> None:
    """Fail a trial that is to be run again."""
    attribute(study, number, "lost", reason)
    finish(study, number)


def finish(study: Study, number: int, values: list[float] | None = None, pruned: bool = False) -> None:
    """Tell Optuna how a trial ended; again, or after another machine has said so, it is nothing."""
    from optuna.trial import TrialState

    state = TrialState.COMPLETE if values else TrialState.PRUNED if pruned else TrialState.FAIL
    study.tell(number, values, state=state, skip_if_finished=True)


def attribute(study: Study, number: int, name: str, value: Any) -> None:
    """Note something with a trial that is not this process' own."""
    storage = study._storage
    trial_id = storage.get_trial_id_from_study_id_trial_number(study._study_id, number)
    storage.set_trial_user_attr(trial_id, name, value)


def crashes(study: Study, of: int) -> int:
    """How often a slot's process has died by itself."""
    trials = study.get_trials(deepcopy=False)
    return sum(slot(trial) == of and trial.user_attrs.get("lost", "").startswith("died") for trial in trials)


def claim(study: Study, sweep: Sweep, worker: Worker) -> Trial | None:
    """Take a trial that was queued again or else a new one, with its parameters; under the sweep's lock.

    Returns:
        None if the study has all its trials.
    """
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False)
    waiting = any(trial.state == TrialState.WAITING for trial in trials)
    if not waiting and len(slots(study)) >= sweep.trials:
        return None
    trial = study.ask()
    trial.set_user_attr("worker", worker.mark())
    frozen = next(t for t in study.get_trials(deepcopy=False) if t.number == trial.number)
    if _surplus(study, frozen, sweep.trials):
        trial.set_user_attr("surplus", True)
        finish(study, trial.number)
        return None
    study.sampler = make_sampler(sweep.sampler, slot(frozen) if frozen.user_attrs.get("retries") else trial.number)
    for name, distribution in distributions(sweep.space).items():
        trial._suggest(name, distribution)
    return trial


def _surplus(study: Study, trial: FrozenTrial, total: int) -> bool:
    before = [t for t in study.get_trials(deepcopy=False) if t.number < trial.number and not t.user_attrs.get("surplus")]
    if (retries := trial.user_attrs.get("retries")) is not None:
        return any(t.user_attrs.get("retries") == retries for t in before)
    return sum(slot(t) == t.number for t in before) >= total
