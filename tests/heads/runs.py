"""Small pruned runs, as training leaves them, without training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stemcell.files import write_json
from stemcell.heads.maps import TABLE_COLUMNS, table_rows
from stemcell.tracking.folder import RunFolder


def pruned(
    path: Path, history: Mapping[int, Mapping[str, np.ndarray]], tasks: Sequence[str] = ("pos",), seed: int = 1,
    best: int | None = None, **config: Any,
) -> RunFolder:  # fmt: skip
    """A finished run with these gates by step and set; its best model is from the last step, or from ``best``."""
    values = {"encoder": "tiny-bert", "tasks": list(tasks), "seed": seed, "prune": "dynamic", "l0_penalty": 0.01}
    run = RunFolder.create(path, {**values, "out": str(path), **config}, {})
    for step, sets in history.items():
        run.table(f"gates/step-{step:06d}", TABLE_COLUMNS, table_rows(step, sets))
    write_json(path / "checkpoints" / "best.json", {"step": max(history) if best is None else best})
    run.set_status("FINISHED")
    run.release()
    return run


def gates(*rows: Sequence[float]) -> dict[str, np.ndarray]:
    """One set of gates; a row a layer, the first layer first."""
    return {"joint": np.array(rows, float)}
