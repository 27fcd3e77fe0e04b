"""Opening a sweep: its folder and its study, made, found again, or joined."""

from __future__ import annotations

import shutil
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from stemcell.config import RunConfig, to_dict
from stemcell.errors import UserError
from stemcell.files import disk_errors
from stemcell.searching import results, study
from stemcell.searching.space import Sweep
from stemcell.searching.storage import open_storage, storage_errors
from stemcell.tracking.folder import RunFolder, is_run
from stemcell.tracking.store import shown

if TYPE_CHECKING:
    from filelock import FileLock
    from optuna import Study
    from optuna.storages import BaseStorage


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
class Opened:
    """A sweep's folder and its study; of several workers at one folder, one ``holds`` its record.

    ``lock`` keeps those on one machine apart while they take trials.
    """

    folder: RunFolder
    storage: BaseStorage
    study: Study
    lock: FileLock
    holds: bool = False
    in_mlflow: bool = True


def open_sweep(sweep: Sweep, config: RunConfig, plan: Plan, known: dict[str, Any]) -> Opened:
    """Open or make the sweep's folder and its study."""
    from filelock import FileLock

    path, journal = plan.folder, plan.folder / "study.journal"
    if is_run(path):
        _check_folder(RunFolder(path), known)
    else:
        RunFolder.check_free(path)
    # What cannot be reached leaves no folder behind.
    storage = open_storage(plan.storage, journal) if plan.storage else None
    with disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_name(f".{path.name}.lock"))
        lock.acquire()
    try:
        with storage_errors(plan.storage):
            return _open_alone(sweep, config, plan, known, storage, lock)
    finally:
        lock.release()


def _open_alone(
    sweep: Sweep, config: RunConfig, plan: Plan, known: dict[str, Any], storage: BaseStorage | None, lock: FileLock
) -> Opened:
    path = plan.folder
    where = shown(plan.storage) if plan.storage else str(path)
    new = not is_run(path)
    if not new:
        _check_folder(RunFolder(path), known)
    parent = uuid.uuid4().hex if new else RunFolder(path).id
    found, made = None, False
    if storage:
        # On a server the study comes first, since other machines see it there.
        found, made = _find_study(storage, sweep, plan, known, where, parent)
        parent = study.known(found, where, {})["parent"]
    try:
        folder = _make_folder(sweep, config, plan, known, parent) if new else RunFolder(path)
        if storage is None:
            storage = open_storage(None, path / "study.journal")
        if found is None:
            found, made = _find_study(storage, sweep, plan, known, where, folder.id)
        if not made and plan.storage:
            study.await_announced(found)
        study.fill(found, plan.trials)
    except BaseException:
        if new:
            shutil.rmtree(path, ignore_errors=True)
        if made and plan.storage and storage:
            storage.delete_study(storage.get_study_id_from_name(plan.name))
        raise
    opened = Opened(folder, storage, found, lock)
    opened.holds = hold(folder)
    if opened.holds:
        opened.in_mlflow = results.begin(folder)
    study.announce(found)
    return opened


def _find_study(
    storage: BaseStorage, sweep: Sweep, plan: Plan, known: dict[str, Any], where: str, parent: str
) -> tuple[Study, bool]:
    """The study of a sweep, and whether it was made just now."""
    found, made = study.find(storage, plan.name, sweep), False
    record = {**known, "parent": parent}
    if found is None:
        found, made = study.make(storage, plan.name, sweep, record)
    before = study.known(found, where, record)
    before.pop("parent")
    study.check_same(before, known, where)
    return found, made


def _check_folder(folder: RunFolder, known: dict[str, Any]) -> None:
    if folder.tags.get("kind") != "sweep":
        raise UserError(f"{folder.path}: holds a run that is no sweep; name another folder with --out")
    recorded = study.identity(folder.config["sweep"], folder.config, folder.tags["corpus"])
    study.check_same(recorded, known, str(folder.path))


def _make_folder(sweep: Sweep, config: RunConfig, plan: Plan, known: dict[str, Any], own_id: str) -> RunFolder:
    """The sweep's run folder; where another machine has begun the sweep, the same run once more."""
    fixed = {name: value for name, value in to_dict(config).items() if name not in sweep.space and name != "out"}
    about = {"name": plan.name, **study.about(sweep), "trials": plan.trials}
    tags = {"kind": "sweep", "encoder": config.encoder, "tasks": ",".join(config.tasks), "corpus": known["corpus"]}
    folder = RunFolder.create(plan.folder, {**fixed, "sweep": about}, tags, own_id=own_id)
    folder.release()
    return folder


def hold(folder: RunFolder) -> bool:
    """Become the one of several workers that keeps the sweep's record."""
    try:
        folder.hold()
    except UserError:
        return False
    folder.set_status("RUNNING")
    return True
