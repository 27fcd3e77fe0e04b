"""Which weights a run's results are of: a run that was trained further has others than those that were scored.

``artifacts/weights/NAME.json`` is written with results of that name, such as ``sentences-test``.
"""

from __future__ import annotations

import hashlib
import json

from stemcell.files import intact, read_json
from stemcell.tracking.folder import RunFolder


def mark(run: RunFolder, name: str) -> None:
    """Note that results are of the weights that the run has now."""
    run.artifact(f"weights/{name}.json", {"sha256": _weights(run)})


def stale(run: RunFolder, name: str) -> bool:
    """Whether results are of other weights than the run has now; not where an older version did not note it."""
    path = run.path / "artifacts" / "weights" / f"{name}.json"
    if not path.is_file():
        return False
    with intact(path):
        now = _weights(run)
        # Weights that are gone are for whoever needs them to miss.
        return bool(now and read_json(path)["sha256"] != now)


def _weights(run: RunFolder) -> str:
    """A digest of the best checkpoint, by its pointer's hashes; empty where there is none."""
    pointer = run.path / "checkpoints" / "best.json"
    if not pointer.is_file():
        return ""
    with intact(pointer):
        files = read_json(pointer).get("files", {})
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()
