"""Main scores of runs: in tables as the paper has them, and their differences between models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from stemcell.comparing import statistics
from stemcell.comparing.sources import Source, Sources, short
from stemcell.comparing.statistics import Estimate
from stemcell.corpora.layers import LAYERS
from stemcell.tables import Cell, Table, measured
from stemcell.tasks import task as find_task
from stemcell.tasks.scoring import main_score

MTL = f"MTL-{len(LAYERS)}"
PERMUTATIONS = 2000


@dataclass(frozen=True)
class Difference:
    """How much better one model is than another at a task.

    Attributes:
        task: name.
        first, second: models; the first minus the second.
        seeds: that both have.
        effect: of the scores from 0 to 1.
        permuted: p-value of swapping the models' sentences.
    """

    task: str
    first: str
    second: str
    seeds: tuple[int, ...]
    effect: Estimate
    permuted: float


class Scores:
    """The scores of all runs, in the data and in bootstrap samples that are the same for all."""

    def __init__(self, sources: Sources, samples: int) -> None:
        self.sources, self.samples = sources, samples
        # Made once for a number of sentences.
        self._weights: Callable[[int], np.ndarray] = cache(lambda n: statistics.sentence_weights(n, samples))
        self._sampled: dict[tuple[str, str], np.ndarray] = {}

    def of(self, encoder: str, model: str, task: str) -> dict[int, np.ndarray]:
        """Scores of a model by seed, [1 + samples] each."""
        return {
            seed: self._run(run, task) for seed, run in self.sources.of(encoder, model).items() if task in run.tasks
        }

    def difference(self, encoder: str, first: str, second: str, task: str) -> Difference | None:
        """Between two models, over the seeds that both have; None if there are none."""
        one, other = self.of(encoder, first, task), self.of(encoder, second, task)
        seeds = tuple(seed for seed in one if seed in other)
        if not seeds:
            return None
        effect = statistics.difference(np.stack([one[s] for s in seeds]), np.stack([other[s] for s in seeds]))
        runs = [self.sources.of(encoder, model) for model in (first, second)]
        ours, theirs = ([by_seed[seed].counts[task] for seed in seeds] for by_seed in runs)
        permuted = statistics.permutation(ours, theirs, PERMUTATIONS)
        return Difference(task, first, second, seeds, effect, permuted)

    def _run(self, run: Source, task: str) -> np.ndarray:
        key = (run.folder.id, task)
        if key not in self._sampled:
            counts = run.counts[task]
            self._sampled[key] = statistics.sampled_scores(counts, self._weights(len(counts)))
        return self._sampled[key]


def pair(first: str, second: str) -> str:
    """The model that is trained for two tasks."""
    return "+".join(sorted((first, second), key=LAYERS.index)).upper()


def score(run: Source, task: str) -> float:
    """The main score, from 0 to 1."""
    return float(main_score(run.counts[task].sum(0)))


def joint_table(sources: Sources) -> Table | None:
    """Single tasks, pairs and all five, in the form of the paper's table 1: ``+NER`` is training with NER beside it."""
    rows: list[list[Cell]] = []
    for encoder in sources.encoders:
        models = {"STL": {task: task.upper() for task in LAYERS}}
        for other in LAYERS:
            models[f"+{other.upper()}"] = {task: pair(task, other) for task in LAYERS if task != other}
        models[MTL] = dict.fromkeys(LAYERS, MTL)
        rows += _rows(sources, encoder, models)
    return Table(f"Training tasks together ({_what(sources)})", _header(sources), rows) if rows else None


def pruning_table(sources: Sources) -> Table | None:
    """Pruned models beside those that they are to equal, and the heads they keep, as the paper's tables 2 and 3."""
    rows: list[list[Cell]] = []
    for encoder in sources.encoders:
        kinds = ("", "-SP", "-DP", "-DP-PER-TASK")
        models = {f"STL{kind}": {task: task.upper() + kind for task in LAYERS} for kind in kinds}
        models |= {MTL + kind: dict.fromkeys(LAYERS, MTL + kind) for kind in kinds}
        own = []
        for name, by_task in models.items():
            cells: list[Cell] = [short(encoder), name]
            for task in sources.tasks:
                runs = sources.of(encoder, by_task[task])
                cells += [measured([score(run, task) for run in runs.values()]), _heads(runs, task)]
            if any(cell is not None for cell in cells[2:]):
                own.append(cells)
        if any("P" in str(cells[1]).partition("-")[2] for cells in own):
            rows += own
    header = ["encoder", "model"] + [name for task in sources.tasks for name in (task.upper(), f"{task.upper()} heads")]
    return Table(f"Pruning heads ({_what(sources)}; heads kept)", header, rows) if rows else None


def runs_table(sources: Sources) -> Table:
    """Every run and what it scores."""
    rows: list[list[Cell]] = []
    for run in sources.runs:
        cells: list[Cell] = [run.name, short(run.encoder), run.model, run.seed if run.tasks else None]
        cells += [score(run, task) * 100 if task in run.tasks else None for task in sources.tasks]
        rows.append([*cells, run.folder.id])
    names = [task.upper() for task in sources.tasks]
    return Table("Runs", ["run", "encoder", "model", "seed", *names, "id"], rows)


def kept_heads(run: Source, task: str) -> np.ndarray | None:
    """The heads that a run keeps for a task, [layers, heads] booleans; None without gates."""
    return run.masks.get(task if run.per_task else "joint")


def task_pairs() -> list[tuple[str, str]]:
    """All pairs of tasks."""
    return list(combinations(LAYERS, 2))


def _rows(sources: Sources, encoder: str, models: dict[str, dict[str, str]]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for name, by_task in models.items():
        cells: list[Cell] = []
        for task in sources.tasks:
            runs = sources.of(encoder, by_task[task]).values() if task in by_task else ()
            cells.append(measured([score(run, task) for run in runs]))
        if any(cell is not None for cell in cells):
            rows.append([short(encoder), name, *cells])
    return rows


def _heads(runs: dict[int, Source], task: str) -> Cell:
    masks = [mask for run in runs.values() if (mask := kept_heads(run, task)) is not None]
    return measured([int(mask.sum()) for mask in masks], scale=1)


def _header(sources: Sources) -> list[str]:
    return ["encoder", "model", *(task.upper() for task in sources.tasks)]


def _what(sources: Sources) -> str:
    names = {"accuracy": "accuracy", "las": "LAS", "f1": "F1"}
    scores = ", ".join(f"{task.upper()} {names[find_task(task).main]}" for task in sources.tasks)
    seeds = max((len(sources.of(run.encoder, run.model)) for run in sources.runs if run.tasks), default=1)
    return f"{sources.split}: {scores}; per cent" + (f", mean ± deviation over up to {seeds} seeds" * (seeds > 1))
