"""What heads know of labels before and after training, side by side, and H4 of docs/method.md, section 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from stemcell import published
from stemcell.comparing import statistics
from stemcell.comparing.probes import Found, read_baselines
from stemcell.comparing.scores import MTL, pair
from stemcell.comparing.sources import PRETRAINED, Source, Sources, short
from stemcell.comparing.statistics import LEVEL, Estimate, estimate
from stemcell.comparing.verdicts import CONTRADICTED, NOT_ENOUGH, SUPPORTED, Effect, Verdict, listed, p_cell
from stemcell.corpora.layers import LAYERS
from stemcell.errors import UserError
from stemcell.tables import Cell, Table, measured

MODES = ("link", "train-split", "same-split")
"""The first that all runs have is the one for verdicts: of centroids the unbiased one."""
LEAST = 10
"""Items that a label must have for verdicts."""


@dataclass(frozen=True)
class Gains:
    """How much better the best heads of one model are than those of another, by label.

    Attributes:
        task, mode: what was asked.
        model: minus STL.
        labels, count: of both, [labels].
        score, selectivity: by seed, [seeds, 1 + samples, labels], in the data and in samples of sentences.
    """

    task: str
    mode: str
    model: str
    labels: list[str]
    count: np.ndarray
    score: np.ndarray
    selectivity: np.ndarray


def modes(sources: Sources, encoder: str, task: str) -> list[str]:
    """The modes that any run of an encoder was probed in for a task."""
    runs = [run for run in sources.runs if run.encoder == encoder]
    return [mode for mode in MODES if any((task, mode) in run.probes for run in runs)]


def gains(sources: Sources, encoder: str, model: str, task: str, mode: str) -> Gains | None:
    """Of a model against STL, over the seeds that both have; None if there are none.

    Raises:
        UserError: if runs were probed with other numbers of bootstrap samples, or of other items.
    """
    one, other = sources.of(encoder, model), sources.of(encoder, task.upper())
    pairs = [
        (one[seed], other[seed])
        for seed in one
        if seed in other and all((task, mode) in run.probes for run in (one[seed], other[seed]))
    ]
    if not pairs:
        return None
    runs = [run for both in pairs for run in both]
    labels = sorted(set.intersection(*(set(run.probes[task, mode].labels) for run in runs)))
    if not labels:
        return None
    first = _aligned(runs, task, mode, labels)
    differences = {}
    for name in ("score", "selectivity"):
        values = np.stack([getattr(found, name) for found in first])
        differences[name] = values[0::2] - values[1::2]
    return Gains(task, mode, model, labels, first[0].count, **differences)


def gains_table(found: Gains, encoder: str) -> Table:
    """A row a label, the most frequent first, with corrections for all labels of the table; in points."""
    own = statistics.means_over_seeds(found.score)
    selective = 100 * found.selectivity[:, 0].mean(0)
    corrected, discovered = statistics.holm(own.p.tolist()), statistics.false_discovery(own.p.tolist())
    rows: list[list[Cell]] = []
    for place in np.argsort(-found.count, kind="stable"):
        rows.append(
            [found.labels[place], int(found.count[place]), *(float(100 * part[place]) for part in own[:3]),
             p_cell(float(own.p[place])), p_cell(corrected[place]), p_cell(discovered[place]),
             float(selective[place])]
        )  # fmt: skip
    header = ["label", "items", "gain", "low", "high", "p", "p Holm", "p BH", "gain of selectivity"]
    title = f"{found.task.upper()}, {found.mode}: best head in {found.model} − in STL, {short(encoder)}"
    return Table(title, header, rows)


def gains_frame(found: Gains) -> pd.DataFrame:
    """The gains as figures have them (:func:`stemcell.figures.gains.write_gains`), scores from 0 to 1."""
    own = statistics.means_over_seeds(found.score)
    values = {"gain": own.value, "low": own.low, "high": own.high}
    return pd.DataFrame(
        {"task": found.task, "mode": found.mode, "model": found.model, "label": found.labels, "count": found.count}
        | values
    )


def scores_table(sources: Sources, encoder: str, task: str, mode: str, with_published: bool = False) -> Table | None:
    """Best heads of each label in the form of the paper's tables 7 to 11: pretrained, STL, pairs, MTL-5."""
    models = {"pretrained": PRETRAINED, "STL": task.upper()}
    models |= {f"+{other.upper()}": pair(task, other) for other in LAYERS if other != task}
    models[MTL] = MTL
    columns: dict[str, list[Found]] = {}
    for name, model in models.items():
        runs = sources.of(encoder, model).values()
        if own := [run.probes[task, mode] for run in runs if (task, mode) in run.probes]:
            columns[name] = own
    if not columns:
        return None
    floor = baselines(sources, encoder)
    counts = {label: int(n) for own in columns.values() for one in own for label, n in zip(one.labels, one.count)}  # noqa: B905
    paper = published.probes(encoder, task) if with_published else None
    told = [m for m in paper.models if any(m in row for row in paper.scores.values())] if paper else []
    rows: list[list[Cell]] = []
    for label in sorted(counts, key=lambda label: (-counts[label], label)):
        cells: list[Cell] = [label, counts[label]]
        for own in columns.values():
            cells.append(measured([one.score[0, one.labels.index(label)] for one in own if label in one.labels]))
        cells += [100 * value for value in floor.get((task, mode, label), (np.nan, np.nan))]
        if paper:
            cells += [paper.scores.get(label, {}).get(model) for model in told]
        rows.append(cells)
    mark = ", faulty" if paper and paper.fault else ""
    header = ["label", "items", *columns, "baseline", "untrained", *(f"{model} (published{mark})" for model in told)]
    simple = "the best fixed offset" if mode == "link" else "the most frequent label"
    notes = [f"Baseline: {simple}; untrained: the best head of encoders with random weights, where that was probed."]
    if paper:
        notes.append(
            "Published numbers are of OntoNotes 5 test" + (f", and faulty: {paper.fault}." if paper.fault else ".")
        )
    return Table(
        f"{task.upper()}, {mode}: best head of each label, per cent, {short(encoder)}", header, rows, notes=notes
    )


def baselines(sources: Sources, encoder: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """An encoder's, by task, mode and label; of its probes as it is or, where there are none, of any others."""
    probed = [run for run in sources.runs if run.encoder == encoder and run.probes]
    found: dict[tuple[str, str, str], tuple[float, float]] = {}
    for run in sorted(probed, key=lambda run: bool(run.tasks)):
        found = {**read_baselines(run.folder, sources.split), **found}
    return found


def gains_verdict(sources: Sources, encoder: str) -> Verdict:
    """H4, over the labels of all tasks that have at least :data:`LEAST` items."""
    found: dict[str, Gains] = {}
    for task in LAYERS:
        for mode in modes(sources, encoder, task):
            if task not in found and (own := gains(sources, encoder, MTL, task, mode)):
                found[task] = own
    tables = [gains_table(own, encoder) for own in found.values()]
    if not found:
        return Verdict("H4", encoder, NOT_ENOUGH, f"No seed of {MTL} and STL was probed (stemcell probe RUN).")
    parts = {task: below(own) for task, own in found.items()}
    whole = below(*found.values())
    labels = sum(int((own.count >= LEAST).sum()) for own in found.values())
    lower, higher = _beyond_chance(list(found.values()))
    reason = (
        f"Of {labels} labels with at least {LEAST} items, {_share(whole)} are below STL; after Holm's correction "
        f"{lower} are below it and {higher} above it beyond chance."
    )
    effects = [Effect("all labels", whole), *(Effect(task.upper(), own) for task, own in parts.items())]
    missing = [task for task in LAYERS if task not in found]
    single = [task for task, own in found.items() if len(own.score) < 2]
    if missing or single or np.isnan(whole.low):
        word = NOT_ENOUGH
        told = [f"No seed of {MTL} and STL was probed for {listed(missing)}."] if missing else []
        told += [f"One seed only for {listed(single)}."] if single else []
        reason = " ".join([*(told or ["Probed without bootstrap samples."]), reason])
    elif whole.low > 0.5:
        word = SUPPORTED
    elif whole.high < 0.5:
        word = CONTRADICTED
    else:
        word, reason = NOT_ENOUGH, f"The interval includes one half. {reason}"
    used = ", ".join(f"{task.upper()} {own.mode}" for task, own in found.items())
    notes = [f"Modes: {used}.", *_above_baselines(sources, encoder, found)]
    return Verdict("H4", encoder, word, reason, tables, effects, "share", 0.5, notes)


def below(*found: Gains) -> Estimate:
    """The share of labels with enough items whose gain is below 0, mean over seeds; equal ones count half."""
    gained = _enough(found)
    if not gained.size:
        return estimate(np.full(1, np.nan))
    return statistics.mean_over_seeds(((gained < 0) + 0.5 * (gained == 0)).mean(2))


def _above_baselines(sources: Sources, encoder: str, found: Mapping[str, Gains]) -> list[str]:
    """How many labels' best heads know more than what needs no knowledge, before and after joint training."""
    floor = baselines(sources, encoder)
    said = []
    for model in ("STL", MTL):
        above = labels = 0
        for task, own in found.items():
            runs = sources.of(encoder, task.upper() if model == "STL" else model).values()
            probed = [run.probes[task, own.mode] for run in runs if (task, own.mode) in run.probes]
            for label, count in zip(own.labels, own.count, strict=True):
                bars = [bar for bar in floor.get((task, own.mode, label), ()) if bar == bar]
                scores = [each.score[0, each.labels.index(label)] for each in probed if label in each.labels]
                if count >= LEAST and bars and scores:
                    labels += 1
                    above += bool(np.mean(scores) > max(bars))
        if labels:
            said.append(f"{above} of {labels} in {model}")
    return (
        [f"Labels whose best head is above the baseline and the untrained encoder: {'; '.join(said)}."] if said else []
    )


def _beyond_chance(found: Sequence[Gains]) -> tuple[int, int]:
    """Labels below and above STL after correction for all of them."""
    own = statistics.means_over_seeds(_enough(found))
    sure = np.array(statistics.holm(own.p.tolist())) < LEVEL
    return int((sure & (own.value < 0)).sum()), int((sure & (own.value > 0)).sum())


def _enough(found: Sequence[Gains]) -> np.ndarray:
    """Gains of all labels that have enough items, over the seeds that all have, [seeds, 1 + samples, labels]."""
    seeds, samples = (min(own.score.shape[axis] for own in found) for axis in (0, 1))
    return np.concatenate([own.score[:seeds, :samples, own.count >= LEAST] for own in found], axis=2)


def _aligned(runs: list[Source], task: str, mode: str, labels: list[str]) -> list[Found]:
    """Probes of runs with the same labels in the same order."""
    aligned = []
    for run in runs:
        own = run.probes[task, mode]
        order = [own.labels.index(label) for label in labels]
        aligned.append(Found(labels, own.count[order], own.score[:, order], own.selectivity[:, order]))
    first, name = aligned[0], runs[0].folder.path
    for run, own in zip(runs, aligned, strict=True):
        if own.score.shape != first.score.shape:
            raise UserError(f"{name} and {run.folder.path} were probed with other numbers of samples; probe both alike")
        if (own.count != first.count).any():
            raise UserError(f"{name} and {run.folder.path} were probed on other items of {task}; probe both alike")
    return aligned


def _share(own: Estimate) -> str:
    return f"{own.value:.0%} ({own.low:.0%} to {own.high:.0%})" if own.low == own.low else f"{own.value:.0%}"
