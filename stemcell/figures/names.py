"""Names of points in a plot, put where there is room for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

SIZE, GREY = 6.5, "#999999"
ROUNDS = 300
"""Moves of all names at most: a number and not a time, so that a figure comes out the same on every machine."""
ROOM = 0.75
"""Pixels that names keep free around themselves; they come out a little wider in one format than in another."""


def place_names(axes: Axes, names: Sequence[str], points: np.ndarray) -> int:
    """Name points so that no name overlaps another or leaves the axes, with a line from a name to its distant point.

    Names are moved by adjustText; those for which there is no room are left out.

    Args:
        axes: with all else drawn, in a figure whose layout is fixed.
        names: the more important ones first: of two that overlap the later one goes.
        points: in data coordinates, [names, 2].

    Returns:
        How many names were left out.
    """
    from adjustText import adjust_text

    if not len(names):
        return 0
    texts = [
        axes.text(x, y, name, ha="center", va="center", fontsize=SIZE, zorder=4, parse_math=False)
        for name, (x, y) in zip(names, points, strict=True)
    ]
    adjust_text(
        texts, x=points[:, 0], y=points[:, 1], ax=axes, iter_lim=ROUNDS, expand=(1.08, 1.25), force_text=(0.15, 0.3),
        force_static=(0.12, 0.25),
    )  # fmt: skip
    kept: list[Bbox] = []
    for text, point in zip(texts, points, strict=True):
        box = text.get_window_extent().padded(ROOM)
        if _inside(box, axes.bbox) and not any(box.overlaps(other) for other in kept):
            kept.append(box)
            _line(axes, text, point)
        else:
            text.remove()
    return len(texts) - len(kept)


def _inside(box: Bbox, frame: Bbox) -> bool:
    return bool(box.x0 >= frame.x0 and box.x1 <= frame.x1 and box.y0 >= frame.y0 and box.y1 <= frame.y1)


def _line(axes: Axes, text: Text, point: np.ndarray) -> None:
    """From a point to the nearest place of its name's box, unless they are next to each other."""
    box, target = text.get_window_extent(), axes.transData.transform(point)
    near = np.clip(target, (box.x0, box.y0), (box.x1, box.y1))
    if np.hypot(*(near - target)) > 5:
        (x0, y0), (x1, y1) = axes.transData.inverted().transform([near, target])
        axes.plot([x0, x1], [y0, y1], color=GREY, linewidth=0.4, zorder=1)
