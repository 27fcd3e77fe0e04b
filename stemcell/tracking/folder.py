"""A run's folder on disk, which is the truth about the run; MLflow holds a copy.

::

    RUN/run.json          what was run: id, time, configuration, tags; what later resumes changed; the SHA-256 of the
                          files that its model is built from, and of its own content
        status.json       RUNNING, FINISHED, FAILED or KILLED, and why
        metrics.jsonl     training's metrics by step
        system.jsonl      the machine's, by sample; apart, since training may be rewound to a checkpoint and time not
        results.jsonl     scores of the finished model, by evaluation
        tables/           NAME.json, one table a file
        artifacts/        everything else worth keeping
        mlflow.json       which MLflow run is the copy, and what it has of tables and artifacts
        …                 (checkpoints and the like: not copied)
"""

from __future__ import annotations

import difflib
import os
import re
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from stemcell.config import BEFORE
from stemcell.errors import UserError
from stemcell.files import disk_errors, intact, read_json, staging, write_atomic, write_json, write_sealed
from stemcell.home import home
from stemcell.tracking.journal import Entry, Journal, entries
from stemcell.tracking.lock import RunLock

FORMAT = 1
GONE = "its process is gone without a word; it was killed, or the machine went down"
"""Why a run that says RUNNING is KILLED, when nobody writes it any more."""
JOURNALS = ("metrics.jsonl", "system.jsonl", "results.jsonl")


@dataclass(frozen=True)
class Status:
    """How a run stands: RUNNING, FINISHED, FAILED or KILLED; why; start and end in seconds since 1970."""

    status: str
    reason: str = ""
    started: float = 0.0
    ended: float | None = None

    @property
    def word(self) -> str:
        """The status, and the reason where the run's process is gone without having said one."""
        return f"{self.status}: {GONE}" if self.reason == GONE else self.status


class RunFolder:
    """One run on disk. Training holds it (:meth:`hold`), so that a run has one writer; anybody may read."""

    def __init__(self, path: Path) -> None:
        """Open a run.

        Raises:
            UserError: if the folder holds no run, a damaged one, or one of another version.
        """
        self.path = path.absolute()
        if not is_run(path):
            raise UserError(f"{path}: not a run folder (it has no run.json)")
        self.record: dict[str, Any] = read_json(self.path / "run.json")
        with intact(self.path / "run.json"):
            if self.record["format"] != FORMAT:
                raise UserError(
                    f"{path}: run format {self.record['format']}, but this version of stemcell reads {FORMAT}; "
                    "use the version that wrote it"
                )
            _ = self.id, self.tags, self.config, self.record["created"], self.record["parent"]
        self._lock = RunLock(self.path)

    @classmethod
    def create(
        cls,
        path: Path,
        config: Mapping[str, Any],
        tags: Mapping[str, str],
        *,
        overwrite: bool = False,
        parent: str | None = None,
        around: bool = False,
        own_id: str | None = None,
    ) -> RunFolder:
        """Make a run folder, RUNNING, and hold it.

        Args:
            path: a folder that does not exist or is empty.
            config: the resolved configuration as plain values; ``experiment`` in it names MLflow's.
            tags: what runs are told apart by.
            overwrite: replace a run that is there.
            parent: the :attr:`id` of the run that this one is a part of, such as a study.
            around: other runs may lie in the folder.
            own_id: the :attr:`id`, where another machine has made this run already.

        Raises:
            UserError: as :meth:`check_free`, or if the folder cannot be written.
        """
        path = path.absolute()
        cls.check_free(path, overwrite, around)
        if overwrite and is_run(path):
            before = cls(path).hold()
            _remove(path)
            before.release()
        with disk_errors(path):
            path.mkdir(parents=True, exist_ok=True)
        lock = RunLock(path)
        lock.hold()
        # Another process may have been quicker.
        cls.check_free(path, around=around)
        record = {
            "format": FORMAT,
            "id": own_id or uuid.uuid4().hex,
            "created": time.time(),
            "parent": parent,
            "config": dict(config),
            "tags": dict(tags),
            "resumed": [],
        }
        # run.json comes last: what has one is a whole run.
        try:
            write_json(path / "status.json", asdict(Status("RUNNING", started=time.time())))
            write_sealed(path / "run.json", record)
        except BaseException:
            (path / "status.json").unlink(missing_ok=True)
            raise
        folder = cls(path)
        folder._lock = lock
        return folder

    @staticmethod
    def check_free(path: Path, overwrite: bool = False, around: bool = False) -> None:
        """Check that a run may be made here, ``around`` other runs if that is asked for.

        Raises:
            UserError: if a run is there and ``overwrite`` was not asked for, or is being written; or if anything else
                is there, which is never touched.
        """
        if is_run(path):
            folder = RunFolder(path)
            status = folder.status()
            if status.status == "RUNNING":
                raise UserError(f"{path}: another process is writing this run; wait for it or stop it")
            if not overwrite:
                state = "a finished run" if status.status == "FINISHED" else f"an unfinished run ({status.status})"
                raise UserError(f"{path}: already holds {state}; go on with --resume, or replace it with --overwrite")
        elif path.exists() and (not path.is_dir() or not all(_may_stay(entry, around) for entry in path.iterdir())):
            raise UserError(f"{path}: already there and not a run folder, so it stays; name another one with --out")

    @property
    def id(self) -> str:
        """The run's own id, given when the folder was made; not MLflow's."""
        return str(self.record["id"])

    @property
    def tags(self) -> dict[str, str]:
        """What the run was marked with when it was made."""
        return dict(self.record["tags"])

    @property
    def config(self) -> dict[str, Any]:
        """The configuration, with what resumes have changed."""
        config = {**self.record["config"], **self.changes}
        # Other records, such as a study's, have other fields.
        return config if "kind" in self.tags else {**BEFORE, **config}

    @property
    def changes(self) -> dict[str, Any]:
        """What resumes have changed in the configuration."""
        return {key: value for resumed in self.record["resumed"] for key, value in resumed["changed"].items()}

    def note_changes(self, config: Mapping[str, Any]) -> None:
        """Note what a resume changes in the configuration, if anything."""
        before = self.config
        changed = {key: value for key, value in config.items() if key not in before or before[key] != value}
        if changed:
            self.record["resumed"].append({"time": time.time(), "changed": changed})
            self._write()

    def note_files(self, digests: Mapping[str, str]) -> None:
        """Note the SHA-256 by path of what the model is built from (:mod:`stemcell.tracking.description`)."""
        self.record["files"] = dict(digests)
        self._write()

    def _write(self) -> None:
        write_sealed(self.path / "run.json", self.record)
        self.record = read_json(self.path / "run.json")

    def history(self, journal: str = "metrics.jsonl") -> Iterator[Entry]:
        """The lines of one of the JOURNALS, in order."""
        return entries(self.path / journal)

    def result(self, split: str, scores: Mapping[str, float]) -> None:
        """Note scores of the finished model, as ``SPLIT/NAME``; the same scores again add nothing."""
        scores = {f"final/{split}/{name}": float(value) for name, value in scores.items()}
        last: dict[str, float] = {}
        step = 0
        for entry in self.history("results.jsonl"):
            last.update(entry.metrics)
            step = entry.step
        if any(name not in last or last[name] != value for name, value in scores.items()):
            journal = Journal(self.path / "results.jsonl")
            journal.append(step + 1, scores)
            journal.close()

    def table(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> Path:
        """Write ``tables/NAME.json`` whole; the same name again replaces it.

        The form is that of MLflow's tables and of ``pandas.read_json(orient="split")``. Labels belong into cells, not
        into names.
        """
        path = self._inside("tables", f"{name}.json")
        write_json(path, {"columns": list(columns), "data": [list(row) for row in rows]})
        return path

    def read_table(self, name: str) -> tuple[list[str], list[list[Any]]]:
        """A table's columns and rows."""
        content = read_json(self._inside("tables", f"{name}.json"))
        return content["columns"], content["data"]

    def artifact(self, name: str, content: bytes | str | dict[str, Any] | list[Any]) -> Path:
        """Write ``artifacts/NAME`` whole: bytes and text as they are, other values as JSON.

        A file ``FILM/step-000120.png`` becomes a picture at step 120 of a film in MLflow.
        """
        path = self._inside("artifacts", name)
        if isinstance(content, (bytes, str)):
            write_atomic(path, content)
        else:
            write_json(path, content)
        return path

    def status(self) -> Status:
        """How the run stands; one that says RUNNING but has no writer any more was KILLED."""
        with intact(self.path / "status.json"):
            status = Status(**read_json(self.path / "status.json"))
        if status.status != "RUNNING" or self._lock.held():
            return status
        files = [self.path / "status.json", self.path / "metrics.jsonl"]
        ended = max(file.stat().st_mtime for file in files if file.exists())
        return Status("KILLED", GONE, status.started, ended)

    def set_status(self, status: str, reason: str = "") -> None:
        """Say how the run stands from now on."""
        with intact(self.path / "status.json"):
            started = read_json(self.path / "status.json")["started"]
        ended = None if status == "RUNNING" else time.time()
        write_json(self.path / "status.json", asdict(Status(status, reason, started, ended)))

    def hold(self) -> RunFolder:
        """Become the run's only writer, until :meth:`release`, or this object's or the process' end.

        Raises:
            UserError: if another process writes it.
        """
        self._lock.hold()
        return self

    def release(self) -> None:
        """Stop being the writer."""
        self._lock.release()

    def _inside(self, part: str, name: str) -> Path:
        root = self.path / part
        path = root / name
        # Both made plain, since a run's own path may have `..` in it.
        if Path(os.path.normpath(root)) not in Path(os.path.normpath(path)).parents:
            raise ValueError(f"{name}: must be a name under {part}/")
        return path


def is_run(path: Path) -> bool:
    """Whether a folder holds a run."""
    return (path / "run.json").is_file()


def find_run(name: str, sweeps: bool = False) -> RunFolder:
    """The run of a name: its folder, its folder's name in the run home, or its id in MLflow.

    Raises:
        UserError: if there is none; says where it was looked for and which one is near. Or if it is a sweep, and
            ``sweeps`` are not asked for.
    """
    run = _find(name)
    if run.tags.get("kind") == "sweep" and not sweeps:
        raise UserError(f"{name}: a sweep, which is no model; name one of its trials, as {run.path}/trials/trial-000")
    return run


def _find(name: str) -> RunFolder:
    for path in (Path(name), home() / "runs" / name):
        if is_run(path):
            return RunFolder(path)
    if re.fullmatch("[0-9a-f]{32}", name):
        from stemcell.tracking.store import folder_of

        return folder_of(name)
    places = dict.fromkeys((Path(name).absolute().parent, home() / "runs"))
    runs = {entry.name for place in places if place.is_dir() for entry in place.iterdir() if is_run(entry)}
    near = difflib.get_close_matches(Path(name).name, runs, n=1, cutoff=0.5)
    state = "not a run folder (it has no run.json)" if Path(name).exists() else "no such run folder"
    hint = f"did you mean {near[0]}?" if near else "give a run's folder, its name there, or its MLflow id"
    raise UserError(f"{name}: {state}, and none of that name in {home() / 'runs'}; {hint}")


def _may_stay(entry: Path, around: bool) -> bool:
    return entry.name.startswith(".") or (around and is_run(entry))


def _remove(path: Path) -> None:
    # Renamed first, so that a crash leaves no half of a run under its name.
    with staging(path) as aside:
        path.rename(aside)
