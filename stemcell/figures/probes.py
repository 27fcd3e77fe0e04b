"""Figures of probes (He and Choi 2021, figures 2, 3 and A.4): where the best heads are, and how every head scores.

All take the tables of :mod:`stemcell.probing.table`, whether from Python or read back from the files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

from stemcell.errors import unknown
from stemcell.figures.maps import INK, LINE, map_grid, new_figure, paint_cells, save
from stemcell.figures.names import place_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SCORE, SELECTIVE = "#2f5f9e", "#a5482b"
MAPPED = "GnBu"
VALUES = ("score", "selectivity")


def write_figures(folder: Path, cells: pd.DataFrame, labels: pd.DataFrame) -> list[Path]:
    """Write two figures for each task and mode, as PNG, SVG and PDF; files of the same names are replaced.

    ::

        layers-TASK-MODE.*    the best head of each label (:func:`best_heads`)
        heat-TASK-MODE.*      each head's mean over the task's labels (:func:`heat_maps`)

    Args:
        folder: made if need be.
        cells: of :func:`stemcell.probing.table.cells`.
        labels: of the same scores, of :func:`stemcell.probing.table.by_label`.

    Raises:
        UserError: if the disk is full or the folder may not be written.
    """
    shape = int(cells["layer"].max()), int(cells["head"].max())
    written = []
    for (task, mode), own in cells.groupby(["task", "mode"], sort=False):
        name = f"{task}-{mode}"
        rows = labels[(labels["task"] == task) & (labels["mode"] == mode)]
        written += save(best_heads(rows, shape, "Best head of each label"), folder, f"layers-{name}")
        panels = {f"mean {value} of {len(rows)} labels": of_task(own, value) for value in _values(own)}
        written += save(heat_maps(panels, f"{task.upper()}, {mode}"), folder, f"heat-{name}")
    return written


def write_label(folder: Path, cells: pd.DataFrame, task: str, label: str) -> list[Path]:
    """Write ``heat-TASK-LABEL.*``, one label's heat maps of all modes; the label escaped by :func:`file_name`.

    Args:
        folder: made if need be.
        cells: as for :func:`write_figures`.
        task: of the label.
        label: of it.

    Raises:
        UserError: if the label was not probed, the disk is full or the folder may not be written.
    """
    of_its_task = cells[cells["task"] == task]
    own = of_its_task[of_its_task["label"] == label]
    if own.empty:
        raise unknown(f"label of {task}", label, of_its_task["label"].unique().tolist())
    panels = {
        f"{mode}: {value}": of_task(rows, value) for mode, rows in own.groupby("mode", sort=False)
        for value in _values(rows)
    }  # fmt: skip
    title = f"{task.upper()} {label}, {own['count'].iloc[0]:,} items"
    return save(heat_maps(panels, title), folder, f"heat-{task}-{file_name(label)}")


class Dots(NamedTuple):
    """What is drawn in a panel, the most frequent label first: points [labels, 2] and radii in points [labels]."""

    labels: list[str]
    points: np.ndarray
    radii: np.ndarray


def best_heads(labels: pd.DataFrame, shape: tuple[int, int], title: str) -> Figure:
    """The best head of each label: its layer against its score; links once more for the most selective head.

    Inside a layer the heads stand side by side. A larger dot has more items. For links a hollow dot is a head that
    does no better than the best fixed offset. Names never overlap: where there is no room for one, the rarer label's
    dot stands alone, and it is said how many do.

    Args:
        labels: rows of :func:`stemcell.probing.table.by_label`, a panel (for links two) for each task and mode.
        shape: layers and heads of the encoder.
        title: of the whole figure.
    """
    panels = []
    for (task, mode), rows in labels.groupby(["task", "mode"], sort=False):
        panels.append((task, mode, "best", "score", rows))
        if mode == "link":
            panels.append((task, mode, "selective", "selectivity", rows))
    heights = [2.9 + 0.035 * min(len(rows), 60) for *_, rows in panels]
    figure = new_figure(7.2, sum(heights) + 0.4, title)
    grid = figure.subplots(len(panels), squeeze=False, height_ratios=heights)[:, 0]
    drawn = [_best(axes, shape, *panel) for axes, panel in zip(grid, panels, strict=True)]
    figure.draw_without_rendering()
    # Names are placed to the pixel: from here on nothing may move.
    figure.set_layout_engine("none")
    for axes, found, (task, mode, _, value, _) in zip(grid, drawn, panels, strict=True):
        missing = place_names(axes, found.labels, found.points, found.radii * figure.dpi / 72)
        said = f", {missing} rare ones without room for a name" if missing else ""
        axes.set_title(f"{task.upper()}, {mode}, head of highest {value}: {len(found.labels)} labels{said}", fontsize=9)
    return figure


def _best(axes: Axes, shape: tuple[int, int], task: str, mode: str, kind: str, value: str, rows: pd.DataFrame) -> Dots:
    """One panel without its names."""
    rows = rows[rows[f"{kind}_layer"].notna()].sort_values("count", ascending=False, kind="stable")
    layers, heads = shape
    score = rows["best_score" if kind == "best" else "best_selectivity"].to_numpy(float)
    inside = (rows[f"{kind}_head"].to_numpy(float) - (heads + 1) / 2) / heads
    across = rows[f"{kind}_layer"].to_numpy(float) + 0.86 * inside
    baseline = rows["baseline_score" if kind == "best" else "baseline_selectivity"].to_numpy(float)
    # The other baseline, the most frequent label, has all of one label and nothing of the others.
    better = (score > baseline) if mode == "link" else np.ones(len(score), bool)
    size = 4 + 7 * np.log10(rows["count"].to_numpy(float))
    colour = SCORE if kind == "best" else SELECTIVE
    axes.scatter(across, score, size, np.where(better, colour, "white"), edgecolors=colour, linewidths=0.7, zorder=3)
    for edge in range(1, layers):
        axes.axvline(edge + 0.5, color=LINE, linewidth=0.5, zorder=0)
    axes.set_xlim(0.5, layers + 0.5)
    axes.set_ylim(min(0.0, np.min(score, initial=0.0)) - 0.05, 1.07)
    axes.set_xticks(range(1, layers + 1))
    axes.set_yticks(np.linspace(0, 1, 6))
    axes.tick_params(labelsize=7)
    axes.tick_params(axis="x", length=0)
    axes.spines[["top", "right"]].set_visible(False)
    hollow = f"; hollow: not above the best fixed offset ({(~better).sum()})" if mode == "link" else ""
    axes.set_xlabel(
        f"layer, in it heads 1 to {heads} from left to right (larger dot: more items{hollow})", fontsize=7.5
    )
    axes.set_ylabel(value, fontsize=8)
    axes.set_title(" ", fontsize=9)
    return Dots(list(rows["label"]), np.column_stack([across, score]), np.sqrt(size / np.pi))


def of_task(cells: pd.DataFrame, value: str = "score", over: str = "mean") -> np.ndarray:
    """A number for each head over the labels of a task, all with the same weight.

    Args:
        cells: of one task and mode, or of one label of it.
        value: ``score`` or ``selectivity``.
        over: ``mean`` of the labels that have the value, or ``best``, the highest of them.

    Returns:
        [layers, heads]; NaN where a head is missing or closed.
    """
    groups = cells.groupby(["layer", "head"])[value]
    found = (groups.mean() if over == "mean" else groups.max()).unstack("head")
    return found.to_numpy(float)


def heat_maps(panels: Mapping[str, np.ndarray], title: str) -> Figure:
    """Numbers of all heads as colours and figures, layer 1 at the bottom; heads that are missing or closed are hatched.

    Args:
        panels: [layers, heads] by what they are; up to 1, and below 0 drawn as 0.
        title: of the whole figure.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import PowerNorm
    from matplotlib.patches import Rectangle

    shape = next(iter(panels.values())).shape
    figure, grid = map_grid(len(panels), shape, title, beside=0.9)
    # Most heads score low: small differences are to be seen, and the same colour means the same in all figures.
    colours = ScalarMappable(PowerNorm(0.5, 0, 1, clip=True), MAPPED)
    for axes, (name, values) in zip(grid, panels.items(), strict=True):
        paint_cells(axes, colours.to_rgba(np.nan_to_num(values))[..., :3])
        for (layer, head), number in np.ndenumerate(values):
            if np.isnan(number):
                place = (head - 0.5, layer - 0.5)
                axes.add_patch(
                    Rectangle(place, 1, 1, facecolor="white", edgecolor="#999999", hatch="////", linewidth=0)
                )
                continue
            colour = "white" if number > 0.45 else INK
            axes.text(head, layer, _short(number), ha="center", va="center", fontsize=6, color=colour)
        hatched = int(np.isnan(values).sum())
        axes.set_title(f"{name}\n{hatched} of {values.size} heads closed" if hatched else name, fontsize=9)
    bar = figure.colorbar(colours, ax=grid, shrink=0.8, ticks=[0, 0.05, 0.2, 0.4, 0.6, 0.8, 1])
    bar.ax.tick_params(labelsize=7)
    return figure


def file_name(label: str) -> str:
    """A label as part of a file's name, on every system and in LaTeX; different labels give different names.

    >>> file_name("nsubj:pass"), file_name("PRP$"), file_name("``"), file_name("B_C")
    ('nsubj_3Apass', 'PRP_24', '_60_60', 'B_5FC')
    """
    return re.sub(r"[^A-Za-z0-9-]", lambda found: "".join(f"_{byte:02X}" for byte in found[0].encode()), label)


def _values(cells: pd.DataFrame) -> list[str]:
    """What there is to be shown: centroids have no control, and so no selectivity."""
    return [value for value in VALUES if cells[value].notna().any()] or ["score"]


def _short(number: float) -> str:
    """Two digits: ``.87``, ``1``, ``-.03``, ``0``."""
    text = f"{number:.2f}".replace("0.", ".", 1)
    return {".00": "0", "-.00": "0", "1.00": "1", "-1.00": "-1"}.get(text, text)
