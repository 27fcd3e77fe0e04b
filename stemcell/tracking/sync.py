"""Completing a run's copy in MLflow after the fact."""

from __future__ import annotations

from stemcell.errors import UserError, suggested
from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder, is_run
from stemcell.tracking.mirror import say
from stemcell.tracking.replica import Replica, Sent


def sync(folder: RunFolder) -> Sent:
    """Send MLflow what it lacks of a run, make the copy if there is none, and set its status; again sends nothing.

    Raises:
        UserError: if the run is being written (its own process sends it), or MLflow does not answer.
    """
    status = folder.status()
    folder.hold()
    try:
        with store.answers():
            replica = Replica(folder)
            sent = replica.push()
            replica.set_status(status)
        return sent
    finally:
        folder.release()


def parts(folder: RunFolder) -> list[RunFolder]:
    """The trials of a sweep that lie in its folder; none of another run."""
    return [RunFolder(path) for path in sorted((folder.path / "trials").glob("*")) if is_run(path)]


def send(folder: RunFolder) -> None:
    """As :func:`sync`, for a command that has added to a run and must not fail for MLflow's sake: at worst it warns."""
    if folder.status().status == "RUNNING":
        return
    try:
        sync(folder)
    except UserError as error:
        say(f"{error}; complete the record later with: {suggested('sync', folder.path)}")
