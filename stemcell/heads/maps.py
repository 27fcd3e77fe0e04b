"""Maps of gates: matrices of layers x heads, as training leaves them in the run folder."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from stemcell.errors import UserError
from stemcell.files import intact, read_json
from stemcell.tracking.folder import RunFolder

TABLE_COLUMNS = ["step", "set", "layer", "head", "gate", "kept"]
JOINT = "joint"
"""Name of the one set of gates that all tasks share."""
KEPT = 1e-3
"""A head counts as kept where its evaluation gate exceeds this (docs/method.md, section 5)."""


@dataclass(frozen=True)
class GateHistory:
    """A run's evaluation gates at each of its evaluations.

    Attributes:
        steps: steps of training done at each evaluation, ascending.
        values: gates by set (``joint``, or a task), [evaluations, layers, heads]; 0 where a head was removed before.
        best: which evaluation the kept model is from.
    """

    steps: list[int]
    values: dict[str, np.ndarray]
    best: int

    def final(self) -> dict[str, np.ndarray]:
        """The kept model's gates by set, [layers, heads]."""
        return {name: history[self.best] for name, history in self.values.items()}


def matrix(gates: Sequence[float], kept_heads: Sequence[Sequence[int]], width: int) -> np.ndarray:
    """Gates in a row as a matrix [layers, width], at their heads' original places; removed heads get 0."""
    values = np.zeros((len(kept_heads), width))
    places = [(layer, head) for layer, heads in enumerate(kept_heads) for head in heads]
    for (layer, head), gate in zip(places, gates, strict=True):
        values[layer, head] = gate
    return values


def table_rows(step: int, values: Mapping[str, np.ndarray]) -> list[list]:
    """Rows of ``TABLE_COLUMNS``; layers and heads count from 1."""
    return [
        [step, name, layer + 1, head + 1, float(gate), bool(gate > KEPT)]
        for name, gates in values.items()
        for (layer, head), gate in np.ndenumerate(gates)
    ]


def read_gates(run: RunFolder) -> GateHistory:
    """The gates of a pruned run, finished or not.

    Raises:
        UserError: if the run has no gates, was not evaluated yet, or a file is damaged.
    """
    if run.config.get("prune", "no") == "no":
        raise UserError(f"{run.path}: trained without gates; train with --prune dynamic or --prune static")
    found = {}
    for path in sorted((run.path / "tables" / "gates").glob("step-*.json")):
        if match := re.fullmatch(r"step-(\d+)", path.stem):
            found[int(match[1])] = path
    # Steps of an interrupted epoch that was trained again otherwise cannot be: a resumed run takes the same steps.
    if not found:
        raise UserError(f"{run.path}: no evaluation yet, so no gates to show; train on with --resume")
    steps = sorted(found)
    histories: dict[str, list[np.ndarray]] = {}
    for evaluation, step in enumerate(steps, 1):
        with intact(found[step]):
            _, rows = run.read_table(f"gates/{found[step].stem}")
            shape = max(row[2] for row in rows), max(row[3] for row in rows)
            for name in dict.fromkeys(row[1] for row in rows):
                values = np.full(shape, np.nan)
                for _, own, layer, head, gate, _ in rows:
                    if own == name:
                        values[layer - 1, head - 1] = gate
                if not ((values >= 0) & (values <= 1)).all():
                    raise ValueError(f"{name}: not every head has a gate from 0 to 1")
                histories.setdefault(name, []).append(values)
            if any(len(history) != evaluation or history[0].shape != shape for history in histories.values()):
                raise ValueError("other sets, layers or heads than at other evaluations")
    pointer = run.path / "checkpoints" / "best.json"
    best = len(steps) - 1
    if pointer.exists():
        with intact(pointer):
            best = steps.index(read_json(pointer)["step"])
    return GateHistory(steps, {name: np.stack(history) for name, history in histories.items()}, best)
