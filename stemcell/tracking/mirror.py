"""Copies a run to MLflow while it is trained, from a thread that reads the run folder; training never waits for it."""

from __future__ import annotations

import sys
import threading
import time

from stemcell.tracking import store
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.replica import Replica

# Seconds between looks at the folder, the longest pause after failures, and the longest wait for the last look.
INTERVAL, LONGEST, FAREWELL = 2.0, 60.0, 30.0


class Mirror:
    """Keeps a run's copy in MLflow up to date until :meth:`finish`."""

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self._ending = threading.Event()
        self._complete = False
        self._warned = False
        self._thread = threading.Thread(target=self._run, name="stemcell-mlflow", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        # Imported here, since two threads importing large packages at once can meet half-made modules.
        import mlflow  # noqa: F401

        self._thread.start()

    def finish(self) -> bool:
        """Send the rest and the status on disk, as long as it takes up to FAREWELL seconds; whether all went."""
        self._ending.set()
        self._thread.join(timeout=FAREWELL)
        return self._complete

    def _run(self) -> None:
        replica: Replica | None = None
        pause, failures = 0.0, 0
        while not self._complete:
            ending = self._ending.wait(pause)
            try:
                if replica is None:
                    replica = Replica(self._folder)
                    replica.set_status(self._folder.status())
                replica.push()
                if ending:
                    replica.set_status(self._folder.status())
                self._complete = ending
                failures, pause = 0, INTERVAL
            except Exception as error:
                # Whatever it is (network, server, database, disk), training matters more, and sync mends it later.
                replica = None
                failures += 1
                # Once may be a busy database, which is not worth a word.
                if failures > 1:
                    self._warn(error)
                    if ending:
                        return
                pause = min(LONGEST, INTERVAL * 2**failures)
                if ending:
                    time.sleep(1)

    def _warn(self, error: Exception) -> None:
        if not self._warned:
            self._warned = True
            address = store.shown(store.tracking_uri())
            say(f"MLflow at {address} fails ({store.reason(error)}); the run goes on without it, and it is tried again")


def say(message: str) -> None:
    """Tell the user, on standard error."""
    print(f"stemcell: {message}", file=sys.stderr, flush=True)
