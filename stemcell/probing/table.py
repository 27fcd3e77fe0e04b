"""Probes as tables: every cell in long form, and of every label the best head and what it is to be compared with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

COLUMNS = [
    "task", "label", "layer", "head", "mode", "count", "score", "low", "high", "control", "selectivity",
]  # fmt: skip
LABEL_COLUMNS = [
    "task", "label", "mode", "count", "controlled",
    "best_layer", "best_head", "best_score", "best_low", "best_high", "best_is_best",
    "selective_layer", "selective_head", "selective_score", "selective_control", "best_selectivity",
    "selective_low", "selective_high", "selective_is_best",
    "baseline", "baseline_score", "baseline_selectivity", "adjacent_score", "adjacent_selectivity",
    "untrained_score", "untrained_deviation", "untrained_selectivity",
]  # fmt: skip
RANK_COLUMNS = [
    "task", "label", "mode", "by", "rank", "layer", "head", "score", "low", "high", "control", "selectivity",
    "selectivity_low", "selectivity_high", "is_best",
]  # fmt: skip
WHOLE = ["count", "controlled", "best_layer", "best_head", "selective_layer", "selective_head"]
RANKS = 3
"""Heads that are named for each label."""


@dataclass(frozen=True)
class Scores:
    """One task's probe in one mode, over its labels that occur; NaN where a head is missing or closed.

    Attributes:
        task: name.
        mode: ``link``, ``same-split`` or ``train-split``.
        labels: those that occur, sorted.
        count: items, [labels].
        controlled: links that have a control; of tags, the words that are given the label at random; [labels].
        score: [1 + samples, labels, layers, heads]; the first is the data as it is, the others are bootstrap samples.
        control: [labels, layers, heads], NaN without.
        selectivity: [1 + samples, labels, layers, heads], NaN without.
        baselines: what the best head is compared with.
    """

    task: str
    mode: str
    labels: Sequence[str]
    count: np.ndarray
    controlled: np.ndarray
    score: np.ndarray
    control: np.ndarray
    selectivity: np.ndarray
    baselines: Baselines

    def best(self) -> tuple[np.ndarray, np.ndarray]:
        """Score and selectivity of each label's best head, [1 + samples, labels] each; NaN where there is none."""
        return _highest(self.score), _highest(self.selectivity)


@dataclass(frozen=True)
class Baselines:
    """What needs no knowledge: how well it does on each label; NaN where there is no such thing.

    Attributes:
        name: in words, by label.
        score, selectivity: of it, [labels].
        adjacent: score and selectivity of a head that looks at the next word, [2, labels]; as either direction counts,
            it is the head that looks at the previous or at the nearest one too.
        untrained: score and selectivity of the best head of encoders with random weights, [seeds, 2, labels].
    """

    name: Sequence[str]
    score: np.ndarray
    selectivity: np.ndarray
    adjacent: np.ndarray
    untrained: np.ndarray


def cells(scores: Sequence[Scores]) -> pd.DataFrame:
    """A row of :data:`COLUMNS` for each label, layer and head (from 1).

    ``low`` and ``high`` bound the score's 95% interval, by percentiles of the bootstrap over sentences; where heads
    are missing or closed, all values but the count are NaN.
    """
    return pd.concat([_cells(own) for own in scores], ignore_index=True)


def _cells(own: Scores) -> pd.DataFrame:
    _, labels, layers, heads = own.score.shape
    label, layer, head = (index.ravel() for index in np.indices((labels, layers, heads)))
    low, high = _bounds(own.score)
    return pd.DataFrame(
        {
            "task": own.task,
            "label": np.array(own.labels, object)[label],
            "layer": layer + 1,
            "head": head + 1,
            "mode": own.mode,
            "count": own.count.astype(int)[label],
            "score": own.score[0].ravel(),
            "low": low.ravel(),
            "high": high.ravel(),
            "control": own.control.ravel(),
            "selectivity": own.selectivity[0].ravel(),
        },
        columns=COLUMNS,
    )


def ranks(scores: Sequence[Scores]) -> pd.DataFrame:
    """A row of :data:`RANK_COLUMNS` for each of the best three heads of each label, by score and by selectivity.

    Of equal heads the first comes first. ``is_best`` is the share of bootstrap samples in which a head is the best of
    all: the probability that it is, as far as the text can tell.
    """
    rows = [row for own in scores for row in _ranks(own)]
    return pd.DataFrame(rows, columns=RANK_COLUMNS).astype(dict.fromkeys(("rank", "layer", "head"), int))


def _ranks(own: Scores) -> Iterator[list[object]]:
    bounds, selective_bounds = _bounds(own.score), _bounds(own.selectivity)
    for number, label in enumerate(own.labels):
        for by, values in (("score", own.score[:, number]), ("selectivity", own.selectivity[:, number])):
            order, shares = _order(values)
            for rank, head in enumerate(order[:RANKS]):
                place = (number, *np.unravel_index(head, values.shape[1:]))
                yield [own.task, label, own.mode, by, rank + 1, int(place[1]) + 1, int(place[2]) + 1,
                       own.score[0][place], bounds[0][place], bounds[1][place], own.control[place],
                       own.selectivity[0][place], selective_bounds[0][place], selective_bounds[1][place],
                       shares[head]]  # fmt: skip


def _order(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Heads from the best one down, and the share of samples in which each is the best.

    Heads without a value are left out.

    Args:
        values: [1 + samples, layers, heads].
    """
    flat = values.reshape(len(values), -1)
    order = np.argsort(-flat[0], kind="stable")
    order = order[~np.isnan(flat[0][order])]
    shares = np.full(flat.shape[1], np.nan)
    samples = flat[1:][~np.isnan(flat[1:]).all(axis=1)]
    if len(samples):
        # Of heads that are equal in a sample only one is counted, so that the shares of all heads add up to 1.
        shares = np.bincount(np.nanargmax(samples, axis=1), minlength=flat.shape[1]) / len(samples)
    return order, shares


def by_label(scores: Sequence[Scores]) -> pd.DataFrame:
    """A row of :data:`LABEL_COLUMNS` for each label: its best head by score and by selectivity, and the baselines."""
    rows = [pd.concat([_labels(own), _best_heads(own)], axis=1) for own in scores]
    return pd.concat(rows, ignore_index=True)[LABEL_COLUMNS].astype(dict.fromkeys(WHOLE, "Int64"))


def _labels(own: Scores) -> pd.DataFrame:
    baselines = own.baselines
    mean, deviation = _over_seeds(baselines.untrained)
    return pd.DataFrame(
        {
            "task": own.task,
            "label": list(own.labels),
            "mode": own.mode,
            "count": own.count,
            "controlled": own.controlled,
            "baseline": list(baselines.name),
            "baseline_score": baselines.score,
            "baseline_selectivity": baselines.selectivity,
            "adjacent_score": baselines.adjacent[0],
            "adjacent_selectivity": baselines.adjacent[1],
            "untrained_score": mean[0],
            "untrained_deviation": deviation[0],
            "untrained_selectivity": mean[1],
        }
    )


def _best_heads(own: Scores) -> pd.DataFrame:
    """The first ranks of each label."""
    first = ranks([own]).query("rank == 1").drop(columns=["task", "mode", "rank"])
    names = {
        "score": {"layer": "best_layer", "head": "best_head", "score": "best_score", "low": "best_low",
                  "high": "best_high", "is_best": "best_is_best"},
        "selectivity": {"layer": "selective_layer", "head": "selective_head", "score": "selective_score",
                        "control": "selective_control", "selectivity": "best_selectivity",
                        "selectivity_low": "selective_low", "selectivity_high": "selective_high",
                        "is_best": "selective_is_best"},
    }  # fmt: skip
    found = pd.DataFrame(index=pd.Index(own.labels))
    for by, columns in names.items():
        rows = first[first.by == by].set_index("label")[list(columns)].rename(columns=columns)
        found = found.join(rows)
    return found.reset_index(drop=True)


def _over_seeds(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation (of one seed more than one) over the first dimension; NaN where there is nothing."""
    nothing = np.full(values.shape[1:], np.nan)
    mean = values.mean(axis=0) if len(values) else nothing
    return mean, values.std(axis=0, ddof=1) if len(values) > 1 else nothing


def _highest(values: np.ndarray) -> np.ndarray:
    """The highest of all heads, [1 + samples, labels], of [1 + samples, labels, layers, heads]."""
    flat = values.reshape(*values.shape[:2], -1)
    none = np.isnan(flat).all(axis=-1)
    return np.where(none, np.nan, np.nanmax(np.where(none[..., None], -np.inf, flat), axis=-1))


def _bounds(samples: np.ndarray) -> np.ndarray:
    """Percentiles 2.5 and 97.5 of the bootstrap samples, [2, ...]; samples that have no value are left out."""
    shape = samples.shape[1:]
    ordered = np.sort(np.concatenate([samples[1:], np.full((1, *shape), np.nan)]), axis=0)
    last = (~np.isnan(ordered)).sum(axis=0) - 1.0
    found = []
    for share in (0.025, 0.975):
        place = np.maximum(share * last, 0)
        low = np.floor(place).astype(int)
        below, above = (
            np.take_along_axis(ordered, index[None], axis=0)[0] for index in (low, np.ceil(place).astype(int))
        )
        found.append(below + (above - below) * (place - low))
    return np.stack(found)


def best_table(labels: pd.DataFrame) -> str:
    """Best heads as text, the labels of each task by count."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    console = Console(file=StringIO(), width=120)
    for (task, mode), rows in labels.groupby(["task", "mode"], sort=False):
        table = Table("label", title=f"{task.upper()} · {mode}", title_justify="left")
        controlled = bool(rows.controlled.any())
        untrained = rows.untrained_score.notna().any()
        names = ["count", "best head", "%", "sure"]
        names += ["most selective", "%", "control"] if controlled else []
        names += ["untrained %"] if untrained else []
        for name in (*names, "baseline"):
            table.add_column(name, justify="right")
        for row in rows.sort_values("count", ascending=False, kind="stable").itertuples():
            shown = [str(row.label), str(row.count), _head(row.best_layer, row.best_head)]
            shown += [_percent(row.best_score), _percent(row.best_is_best)]
            if controlled:
                shown += [_head(row.selective_layer, row.selective_head), _percent(row.selective_score)]
                shown += [_percent(row.selective_control)]
            shown += [_percent(row.untrained_score)] if untrained else []
            table.add_row(*shown, f"{row.baseline} {_percent(row.baseline_score)}")
        console.print(table)
    return console.file.getvalue().rstrip()  # type: ignore[attr-defined]


def _head(layer: float, head: float) -> str:
    return "-" if pd.isna(layer) else f"{int(layer)}-{int(head)}"


def _percent(value: float) -> str:
    return "-" if pd.isna(value) else f"{value * 100:.1f}"
