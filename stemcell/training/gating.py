"""What training says and keeps of its gates (docs/method.md, section 5)."""

from __future__ import annotations

import io
import json
from typing import Any

import numpy as np

from stemcell.config import FIELDS, RunConfig
from stemcell.figures.frames import caption, film_of, frame
from stemcell.heads.maps import KEPT, TABLE_COLUMNS, GateHistory, matrix, read_gates, table_rows
from stemcell.model import MultiTaskModel
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.tracker import Tracker
from stemcell.training.display import say

# Fields that say how gates are trained.
GATE_FIELDS = (
    "gates", "l0_penalty", "overlap_penalty", "gate_lr", "gate_temperature", "gate_low", "gate_high", "gate_open",
    "balance_penalty",
)  # fmt: skip


def without_effect(config: RunConfig) -> list[str]:
    """A warning where fields are set that matter to gates alone, and there are none that they could matter to."""
    if config.prune == "no":
        names, what = list(GATE_FIELDS), "give --prune"
    elif config.gates == "joint":
        names, what = ["overlap_penalty"], "give --gates per-task"
    else:
        return []
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(config, name) != FIELDS[name].default]
    return [f"WARNING: {', '.join(given)} without effect; {what}, or leave it out"] if given else []


def gate_values(model: MultiTaskModel) -> dict[str, np.ndarray]:
    """A model's evaluation gates by set, [layers, heads], at the heads' original places."""
    assert model.gates is not None
    encoder = model.encoder
    return {
        name: matrix(values.tolist(), encoder.kept_heads, encoder.hidden // encoder.head_size)
        for name, values in model.gates.values().items()
    }


def log_gates(tracker: Tracker, step: int, model: MultiTaskModel) -> None:
    """Keep the gates of an evaluation: counts as metrics, all as a table, a picture as a frame of the film."""
    values = gate_values(model)
    metrics: dict[str, float] = {}
    for name, gates in values.items():
        kept = int((gates > KEPT).sum())
        place = "gates" if len(values) == 1 else f"gates/{name}"
        metrics |= {f"{place}/open_heads": kept, f"{place}/open_share": kept / gates.size}
        metrics[f"{place}/mean"] = float(gates.mean())
        of = "" if len(values) == 1 else f" of {name.upper()}"
        if kept:
            say(f"heads{of} kept: {kept} of {gates.size}")
        else:
            say(f"WARNING: every head{of} is closed: the encoder is a bag of embeddings; lower --l0-penalty")
    tracker.metrics(step, metrics)
    tracker.table(f"gates/step-{step:06d}", TABLE_COLUMNS, table_rows(step, values))
    tracker.artifact(f"gates/step-{step:06d}.png", frame(values, caption(values, step)))


def keep_gates(run: RunFolder) -> dict[str, Any]:
    """Write a finished run's gates as ``gates.npz``, ``gates.json`` and a film; returns what a report says of them."""
    history = read_gates(run)
    final = history.final()
    arrays: dict[str, Any] = {"steps": np.array(history.steps)}
    for name, values in history.values.items():
        arrays |= {name: final[name], f"{name}.history": values}
    content = io.BytesIO()
    np.savez(content, **arrays)
    run.artifact("gates.npz", content.getvalue())
    record = _record(history)
    run.artifact("gates.json", json.dumps(record, indent=1))
    run.artifact("gates/film.png", film_of(history))
    return {name: {"kept": part["kept"], "of": part["of"]} for name, part in record["sets"].items()}


def _record(history: GateHistory) -> dict[str, Any]:
    sets = {}
    for name, gates in history.final().items():
        kept = gates > KEPT
        sets[name] = {
            "kept": int(kept.sum()),
            "of": kept.size,
            "gates": [[round(float(gate), 6) for gate in row] for row in gates],
            "kept_heads": [[int(head) + 1 for head in np.flatnonzero(row)] for row in kept],
        }
    return {
        "step": history.steps[history.best],
        "threshold": KEPT,
        "numbering": "a row a layer; layers and heads count from 1",
        "sets": sets,
    }
