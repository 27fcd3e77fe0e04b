"""A study on disk: a run folder of its own, with the folders of its runs in it.

::

    OUT/NAME/run.json, status.json    the study's record, as of any run; its corpus is noted in its tags
             tables/runs.json         its runs; their folders are relative to the study's
             tables/failures.json     what could not be made: run, step, reason
             RUN/                     a run's folder; RUN/export, where it was exported
             .claims/                 who is at work on what; .logs/RUN.txt: what a run printed
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from stemcell.config import RunConfig, from_dict, mode, to_dict
from stemcell.errors import UserError
from stemcell.files import disk_errors
from stemcell.studying import after
from stemcell.studying.claims import Claim, Failure
from stemcell.studying.grid import Run, Study
from stemcell.tracking.folder import RunFolder, is_run

COLUMNS = ("name", "id", "folder", "encoder", "tasks", "mode", "seed", "state")
# Where a run lies and how it is kept is not what it is; its corpus is known by its fingerprint, and a preset by what
# it sets.
PLACES = ("data", "out", "from_run", "experiment", "checkpoint_minutes", "preset")


def pretrained(encoder: str) -> str:
    """The name of the probes of an encoder as it is."""
    return f"{Path(encoder).name}-pretrained"


class Record:
    """A study's folder, opened or made; the one command that could ``lead`` keeps it up to date."""

    def __init__(self, study: Study, out: Path, data: Path, fingerprint: str) -> None:
        """Open the study, or make it.

        Raises:
            UserError: if another study of that name is there, or its corpus was another, or anything else is there.
        """
        from filelock import FileLock

        self.study, self.data, self.fingerprint = study, data, fingerprint
        self.path = (out / study.name).absolute()
        with disk_errors(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            lock = FileLock(self.path / ".study.lock")
            lock.acquire()
        try:
            if not is_run(self.path):
                check_runs(study, self.path, data, fingerprint)
                self.folder = RunFolder.create(self.path, self._config(), self._tags(), around=True)
            else:
                self.folder = RunFolder(self.path)
                check_same(study, self.folder, fingerprint)
                check_runs(study, self.path, data, fingerprint)
        finally:
            lock.release()
        self.leads = False

    def lead(self) -> bool:
        """Become the one who keeps the record, unless somebody else is."""
        if not self.leads:
            try:
                self.folder.hold()
            except UserError:
                return False
            self.leads = True
            self.folder.note_changes({**self._config(), **self._grown()})
        return True

    def config(self, run: Run) -> RunConfig:
        """The whole configuration of a run."""
        return settled(run, self.path, self.data)

    def keep(self) -> None:
        """Write the tables of runs and of failures."""
        rows = [self._row(run.name, run) for run in self.study.runs]
        rows = [self._row(pretrained(encoder), None, encoder) for encoder in self.study.pretrained] + rows
        named = {row[0] for row in rows}
        if (self.path / "tables" / "runs.json").exists():
            # Of other encoders or seeds, which this command was not asked for.
            rows += [row for row in self.folder.read_table("runs")[1] if row[0] not in named]
        self.folder.table("runs", COLUMNS, rows)
        failures = [(row[0], failure(self.path, row[0])) for row in rows]
        found = [[name, one.step, one.reason] for name, one in failures if one]
        if found or (self.path / "tables" / "failures.json").exists():
            self.folder.table("failures", ("run", "step", "reason"), found)

    def _row(self, name: str, run: Run | None, encoder: str = "") -> list[Any]:
        place = self.path / name
        own = RunFolder(place).id if is_run(place) else None
        state = state_of(self.study, self.path, name, run)
        if run is None:
            return [name, own, name, encoder, "", "pretrained", None, state]
        config = run.config
        return [name, own, name, config.encoder, ",".join(config.tasks), mode(config), config.seed, state]

    def _config(self) -> dict[str, Any]:
        study = self.study
        return {
            "study": study.name,
            "size": study.size,
            "data": str(self.data),
            "experiment": study.settings["experiment"],
            "encoders": list(study.encoders),
            "seeds": list(study.seeds),
            "after": list(study.after),
            "pretrained": bool(study.pretrained),
            "settings": study.settings,
        }

    def _grown(self) -> dict[str, Any]:
        """What a study may have more of than it had before."""
        before, study = self.folder.config, self.study
        both = {"encoders": study.encoders, "seeds": study.seeds, "after": study.after}
        found = {name: list(dict.fromkeys((*before[name], *now))) for name, now in both.items()}
        return {**found, "pretrained": bool(study.pretrained) or before["pretrained"]}

    def _tags(self) -> dict[str, str]:
        return {"kind": "study", "study": self.study.name, "size": self.study.size, "corpus": self.fingerprint}


def settled(run: Run, folder: Path, data: Path) -> RunConfig:
    """The whole configuration of a run in a study's folder."""
    start = str(folder / run.start) if run.start else ""
    return dataclasses.replace(run.config, data=str(data), out=str(folder / run.name), from_run=start)


def check_same(study: Study, folder: RunFolder, fingerprint: str) -> None:
    """Check that a study that is there is this one.

    Raises:
        UserError: if it is not; names the first difference.
    """
    path = folder.path
    if folder.tags.get("kind") != "study":
        raise UserError(f"{path}: holds a run that is no study, so it stays; name another folder with --out")
    before, now = folder.config["settings"], study.settings
    for key in dict.fromkeys((*before, *now)):
        if before.get(key) != now.get(key):
            raise UserError(
                f"{path}: holds another study of that name: {key} was {_shown(before.get(key))} "
                f"and is {_shown(now.get(key))}; name another folder with --out, or give the study another name"
            )
    if fingerprint and folder.tags.get("corpus") != fingerprint:
        raise UserError(
            f"{path}: the corpus is not the one that the study was begun with ({fingerprint[:12]} instead of "
            f"{folder.tags.get('corpus', '')[:12]}); restore it, or name another folder with --out"
        )


def check_runs(study: Study, folder: Path, data: Path, fingerprint: str) -> None:
    """Check that the runs that are there are the study's.

    Raises:
        UserError: if one is not; names the first difference.
    """
    for run in study.runs:
        path = folder / run.name
        if not is_run(path):
            continue
        there = RunFolder(path)
        before, now = to_dict(from_dict(there.config, str(path / "run.json"))), to_dict(settled(run, folder, data))
        # As a set: the study names tasks in their order, and other commands as they are given.
        before["tasks"], now["tasks"] = sorted(before["tasks"]), sorted(now["tasks"])
        pairs = [(key, before[key], now[key]) for key in now if key not in PLACES]
        pairs.append(("from", Path(before["from_run"]).name, Path(now["from_run"]).name))
        if fingerprint:
            pairs.append(("corpus", there.tags.get("corpus"), fingerprint))
        for key, old, new in pairs:
            if old != new:
                raise UserError(
                    f"{path}: holds another run: {key} is {_shown(old)} there and {_shown(new)} in the study; "
                    "move it away, or name another folder with --out"
                )


def failure(folder: Path, run: str) -> Failure | None:
    """Why a run of a study could not be made, if it was tried."""
    return Claim(folder, run).failure() if (folder / ".claims").is_dir() else None


def finished(study: Study, folder: Path, name: str, run: Run | None) -> bool:
    """Whether a run, or the probe of an encoder, is there with all that was to come after it."""
    place = folder / name
    if not trained(place):
        return False
    return run is None or not after.pending(study.after, place, run.config)


def trained(place: Path) -> bool:
    """Whether a run is there and FINISHED."""
    return is_run(place) and RunFolder(place).status().status == "FINISHED"


def state_of(study: Study, folder: Path, name: str, run: Run | None) -> str:
    """How a run stands: finished, failed, running, trained (something is to come after it), interrupted or waiting."""
    if finished(study, folder, name, run):
        return "finished"
    if (folder / ".claims").is_dir() and Claim(folder, name).taken():
        return "running"
    if failure(folder, name):
        return "failed"
    if not is_run(folder / name):
        return "waiting"
    return "trained" if trained(folder / name) else "interrupted"


def _shown(value: Any) -> str:
    if value is None:
        return "not set"
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 80 else text[:79] + "…"
