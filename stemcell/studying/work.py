"""Doing a study: every run once, in order, by as many workers as are asked for, here and on other machines."""

from __future__ import annotations

import signal
import time
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from pathlib import Path
from types import FrameType

from stemcell.errors import UserError, suggested
from stemcell.signals import stopping
from stemcell.studying import job as jobs
from stemcell.studying.board import Board, Line, progress, say
from stemcell.studying.claims import Claim
from stemcell.studying.grid import Run, Study
from stemcell.studying.process import Child, End, call
from stemcell.studying.record import Record, check_runs, check_same, finished, pretrained, state_of, trained
from stemcell.tracking.folder import RunFolder, is_run

# Seconds between looks at what is at work, and between looks at what others do.
GLANCE, LOOK = 0.5, 3.0


class Interrupted(Exception):
    """A signal asked to stop; what was at work is saved and can be gone on with."""

    def __init__(self, number: int) -> None:
        self.signal = number


@dataclass
class Item:
    """A run, or the probe of a pretrained encoder (``run`` is None), and what has become of it in this command."""

    name: str
    run: Run | None
    encoder: str
    state: str = "waiting"
    reason: str = ""
    looked: float = field(default=-LOOK)
    began: float = 0.0
    average: float | None = None

    @property
    def settled(self) -> bool:
        """Whether nothing more is to be done about it now."""
        return self.state in ("finished", "failed")


def items(study: Study) -> list[Item]:
    """All that a study consists of, in order."""
    probes = [Item(pretrained(encoder), None, encoder) for encoder in study.pretrained]
    return probes + [Item(run.name, run, run.config.encoder) for run in study.runs]


def corpus_of(study: Study, out: Path) -> Path:
    """Where the study's corpus is, or will be.

    Raises:
        UserError: if the study names none.
    """
    if study.demo:
        return (out / f"demo-{'-'.join(map(str, study.demo))}").absolute()
    if not study.data:
        raise UserError("no corpus: give --data DIR, or name it in the study under 'data:'")
    return Path(study.data).absolute()


def plan(study: Study, out: Path) -> list[Line]:
    """What a study would do, in order, and what is there already; nothing is written.

    Raises:
        UserError: as :func:`do` does, except what only reading the corpus shows.
    """
    folder = (out / study.name).absolute()
    if is_run(folder):
        check_same(study, RunFolder(folder), "")
    data = corpus_of(study, out) if study.demo or study.data else Path()
    check_runs(study, folder, data, "")
    lines = []
    for item in items(study):
        epochs = item.run.config.epochs if item.run else 0
        done, average, _ = progress(folder / item.name, epochs)
        lines.append(Line(item.name, state_of(study, folder, item.name, item.run), done, epochs, average))
    return lines


def do(study: Study, out: Path, workers: int) -> list[Item]:
    """Make all runs of a study that are not there yet; returns those that failed.

    Raises:
        UserError: if the corpus cannot be read, or what is in the folder is not this study's; nothing was begun then.
        Interrupted: after a signal to stop, once all runs at work are saved.
    """
    data = corpus_of(study, out)
    first = study.runs[0].config
    tasks = tuple(dict.fromkeys(task for run in study.runs for task in run.config.tasks))
    fingerprint = call(jobs.corpus, data, study.demo, tasks, first.pos_column, first.skip_broken)
    _check_gates(study, data, begun=is_run(out / study.name))
    record = Record(study, out, data, fingerprint)
    return _Work(record, workers).run()


def _check_gates(study: Study, data: Path, begun: bool) -> None:
    """Say which pruned runs have gates that cannot close; refuse a study that has no others, unless it was begun."""
    pruned = [run for run in study.runs if run.config.prune != "no"]
    stuck = call(jobs.cannot_prune, data, pruned) if pruned else {}
    if stuck and len(stuck) == len(pruned) and not begun:
        name, problem = next(iter(stuck.items()))
        raise UserError(f"none of this study's {len(pruned)} pruned runs would prune: {name}: {problem}")
    for name, problem in stuck.items():
        say(f"WARNING: {name}: {problem}")


class _Work:
    def __init__(self, record: Record, workers: int) -> None:
        self._record, self._study, self._workers = record, record.study, workers
        self._items = items(record.study)
        self._children: dict[int, tuple[Item, Child]] = {}
        self._signal = 0
        self._began = time.time()
        self._durations: list[float] = []

    def run(self) -> list[Item]:
        before = {number: signal.signal(number, self._note) for number in stopping()}
        try:
            self._start()
            with Board(self._study.name) as board:
                while not self._done():
                    if not self._signal:
                        self._fill()
                    board.show([self._line(item) for item in self._items], self._left())
                    wait([child.pipe for _, child in self._children.values()], timeout=GLANCE)
                    self._collect()
                    if not self._children and not self._signal:
                        time.sleep(0 if self._ready() else GLANCE)
                board.show([self._line(item) for item in self._items], None)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        self._finish()
        if self._signal:
            raise Interrupted(self._signal)
        return [item for item in self._items if item.state == "failed"]

    def _note(self, number: int, frame: FrameType | None) -> None:
        again = bool(self._signal)
        self._signal = self._signal or number
        say("stopping now" if again else "stopping: runs save where they are; once more stops at once")
        for _, child in self._children.values():
            child.stop(at_once=again)

    def _done(self) -> bool:
        return not self._children and bool(self._signal or all(item.settled for item in self._items))

    def _start(self) -> None:
        """Take note of what is there, and tell MLflow of the study before any of its runs."""
        for item in self._items:
            if self._is_finished(item):
                item.state = "finished"
        if self._keep():
            self._announce()

    def _keep(self) -> bool:
        """Keep the record up to date, unless another command does."""
        new = not self._record.leads
        if not self._record.lead():
            return False
        if new and not all(item.settled for item in self._items):
            self._record.folder.set_status("RUNNING")
        self._record.keep()
        return True

    def _announce(self) -> None:
        try:
            call(jobs.announce, self._record.path)
        except UserError as error:
            later = suggested("sync", self._record.path)
            say(f"{error}; the study goes on, complete the record later with: {later}")
        except KeyboardInterrupt:
            self._signal = self._signal or signal.SIGINT

    def _finish(self) -> None:
        if not self._keep():
            return
        folder, failed = self._record.folder, [item for item in self._items if item.state == "failed"]
        if self._signal:
            folder.set_status("KILLED", f"signal {self._signal}")
        elif failed:
            folder.set_status("FAILED", f"{len(failed)} of {len(self._items)} runs failed; see tables/failures.json")
        else:
            folder.set_status("FINISHED")
        self._announce()
        folder.release()

    def _is_finished(self, item: Item) -> bool:
        return finished(self._study, self._record.path, item.name, item.run)

    def _ready(self) -> bool:
        return any(self._next(item) for item in self._items)

    def _fill(self) -> None:
        for item in self._items:
            free = next((slot for slot in range(self._workers) if slot not in self._children), None)
            if free is None:
                return
            if not self._next(item):
                continue
            self._look(item)
            if item.state == "waiting":
                self._begin(item, free)

    def _next(self, item: Item) -> bool:
        """Whether it may be begun, or is to be looked at: not too often what another machine is at, or waits for it."""
        return not item.settled and item.state != "running" and time.monotonic() - item.looked >= LOOK

    def _look(self, item: Item) -> None:
        """What others have made of it meanwhile."""
        claim = Claim(self._record.path, item.name)
        start = self._start_of(item)
        failure = claim.failure()
        if claim.taken():
            item.state, item.looked = "elsewhere", time.monotonic()
        elif self._is_finished(item):
            item.state = "finished"
        elif failure and failure.time >= self._began:
            item.state, item.reason = "failed", failure.reason
        elif start is not None and start.state == "failed":
            self._fail(item, f"{start.name}, which it starts from, failed")
        elif start is not None and not trained(self._record.path / start.name):
            item.state, item.looked = "blocked", time.monotonic()
        else:
            item.state = "waiting"

    def _start_of(self, item: Item) -> Item | None:
        if item.run is None or not item.run.start:
            return None
        return next(other for other in self._items if other.name == item.run.start)

    def _begin(self, item: Item, slot: int) -> None:
        job = jobs.Job(
            folder=self._record.path,
            name=item.name,
            config=self._record.config(item.run) if item.run else None,
            encoder=item.encoder,
            train_limit=max((run.config.train_limit for run in self._study.runs), default=0),
            data=self._record.data,
            after=self._study.after,
            parent=self._record.folder.id,
            slot=(slot, self._workers),
        )
        log = self._record.path / ".logs" / f"{item.name}.txt"
        log.parent.mkdir(exist_ok=True)
        self._children[slot] = (item, Child(jobs.perform, job, log=log))
        item.state, item.began = "running", time.monotonic()

    def _collect(self) -> None:
        for slot, (item, child) in list(self._children.items()):
            if child.ended():
                self._settle(item, child.end())
                del self._children[slot]
                self._keep()

    def _settle(self, item: Item, end: End) -> None:
        if end.value == jobs.ELSEWHERE:
            item.state, item.looked = "elsewhere", time.monotonic()
        elif end.state == "DONE":
            item.state = "finished"
            self._durations.append(time.monotonic() - item.began)
        elif self._signal:
            item.state = "interrupted"
        else:
            self._fail(item, end.reason or "it was stopped from outside")
        for other in self._items:
            # What waited for it need not wait longer.
            other.looked = -LOOK if other.state == "blocked" else other.looked

    def _fail(self, item: Item, reason: str) -> None:
        item.state, item.reason = "failed", reason
        with Claim(self._record.path, item.name) as claim:
            known = claim.failure()
            # Its process has noted it, unless it could not any more.
            if claim.held and not (known and known.time >= self._began):
                claim.failed("train", reason)

    def _line(self, item: Item) -> Line:
        if item.run is None:
            return Line(item.name, item.state, reason=item.reason)
        epochs = item.run.config.epochs
        place = self._record.path / item.name
        if item.state not in ("running", "elsewhere", "finished"):
            return Line(item.name, item.state, 0, epochs, item.average, reason=item.reason)
        done, item.average, left = progress(place, epochs)
        return Line(item.name, item.state, done, epochs, item.average, left if item.state == "running" else None)

    def _left(self) -> float | None:
        """Seconds until all is done, if the rest takes as long as what has been done."""
        if not self._durations:
            return None
        mean = sum(self._durations) / len(self._durations)
        waiting = sum(not item.settled and item.state != "elsewhere" for item in self._items)
        return mean * waiting / self._workers
