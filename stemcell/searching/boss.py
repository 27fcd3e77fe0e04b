"""The workers of one machine: trials in processes of their own, followed to their ends."""

from __future__ import annotations

import contextlib
import os
import signal
import time
import uuid
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from stemcell.config import RunConfig, to_dict
from stemcell.searching import results, study
from stemcell.searching.opening import Opened, Plan
from stemcell.searching.progress import Progress
from stemcell.searching.space import Sweep
from stemcell.searching.trial import End, Job, main
from stemcell.signals import stopping
from stemcell.training.display import say

if TYPE_CHECKING:
    from optuna import Trial

# Seconds between looks at what runs, and while others' trials are waited for.
LOOK, OTHERS = 0.25, 1.0
# Seconds that a trial has to save itself where the sweep itself has failed.
SAVING = 30.0
# So often may a trial's process die by itself (for lack of the machine's memory, say).
ATTEMPTS = 3


@dataclass
class Running:
    """A trial that a process of this worker runs."""

    trial: Trial
    process: Any
    pipe: Any
    progress: Progress
    end: End | None = None
    ordered: str = ""
    reported: int = 0


class Boss:
    """Starts trials in processes of their own, follows them, and says how they ended; it alone speaks to Optuna."""

    def __init__(self, sweep: Sweep, config: RunConfig, plan: Plan, opened: Opened) -> None:
        self._sweep, self._config, self._plan = sweep, config, plan
        self._storage, self._study, self._lock = opened.storage, opened.study, opened.lock
        self._parent = opened.folder.id
        self._worker = study.Worker(plan.folder, 1.0 if plan.storage else 0.0)
        self._running: dict[int, Running] = {}
        self._deadline = time.monotonic() + plan.timeout if plan.timeout is not None else float("inf")
        self._begun, self._next = False, 0.0
        self.stopped, self.broken = 0, ""

    def work(self) -> None:
        """Until all trials have ended, here or elsewhere, or it is told to stop."""
        before = {number: signal.signal(number, self._note) for number in stopping()}
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
            one.process.terminate()
        told = True
        for one in self._running.values():
            one.process.join(SAVING)
            one.process.kill()
            try:
                one.trial.set_user_attr("worker", self._worker.gone())
            except Exception:  # the storage is why we leave; others see by our lock that we are gone
                told = False
        self._worker.leave(told)

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
        for place in set(range(self._plan.workers)) - set(self._running):
            if self._stopping() or time.monotonic() < self._next:
                break
            with self._lock:
                trial = study.claim(self._study, self._storage, self._sweep, self._worker, self._plan.trials)
            if trial is None:
                self._next = time.monotonic() + OTHERS
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
            # The same wherever it is begun, so that it is one run in MLflow.
            own_id=uuid.uuid5(uuid.UUID(self._parent), f"trial {trial.number}").hex,
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
        return Running(trial, process, ours, Progress(folder), reported=study.reported(self._study, trial.number))

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
            if epoch > one.reported:
                one.trial.report(average, epoch)
                one.reported = epoch
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
            # Optuna takes a constraint once; a trial taken over from a killed worker may have it already.
            if self._sweep.heads_budget is not None and "heads" not in one.trial.constraints:
                one.trial.set_constraint("heads", heads - self._sweep.heads_budget)
        one.trial.set_user_attr("seconds", one.progress.seconds())

    def _any_begun(self) -> bool:
        if not self._begun:
            self._begun = any(trial.state.is_finished() for trial in study.first(self._study, self._plan.trials))
        return self._begun
