"""Figures of maps of heads, for papers: a row a layer (1 at the bottom), a column a head, as in :mod:`.frames`."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from stemcell.files import write_atomic
from stemcell.heads.overlap import Overlap, layer_use

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

CELL, MARGIN, COLUMNS = 0.34, 0.9, 3
"""Inches a cell and around the cells; maps beside each other."""
INK, LINE = "#222222", "#cccccc"


def gate_map(values_by_set: Mapping[str, np.ndarray], masks: Mapping[str, np.ndarray], title: str) -> Figure:
    """The gates of one model, set by set: white 0, black 1, the number where it is between; kept heads at the right.

    Args:
        values_by_set: gates from 0 to 1, [layers, heads] each.
        masks: which heads count as kept, by set, booleans of the same shape.
        title: of the whole figure.
    """
    shape = next(iter(values_by_set.values())).shape
    figure, grid = map_grid(len(values_by_set), shape, title)
    for axes, (name, values) in zip(grid, values_by_set.items(), strict=True):
        paint_cells(axes, _grey(values))
        for layer, head in zip(*np.nonzero((values > 0) & (values < 1)), strict=True):
            text = f"{values[layer, head]:.2f}".lstrip("0")
            # A gate of .997 is neither open nor "1.00".
            text = {".00": "≈0", "1.00": "≈1"}.get(text, text)
            colour = "white" if values[layer, head] > 0.5 else INK
            axes.text(head, layer, text, ha="center", va="center", fontsize=6, color=colour)
        used = layer_use(masks[name])
        for layer, count in enumerate(used):
            axes.text(shape[1] - 0.3, layer, str(count), va="center", fontsize=8, color=INK)
        axes.set_title(f"{name}: {used.sum()} of {values.size} heads kept", fontsize=9)
    return figure


def three_runs(masks: Mapping[str, np.ndarray], title: str) -> Figure:
    """Which heads three runs of one task keep: white none of them, black all (docs/method.md, section 5).

    Each run takes one channel away from white, the first red, the second green, the third blue. So what one run alone
    keeps is cyan, magenta or yellow, and what two keep is blue (1 and 2), green (1 and 3) or red (2 and 3).

    Args:
        masks: kept heads by name of run, [layers, heads] booleans.
        title: of the figure.

    Raises:
        ValueError: if there are not three.
    """
    from matplotlib.patches import Patch

    first, second, third = masks
    meanings = {
        f"{first} alone": (1, 0, 0),
        f"{second} alone": (0, 1, 0),
        f"{third} alone": (0, 0, 1),
        f"{first} and {second}": (1, 1, 0),
        f"{first} and {third}": (1, 0, 1),
        f"{second} and {third}": (0, 1, 1),
        "all three": (1, 1, 1),
        "none": (0, 0, 0),
    }
    patches = []
    for meaning, pattern in meanings.items():
        count = int(
            np.all([mask == bool(bit) for mask, bit in zip(masks.values(), pattern, strict=True)], axis=0).sum()
        )
        red, green, blue = (1.0 - bit for bit in pattern)
        patches.append(Patch(facecolor=(red, green, blue), edgecolor=INK, linewidth=0.5, label=f"{meaning}: {count}"))
    longest = max(len(str(patch.get_label())) for patch in patches)
    figure, (axes,) = map_grid(1, masks[first].shape, title, beside=0.6 + 0.07 * longest)
    paint_cells(axes, overlay(list(masks.values())))
    figure.legend(handles=patches, loc="outside right center", fontsize=8, frameon=False)
    return figure


def overlay(masks: Sequence[np.ndarray]) -> np.ndarray:
    """The colours of :func:`three_runs`, [layers, heads, 3] from 0 to 1."""
    return 1.0 - np.stack(masks, axis=-1).astype(float)


def average(values: Sequence[np.ndarray], title: str) -> Figure:
    """The mean gate over several maps, [layers, heads] each: white where all are closed, black where all are open."""
    figure, (axes,) = map_grid(1, values[0].shape, title, beside=0.8)
    paint_cells(axes, _grey(np.mean(values, axis=0)))
    colour_bar(figure, axes, "Greys", "mean gate")
    return figure


def layers(masks: Mapping[str, Sequence[np.ndarray]], title: str) -> Figure:
    """Kept heads a layer: a panel a name with its mean over runs as bars, and each run as a dot if there are several.

    Args:
        masks: by name, for instance a task, the kept heads of each run, [layers, heads] booleans.
        title: of the figure.
    """
    depth, width = next(iter(masks.values()))[0].shape
    columns = min(5, len(masks))
    rows = -(-len(masks) // columns)
    figure = new_figure(columns * 2.0, rows * (depth * 0.16 + 0.9) + 0.5, title)
    panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).ravel()
    places = np.arange(1, depth + 1)
    for axes, (name, runs) in zip(panels, masks.items(), strict=False):
        counts = np.array([layer_use(mask) for mask in runs])
        axes.barh(places, counts.mean(axis=0), color="#7a9cc6")
        if len(runs) > 1:
            for row in counts:
                axes.plot(row, places, ".", color=INK, markersize=3)
        mean = f"{counts.sum(axis=1).mean():.1f}".removesuffix(".0")
        axes.set_title(f"{_folded(name)}\n{mean} of {depth * width} heads", fontsize=8)
        axes.set_xlim(0, width + 0.3)
        axes.set_xticks(range(0, width + 1, max(1, width // 4)))
        axes.set_yticks(places[:: 1 if depth <= 12 else 2])
        axes.tick_params(labelsize=7, labelbottom=True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(masks) :]:
        axes.set_visible(False)
    figure.supxlabel("kept heads", fontsize=8)
    figure.supylabel("layer", fontsize=8)
    return figure


def overlaps(names: Sequence[str], pairs: Mapping[tuple[str, str], Overlap], title: str) -> Figure:
    """What each two tasks have in common: Jaccard's index, common heads / expected by chance, and the probability.

    Args:
        names: of the maps, in order; on the diagonal is how many heads each keeps.
        pairs: by two names, the earlier one first; every pair is needed.
        title: of the figure.
    """
    size = len(names)
    shades = np.full((size, size), np.nan)
    texts: dict[tuple[int, int], str] = {}
    for i, first in enumerate(names):
        for j, second in enumerate(names[i + 1 :], i + 1):
            pair = pairs[first, second]
            shades[j, i] = pair.jaccard
            texts[j, i] = f"{pair.jaccard:.2f}\n{pair.both} / {pair.expected:.1f}\n{probability(pair.at_least)}"
            texts[i, i], texts[j, j] = f"{pair.first}\nkept", f"{pair.second}\nkept"
    figure = new_figure(size * 0.95 + 2.2, size * 0.75 + 1.8, title)
    axes = figure.subplots()
    axes.imshow(shades, cmap="Blues", vmin=0, vmax=1, aspect="auto")
    for (row, column), text in texts.items():
        colour = "white" if shades[row, column] > 0.6 else INK
        axes.text(column, row, text, ha="center", va="center", fontsize=7.5, color=colour)
    labels = [_folded(name) for name in names]
    if max(len(line) for label in labels for line in label.splitlines()) <= 11:
        axes.set_xticks(range(size), labels, fontsize=8)
    else:
        axes.set_xticks(range(size), labels, fontsize=8, rotation=45, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(size), labels, fontsize=8)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    colour_bar(figure, axes, "Blues", "Jaccard")
    heads = next(iter(pairs.values())).heads
    note = f"Jaccard; heads in common / expected by chance; p of at least as many ({heads} heads)"
    figure.supxlabel(textwrap.fill(note, int(figure.get_figwidth() * 13)), fontsize=7)
    return figure


def probability(value: float) -> str:
    """A probability as text: ``p = 0.034``, or ``p < 0.001``."""
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def save(figure: Figure, folder: Path, name: str) -> list[Path]:
    """Write ``NAME.png``, ``.svg`` and ``.pdf``, each whole or not at all; the same figure gives the same bytes.

    Raises:
        UserError: if the disk is full or the place may not be written.
    """
    import matplotlib

    # No dates, no random identifiers; letters in a PDF as such, so that they can be searched and edited.
    fixed: dict[str, dict[str, Any]] = {
        "png": {"Software": None},
        "svg": {"Date": None},
        "pdf": {"CreationDate": None},
    }
    paths = []
    with matplotlib.rc_context({"svg.hashsalt": "stemcell", "pdf.fonttype": 42}):
        for kind, metadata in fixed.items():
            buffer = io.BytesIO()
            figure.savefig(buffer, format=kind, dpi=200, metadata=metadata)
            paths.append(folder / f"{name}.{kind}")
            write_atomic(paths[-1], buffer.getvalue())
    return paths


def new_figure(width: float, height: float, title: str) -> Figure:
    """An empty figure of so many inches, to be drawn without a window."""
    # Not pyplot: nothing global, no window, whatever the machine has.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Maps have square cells, which the layout learns late: without padding a label may stick out.
    figure = Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.1, h_pad=0.08))
    FigureCanvasAgg(figure)
    figure.suptitle(title, fontsize=10)
    return figure


def map_grid(count: int, shape: tuple[int, ...], title: str, beside: float = 0.0) -> tuple[Figure, list[Axes]]:
    """A figure for so many maps of [layers, heads] and so many inches beside them; and where the maps go."""
    columns = min(COLUMNS, count)
    rows = -(-count // columns)
    width, height = shape[1] * CELL + MARGIN, shape[0] * CELL + MARGIN
    figure = new_figure(max(columns * width + beside, 4.0), rows * height + 0.4, title)
    grid = list(figure.subplots(rows, columns, squeeze=False).ravel())
    for axes in grid[count:]:
        axes.set_visible(False)
    return figure, grid[:count]


def _grey(values: np.ndarray) -> np.ndarray:
    return np.repeat(1 - np.clip(values, 0, 1)[..., None], 3, axis=-1)


def paint_cells(axes: Axes, colours: np.ndarray) -> None:
    """Paint [layers, heads, 3] with numbers from 1 and lines between the cells."""
    depth, width, _ = colours.shape
    axes.imshow(colours, origin="lower", interpolation="nearest")
    axes.set_xticks(range(width), [str(head + 1) for head in range(width)], fontsize=7)
    axes.set_yticks(range(depth), [str(layer + 1) for layer in range(depth)], fontsize=7)
    axes.set_xticks(np.arange(width + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(depth + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=LINE, linewidth=0.6)
    axes.tick_params(which="both", length=0)
    axes.spines[:].set_color(LINE)
    axes.set_xlabel("head", fontsize=8)
    axes.set_ylabel("layer", fontsize=8)


def colour_bar(figure: Figure, axes: Axes | list[Axes], colours: str, label: str) -> None:
    """A bar from 0 to 1 beside the axes."""
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import Normalize

    bar = figure.colorbar(ScalarMappable(Normalize(0, 1), colours), ax=axes, shrink=0.7)
    bar.set_label(label, fontsize=8)
    bar.ax.tick_params(labelsize=7)


def _folded(name: str) -> str:
    """A long name on several lines."""
    return name.replace(" (", "\n(")
