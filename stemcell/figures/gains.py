"""Gains of labels (He and Choi 2021, figures 4 to 8, 10 and 12): how much better the best head of one model does."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from stemcell.figures.maps import INK, LINE, new_figure, save

if TYPE_CHECKING:
    from matplotlib.figure import Figure

UP, DOWN = "#2f7f5f", "#b5482b"
ROW = 0.16
"""Inches a label."""


def write_gains(folder: Path, gains: pd.DataFrame) -> list[Path]:
    """Write ``gains-TASK-MODE.*`` for each task and mode, as PNG, SVG and PDF; files of the same names are replaced.

    Args:
        folder: made if need be.
        gains: columns ``task, label, count, mode, gain, low, high`` and, for several models beside each other,
            ``model``; ``low`` and ``high`` are NaN where there is no interval.

    Raises:
        UserError: if the disk is full or the folder may not be written.
    """
    written = []
    for (task, mode), own in gains.groupby(["task", "mode"], sort=False):
        written += save(gain_bars(own, f"{task.upper()}, {mode}: gain of each label's best head"), folder,
                        f"gains-{task}-{mode}")  # fmt: skip
    return written


def gain_bars(gains: pd.DataFrame, title: str) -> Figure:
    """A bar a label, the most frequent label on top; a panel a model. Labels without a gain keep their empty row.

    Args:
        gains: of one task and mode, as for :func:`write_gains`.
        title: of the figure.
    """
    counts = gains.groupby("label", sort=False)["count"].max().sort_values(ascending=False, kind="stable")
    models = list(gains["model"].unique()) if "model" in gains else [""]
    figure = new_figure(1.8 + 2.6 * len(models), 1.2 + ROW * len(counts), title)
    panels = figure.subplots(1, len(models), sharex=True, sharey=True, squeeze=False)[0]
    places = np.arange(len(counts))
    for axes, model in zip(panels, models, strict=True):
        own = (gains[gains["model"] == model] if "model" in gains else gains).set_index("label").reindex(counts.index)
        gain, low, high = (own[name].to_numpy(float) for name in ("gain", "low", "high"))
        axes.barh(places, gain, 0.7, color=np.where(gain < 0, DOWN, UP))
        axes.hlines(places, low, high, color=INK, linewidth=0.8)
        axes.axvline(0, color=INK, linewidth=0.6)
        axes.grid(axis="x", color=LINE, linewidth=0.4)
        axes.set_axisbelow(True)
        axes.set_title(f"{model}\n{(gain > 0).sum()} up, {(gain < 0).sum()} down".strip(), fontsize=8)
        axes.tick_params(labelsize=7)
        axes.spines[["top", "right", "left"]].set_visible(False)
        axes.tick_params(axis="y", length=0)
    panels[0].set_yticks(places, [f"{label}  {count:,}" for label, count in counts.items()], fontsize=6.5)
    for text in panels[0].get_yticklabels():
        text.set_parse_math(False)
    panels[0].set_ylim(len(counts) - 0.4, -0.6)
    figure.supxlabel("gain in score; line: 95% interval", fontsize=7.5)
    return figure
