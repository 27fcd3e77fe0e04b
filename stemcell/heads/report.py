"""Runs' maps of kept heads side by side: read, sorted by what was trained, compared, and as text."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from stemcell.corpora.layers import LAYERS
from stemcell.encoders.names import hub_name
from stemcell.errors import UserError
from stemcell.files import intact
from stemcell.heads.maps import JOINT, GateHistory, read_gates
from stemcell.heads.overlap import Consistency, Overlap, consistency, kept, layer_use, most, overlap
from stemcell.tracking.folder import find_run

NO_MATTER = {"seed", "out", "from_run", "experiment", "preset", "checkpoint_minutes", "gradient_checkpointing"}
"""Settings that may differ between runs of one model; a preset's own settings are all in the configuration too."""


@dataclass(frozen=True)
class PrunedRun:
    """A run, its name among those that are compared, and its gates through training."""

    name: str
    config: dict[str, Any]
    history: GateHistory

    @property
    def step(self) -> int:
        """The step that the final gates are from."""
        return self.history.steps[self.history.best]


@dataclass(frozen=True)
class HeadMap:
    """One set of final gates of one run.

    Attributes:
        run, set, tasks, seed: where it is from.
        gates: from 0 to 1, [layers, heads].
        mask: the heads that count as kept, of the same shape.
    """

    run: str
    set: str
    tasks: tuple[str, ...]
    seed: int
    gates: np.ndarray
    mask: np.ndarray

    @property
    def name(self) -> str:
        """The run, and the set if the run has several."""
        return self.run if self.set == JOINT else f"{self.run}:{self.set}"


@dataclass(frozen=True)
class Comparison:
    """Maps by what was trained, which is everything of a configuration but the seed (and what cannot matter).

    Attributes:
        groups: maps by label, such as ``pos`` or ``ner+con``; each seed once, ascending.
        repeated: names of maps that were left out, since a run of the same configuration and seed is there.
    """

    groups: dict[str, list[HeadMap]]
    repeated: list[str]

    def maps(self) -> list[HeadMap]:
        """All maps."""
        return [each for group in self.groups.values() for each in group]

    def masks(self) -> dict[str, np.ndarray]:
        """The heads that most runs (more than half) of each group keep."""
        return {label: most([each.mask for each in maps]) for label, maps in self.groups.items()}

    def between_groups(self) -> dict[tuple[str, str], Overlap]:
        """Each pair of groups, by the heads that most of their runs keep."""
        return {(a, b): overlap(x, y) for (a, x), (b, y) in combinations(self.masks().items(), 2)}

    def between_runs(self) -> dict[tuple[str, str], Overlap]:
        """Each pair of single maps, within groups and across."""
        return {(a.name, b.name): overlap(a.mask, b.mask) for a, b in combinations(self.maps(), 2)}

    def seeds(self) -> dict[str, Consistency]:
        """What the runs of each group that has several agree on."""
        return {
            label: consistency([each.mask for each in maps]) for label, maps in self.groups.items() if len(maps) > 1
        }


def read_runs(names: Sequence[str]) -> list[PrunedRun]:
    """The gates of runs; a run that is named twice is there once.

    Raises:
        UserError: if one is no pruned run, or they are not of one encoder.
    """
    # Resolved, so that `.`, `..` and links are known again and have names.
    folders = {run.path.resolve(): run for run in map(find_run, names)}
    short = [path.name for path in folders]
    if len(set(short)) < len(short):
        common = os.path.commonpath([path.parent for path in folders])
        short = [os.path.relpath(path, common) for path in folders]
    runs = []
    encoders: dict[tuple[str, tuple[int, ...]], Path] = {}
    for folder, name in zip(folders.values(), short, strict=True):
        history = read_gates(folder)
        with intact(folder.path / "run.json"):
            config = folder.config
            encoder = hub_name(config["encoder"])
            _ = config["seed"], ",".join(config["tasks"])
        encoders.setdefault((encoder, next(iter(history.values.values())).shape[1:]), folder.path)
        runs.append(PrunedRun(name, config, history))
    if len(encoders) > 1:
        (first, one), (second, other) = list(encoders.items())[:2]
        raise UserError(
            f"{one} and {other} are not of one encoder ({_encoder(*first)}; {_encoder(*second)}), so that their heads "
            "have nothing to do with each other; give runs of the same encoder"
        )
    return runs


def head_maps(run: PrunedRun, threshold: float) -> list[HeadMap]:
    """The final maps of a run, a set each; a head counts as kept where its gate exceeds the threshold."""
    tasks, seed = tuple(run.config["tasks"]), run.config["seed"]
    final = run.history.final()
    return [HeadMap(run.name, name, tasks, seed, gates, kept(gates, threshold)) for name, gates in final.items()]


def compare(runs: Sequence[PrunedRun], threshold: float) -> Comparison:
    """Sort the maps of runs by what was trained.

    Single tasks come first. Labels are the tasks; where several groups have the same, what is different in their
    settings is added.
    """
    groups: dict[tuple[str, str], list[HeadMap]] = {}
    settings: dict[tuple[str, str], Mapping[str, Any]] = {}
    repeated = []
    for run in runs:
        matters = {name: value for name, value in run.config.items() if name not in NO_MATTER}
        for each in head_maps(run, threshold):
            key = (_label(each), json.dumps(matters, sort_keys=True))
            settings[key] = matters
            group = groups.setdefault(key, [])
            if any(other.seed == each.seed for other in group):
                repeated.append(each.name)
            else:
                group.append(each)
    labelled = {}
    for key, group in sorted(groups.items(), key=lambda item: _place(item[1][0])):
        rivals = [settings[other] for other in groups if other[0] == key[0]]
        differing = [name for name in settings[key] if len({str(rival.get(name)) for rival in rivals}) > 1]
        suffix = ", ".join(f"{name.replace('_', '-')} {_short(settings[key][name])}" for name in differing)
        labelled[f"{key[0]} ({suffix})" if suffix else key[0]] = sorted(group, key=lambda each: each.seed)
    return Comparison(labelled, repeated)


def terminal_map(gates: np.ndarray, mask: np.ndarray) -> str:
    """Gates [layers, heads] as lines of text: a row a layer, the last one first, and its kept heads at the end.

    ``██`` is an open gate, ``▓▓ ▒▒ ░░`` are kept but partly open ones, ``·`` is a head that is not kept.
    """
    layers, heads = gates.shape
    lines = ["layer " + "".join(f"{head + 1:>3}" for head in range(heads)) + "   kept"]
    for layer in reversed(range(layers)):
        cells = "".join(_shade(gate, keep) for gate, keep in zip(gates[layer], mask[layer], strict=True))
        lines.append(f"{layer + 1:>5} {cells} {layer_use(mask)[layer]:>6}")
    return "\n".join(lines)


def run_text(run: PrunedRun, threshold: float) -> str:
    """A run's maps as text."""
    config = run.config
    when = f"step {run.step:,} (evaluation {run.history.best + 1} of {len(run.history.steps)})"
    blocks = [f"{run.name} · {','.join(config['tasks'])} · {config['prune']} · seed {config['seed']} · {when}"]
    for each in head_maps(run, threshold):
        count, size = int(each.mask.sum()), each.mask.size
        blocks.append(terminal_map(each.gates, each.mask))
        blocks.append(f"{each.set}: {count} of {size} heads kept ({count / size:.1%})\n")
    return "\n".join(blocks)


def comparison_text(comparison: Comparison) -> str:
    """The overlap of tasks and the consistency of seeds as tables, as far as there is something to compare."""
    parts = []
    if pairs := comparison.between_groups():
        heads = next(iter(pairs.values())).heads
        several = any(len(maps) > 1 for maps in comparison.groups.values())
        of = ", by the heads that most runs of each keep" if several else ""
        rows = [
            [f"{a} – {b}", pair.first, pair.second, pair.both, f"{pair.expected:.1f}", f"{pair.at_least:.2g}",
             f"{pair.jaccard:.2f}"]
            for (a, b), pair in pairs.items()
        ]  # fmt: skip
        title = f"Overlap among {heads} heads{of}; p: at least as many by chance"
        parts.append(_table(title, ["pair", "kept", "kept", "both", "expected", "p", "Jaccard"], rows))
    if seeds := comparison.seeds():
        rows = [
            [label, ",".join(str(each.seed) for each in comparison.groups[label]), f"{found.jaccard:.2f}",
             found.by_all, f"{found.all_expected:.1f}", found.by_none, f"{found.none_expected:.1f}"]
            for label, found in seeds.items()
        ]  # fmt: skip
        header = ["", "seeds", "Jaccard", "kept by all", "expected", "by none", "expected"]
        parts.append(_table("Consistency across seeds; Jaccard: mean of all pairs of runs", header, rows))
    return "\n\n".join(parts)


def _label(each: HeadMap) -> str:
    whole = f"MTL-{len(each.tasks)}" if len(each.tasks) == len(LAYERS) else "+".join(each.tasks)
    return whole if each.set == JOINT else f"{each.set} of {whole}"


def _place(each: HeadMap) -> tuple:
    order = [LAYERS.index(task) for task in each.tasks]
    return len(order), order, each.set != JOINT, each.tasks.index(each.set) if each.set in each.tasks else 0


def _encoder(name: str, shape: tuple[int, ...]) -> str:
    return f"{name} of {shape[0]} layers x {shape[1]} heads"


def _short(value: Any) -> str:
    # Of a corpus or an encoder the folder's name says enough.
    return Path(value).name if isinstance(value, str) and "/" in value else str(value)


def _shade(gate: float, keep: bool) -> str:
    if not keep:
        return "  ·"
    return " " + 2 * ("█" if gate >= 1 else "▓" if gate >= 2 / 3 else "▒" if gate >= 1 / 3 else "░")


def _table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    cells = [list(header), *([str(value) for value in row] for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(header))]
    lines = []
    for first, *others in cells:
        figures = (cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))
        lines.append("  ".join([first.ljust(widths[0]), *figures]))
    return "\n".join([title, lines[0], "─" * len(lines[0]), *lines[1:]])
