"""Probes as tables: every cell in long form, and of every label the best head and what it is to be compared with."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

COLUMNS = [
    "task", "label", "layer", "head", "mode", "count", "score", "low", "high", "control", "selectivity",
]  # fmt: skip
LABEL_COLUMNS = [
    "task", "label", "mode", "count", "controlled", "best_layer", "best_head", "best_score", "best_is_best",
    "selective_layer", "selective_head", "selective_score", "selective_control", "best_selectivity",
    "selective_is_best", "baseline", "baseline_score", "baseline_selectivity",
]  # fmt: skip
WHOLE = ["count", "controlled", "best_layer", "best_head", "selective_layer", "selective_head"]


@dataclass(frozen=True)
class Scores:
    """One task's probe in one mode, over its labels that occur; NaN where a head is missing or closed.

    Attributes:
        task: name.
        mode: ``link``, ``same-split`` or ``train-split``.
        labels: those that occur, sorted.
        count: items, [labels].
        controlled: those that have a control, [labels].
        score: [1 + samples, labels, layers, heads]; the first is the data as it is, the others are bootstrap samples.
        control: [labels, layers, heads], NaN without.
        selectivity: [1 + samples, labels, layers, heads], NaN without.
        baseline: what the best head is compared with, in words, by label.
        baseline_score: its score, [labels].
        baseline_selectivity: [labels], NaN without.
    """

    task: str
    mode: str
    labels: Sequence[str]
    count: np.ndarray
    controlled: np.ndarray
    score: np.ndarray
    control: np.ndarray
    selectivity: np.ndarray
    baseline: Sequence[str]
    baseline_score: np.ndarray
    baseline_selectivity: np.ndarray


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


def by_label(scores: Sequence[Scores]) -> pd.DataFrame:
    """A row of :data:`LABEL_COLUMNS` for each label: its best head by score and by selectivity (the first of equal
    ones), each with the share of bootstrap samples in which it is the best one, and the baseline."""
    rows = [row for own in scores for row in _by_label(own)]
    return pd.DataFrame(rows, columns=LABEL_COLUMNS).astype(dict.fromkeys(WHOLE, "Int64"))


def _by_label(own: Scores) -> list[list[object]]:
    rows: list[list[object]] = []
    for number, label in enumerate(own.labels):
        score, selectivity = own.score[:, number], own.selectivity[:, number]
        best, sure = _best(score)
        selective, selective_sure = _best(selectivity)
        rows.append(
            [own.task, label, own.mode, own.count[number], own.controlled[number],
             *_place(best), _at(score[0], best), sure,
             *_place(selective), _at(score[0], selective), _at(own.control[number], selective),
             _at(selectivity[0], selective), selective_sure,
             own.baseline[number], own.baseline_score[number], own.baseline_selectivity[number]]
        )  # fmt: skip
    return rows


def _best(values: np.ndarray) -> tuple[tuple[int, int] | None, float]:
    """Which head is the best in the data, of [1 + samples, layers, heads], and in what share of the samples."""
    flat = values.reshape(len(values), -1)
    if np.isnan(flat[0]).all():
        return None, np.nan
    best = int(np.nanargmax(flat[0]))
    layer, head = divmod(best, values.shape[2])
    samples = flat[1:][~np.isnan(flat[1:]).all(axis=1)]
    if not len(samples):
        return (layer, head), np.nan
    # Of heads that are equal in a sample only one is counted, so that the shares of all heads add up to 1.
    return (layer, head), float((np.nanargmax(samples, axis=1) == best).mean())


def _place(head: tuple[int, int] | None) -> list[int | None]:
    return [None, None] if head is None else [head[0] + 1, head[1] + 1]


def _at(values: np.ndarray, head: tuple[int, int] | None) -> float:
    return np.nan if head is None else float(values[head])


def _bounds(samples: np.ndarray) -> np.ndarray:
    """Percentiles 2.5 and 97.5 of the bootstrap samples, [2, ...]; NaN where there is none."""
    if len(samples) == 1:
        return np.full((2, *samples.shape[1:]), np.nan)
    with warnings.catch_warnings():
        # A head without scores has none in any sample.
        warnings.simplefilter("ignore", RuntimeWarning)
        return np.nanpercentile(samples[1:], [2.5, 97.5], axis=0)


def best_table(labels: pd.DataFrame) -> str:
    """Best heads as text, the labels of each task by count."""
    from io import StringIO

    from rich.console import Console
    from rich.table import Table

    console = Console(file=StringIO(), width=120)
    for (task, mode), rows in labels.groupby(["task", "mode"], sort=False):
        table = Table("label", title=f"{task.upper()} · {mode}", title_justify="left")
        links = mode == "link"
        for name in ("count", "best head", "%", "sure") + (("most selective", "%", "control") if links else ()):
            table.add_column(name, justify="right")
        table.add_column("baseline", justify="right")
        for row in rows.sort_values("count", ascending=False, kind="stable").itertuples():
            shown = [str(row.label), str(row.count), _head(row.best_layer, row.best_head)]
            shown += [_percent(row.best_score), _percent(row.best_is_best)]
            if links:
                shown += [_head(row.selective_layer, row.selective_head), _percent(row.selective_score)]
                shown += [_percent(row.selective_control)]
            table.add_row(*shown, f"{row.baseline} {_percent(row.baseline_score)}")
        console.print(table)
    return console.file.getvalue().rstrip()  # type: ignore[attr-defined]


def _head(layer: float, head: float) -> str:
    return "-" if pd.isna(layer) else f"{int(layer)}-{int(head)}"


def _percent(value: float) -> str:
    return "-" if pd.isna(value) else f"{value * 100:.1f}"
