"""One writer a run: a lock that the kernel frees when its holder dies, however it dies."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from stemcell.errors import UserError
from stemcell.files import disk_errors

if TYPE_CHECKING:
    from filelock import BaseFileLock


class RunLock:
    """The lock of one run folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: BaseFileLock | None = None

    def hold(self) -> None:
        """Take the lock; again is once.

        Raises:
            UserError: if another process has it.
        """
        if self._lock:
            return
        from filelock import Timeout

        lock = self._make()
        try:
            with disk_errors(self._folder):
                lock.acquire(timeout=0)
        except Timeout:
            raise UserError(f"{self._folder}: another process is writing this run; wait for it or stop it") from None
        self._lock = lock

    def release(self) -> None:
        """Give it back, if held."""
        if self._lock:
            self._lock.release()
            self._lock = None

    def held(self) -> bool:
        """Whether this process or another holds it."""
        if self._lock:
            return True
        if not os.access(self._folder, os.W_OK):
            return False
        from filelock import Timeout

        try:
            with self._make().acquire(timeout=0):
                return False
        except Timeout:
            return True

    def _make(self) -> BaseFileLock:
        from filelock import FileLock

        return FileLock(self._folder / ".lock")
