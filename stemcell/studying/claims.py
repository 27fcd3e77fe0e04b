"""Who is at work on a run of a study, on whatever machine: a lock a run, which the kernel frees when its holder dies.

A run's own folder is locked while it trains. A claim is held longer: before the folder is there, and while the steps
after training are taken. Beside it lies why the last try failed.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType

from filelock import FileLock, Timeout

from stemcell.files import disk_errors, intact, read_json, write_json


@dataclass(frozen=True)
class Failure:
    """Why a run could not be made: at which step, train being the first, and when (seconds since 1970)."""

    step: str
    reason: str
    time: float


class Claim:
    """The claim on a run; as a context, held inside it if it was free."""

    def __init__(self, study: Path, run: str) -> None:
        folder = study / ".claims"
        with disk_errors(folder):
            folder.mkdir(parents=True, exist_ok=True)
        self._lock = FileLock(folder / f"{run}.lock")
        self._note = folder / f"{run}.json"
        self.held = False

    def __enter__(self) -> Claim:
        try:
            self._lock.acquire(timeout=0)
            self.held = True
        except Timeout:
            pass
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.held:
            self._lock.release()
            self.held = False

    def taken(self) -> bool:
        """Whether anybody holds it."""
        with self:
            return not self.held

    def failed(self, step: str, reason: str) -> None:
        """Note a failure; only with the claim held."""
        write_json(self._note, asdict(Failure(step, reason, time.time())))

    def clear(self) -> None:
        """Forget an earlier failure."""
        self._note.unlink(missing_ok=True)

    def failure(self) -> Failure | None:
        """The failure that was noted last, if nothing has gone well since."""
        if not self._note.exists():
            return None
        with intact(self._note):
            return Failure(**read_json(self._note))
