"""The machine's state while training, under the names that MLflow's page for system metrics expects."""

from __future__ import annotations

import contextlib
import sys
import threading
from pathlib import Path

from stemcell.errors import UserError
from stemcell.tracking.journal import Journal, entries

# Seconds between samples, as MLflow's own monitor takes them.
INTERVAL = 10.0
_MB = 1e6


class Sampler:
    """Takes a sample every INTERVAL seconds on a thread of its own, numbered on from what the file has."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start, once: with the first step, so that a run without one leaves no samples."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="stemcell-system", daemon=True)
            self._thread.start()

    def stop(self) -> None:
        """Stop; what is written stays."""
        self._stopped.set()
        if self._thread:
            self._thread.join(timeout=5)

    def _run(self) -> None:
        sample()  # the processor's load is that since the call before
        try:
            number = max((entry.step for entry in entries(self._path)), default=-1)
            journal = Journal(self._path)
            try:
                while not self._stopped.wait(INTERVAL if number >= 0 else 0.5):
                    number += 1
                    journal.append(number, sample())
            finally:
                journal.close()
        except (UserError, OSError):
            # A full disk stops training with its own message; samples are not worth one.
            return


def sample() -> dict[str, float]:
    """The machine now: per cent, megabytes, and of this process its own memory."""
    import psutil

    memory = psutil.virtual_memory()
    values = {
        "system/cpu_utilization_percentage": psutil.cpu_percent(),
        "system/system_memory_usage_megabytes": memory.used / _MB,
        "system/system_memory_usage_percentage": memory.percent,
        "system/process_memory_megabytes": psutil.Process().memory_info().rss / _MB,
    }
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_initialized():
        for index in range(torch.cuda.device_count()):
            free, total = torch.cuda.mem_get_info(index)
            values[f"system/gpu_{index}_memory_usage_megabytes"] = (total - free) / _MB
            values[f"system/gpu_{index}_memory_usage_percentage"] = 100 * (total - free) / total
            # Needs NVIDIA's management library, which a PyTorch install does not bring.
            with contextlib.suppress(Exception):
                values[f"system/gpu_{index}_utilization_percentage"] = float(torch.cuda.utilization(index))
    return values
