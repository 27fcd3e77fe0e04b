"""A sweep from start to end: its folder, its study, and the trials that its workers run.

::

    SWEEP/                a run folder of its own, the parent of its trials in MLflow
        study.journal     the study, unless --storage names another place
        trials/           one run folder a trial, and what its process printed
        tables/ artifacts/  what has come of it (see :mod:`stemcell.searching.results`)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.config import FIELDS, RunConfig, from_dict, to_dict
from stemcell.errors import UserError
from stemcell.searching import results, study
from stemcell.searching.boss import Boss
from stemcell.searching.opening import Opened, Plan, hold, open_sweep
from stemcell.searching.space import Choice, Sweep, describe
from stemcell.searching.storage import check_storage, storage_errors
from stemcell.tracking.folder import is_run

if TYPE_CHECKING:
    from stemcell.corpora.store import Corpus


class Stop(Exception):
    """The sweep is to stop: its trials save themselves and go on the next time."""

    def __init__(self, number: int) -> None:
        self.signal = number


def run_sweep(sweep: Sweep, config: RunConfig, plan: Plan) -> str:
    """Run a sweep, go on with it, or join it, until all its trials have ended, and return what has come of it.

    Raises:
        UserError: if corpus, storage or folder cannot be used, or hold another sweep; nothing is left half-made.
        Stop: after a signal; trials are saved.
    """
    from stemcell.corpora.store import read_corpus

    check_storage(plan.storage, plan.workers)
    corpus = read_corpus(config.data, layers=config.tasks, pos_column=config.pos_column, skip_broken=config.skip_broken)
    if not is_run(plan.folder):  # what was begun before there was this check may go on
        _check_gates(sweep, config, corpus)
    known = study.identity(study.about(sweep), to_dict(config), corpus.fingerprint)
    opened = open_sweep(sweep, config, plan, known)
    with storage_errors(plan.storage):
        boss = Boss(sweep, config, plan, opened)
        try:
            boss.work()
        finally:
            boss.leave()
        _conclude(sweep, config, plan, opened)
        if boss.broken:
            raise UserError(boss.broken)
        if boss.stopped:
            raise Stop(boss.stopped)
        return results.summary(opened.study, sweep, plan.trials, plan.folder)


# Which end of a searched range gives the gates the longest way.
_LONGEST: dict[str, Callable[..., Any]] = {
    "gate_lr": max, "epochs": max, "batch_sentences": min, "batch_tokens": min,
    "train_limit": lambda values: max(values) if min(values) else 0,  # 0: no limit
    "prune": lambda values: next((value for value in values if value != "no"), "no"),
    "gates": min,  # joint, moved by all tasks
}  # fmt: skip


def _check_gates(sweep: Sweep, config: RunConfig, corpus: Corpus) -> None:
    """Refuse a search for how far to prune in which no gate can close: its trials would differ in nothing."""
    from stemcell.training.reach import cannot_close_on

    penalties = {"l0_penalty", "overlap_penalty"} & set(sweep.space)
    if not penalties and "heads" not in sweep.objectives and sweep.heads_budget is None:
        return
    best = {}
    for name in _LONGEST.keys() & sweep.space.keys():
        part = sweep.space[name]
        values = part.choices if isinstance(part, Choice) else (part.low, part.high)
        # A range has floats, of whole numbers too.
        kind: Any = type(FIELDS[name].default)
        best[name] = kind(_LONGEST[name](values))
    if problem := cannot_close_on(from_dict({**to_dict(config), **best}), corpus):
        raise UserError(f"this sweep's trials would prune nothing: {problem}")


def _conclude(sweep: Sweep, config: RunConfig, plan: Plan, opened: Opened) -> None:
    """Write what has come of the sweep, unless a worker that holds its record will, or has."""
    folder = opened.folder
    with opened.lock:
        if not opened.holds and (folder.status().status == "FINISHED" or not hold(folder)):
            return
        ended = all(trial.state.is_finished() for trial in study.first(opened.study, plan.trials))
        results.write(folder, opened.study, sweep, config, plan.trials)
        folder.set_status(
            "FINISHED" if ended else "KILLED", "" if ended else "stopped; the same command goes on with it"
        )
        folder.release()
        results.send(folder, with_trials=not opened.in_mlflow)


def resolve(sweep: Sweep) -> RunConfig:
    """The configuration that trials start from."""
    values = dict(sweep.base)
    if values.get("from_run"):
        from stemcell.saved import inherited

        values = inherited(values)
    return from_dict(values)


def encoders(sweep: Sweep, config: RunConfig) -> None:
    """Check that the encoders of a sweep are in reach, as far as that is cheap.

    Raises:
        UserError: if one is not.
    """
    from stemcell.encoders.names import TINY, locate

    part = sweep.space.get("encoder")
    for name in part.choices if isinstance(part, Choice) else (config.encoder,):
        if name in TINY:
            continue
        source = locate(name)
        from stemcell.encoders import hub

        if isinstance(source, Path):
            hub.check_folder(source)
        elif not hub.reachable():
            hub.cached_weights(source, None)


def sample(sweep: Sweep, config: RunConfig, name: str, trials: int) -> str:
    """What a sweep searches, and the configuration of its first trial, as text."""
    import optuna
    import yaml

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = optuna.create_study(directions=study.directions(sweep), sampler=study.make_sampler(sweep.sampler, 0))
    trial = found.ask()
    study.suggest(trial, sweep)
    about = {
        "name": name,
        "trials": trials,
        "objectives": list(sweep.objectives),
        "heads_budget": sweep.heads_budget,
        "sampler": dataclasses.asdict(sweep.sampler),
        "pruner": dataclasses.asdict(sweep.pruner),
        "space": describe(sweep.space),
        "first trial": to_dict(from_dict({**to_dict(config), **trial.params})),
    }
    return yaml.safe_dump(about, sort_keys=False, allow_unicode=True).rstrip()
