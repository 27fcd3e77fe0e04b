"""Names of points in a plot, put where there is room for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Bbox

SIZE, GREY = 6.5, "#999999"
ROUNDS = 200
"""Moves of all names at most: a number and not a time, so that a figure comes out the same on every machine."""
ROOM = 0.75
"""Pixels that names keep free around themselves; they come out a little wider in one format than in another."""
FAR = 90
"""Pixels from a point within which a place for its name is looked for."""


def place_names(axes: Axes, names: Sequence[str], points: np.ndarray, radii: np.ndarray) -> int:
    """Name points so that no name covers another, a point or the edge, with a line from a name to its distant point.

    All names are moved at once by adjustText; those that still lie on something go one by one to the nearest place that
    is free, and are left out where there is none.

    Args:
        axes: with all else drawn, in a figure whose layout is fixed.
        names: the more important ones first: of two that overlap it is the later one that has to go.
        points: in data coordinates, [names, 2].
        radii: of the points' dots, in pixels, [names].

    Returns:
        How many names were left out.
    """
    from adjustText import adjust_text

    if not len(names):
        return 0
    targets = axes.transData.transform(points)
    dots = np.column_stack([targets - radii[:, None], targets + radii[:, None]])
    texts = [
        axes.text(x, y, name, ha="center", va="center", fontsize=SIZE, zorder=4, parse_math=False)
        for name, (x, y) in zip(names, points, strict=True)
    ]
    adjust_text(
        texts, x=points[:, 0], y=points[:, 1], ax=axes, iter_lim=ROUNDS, expand=(1.1, 1.3), force_text=(0.15, 0.3),
        force_static=(0.15, 0.3), prevent_crossings=False,
    )  # fmt: skip
    boxes = [text.get_window_extent().padded(ROOM) for text in texts]
    taken, frame = dots, np.asarray(axes.bbox.extents)
    waiting, left_out = [], 0
    for number, box in enumerate(boxes):
        if _free(np.asarray(box.extents), taken, frame):
            taken = np.vstack([taken, np.asarray(box.extents)])
        else:
            waiting.append(number)
    for number in waiting:
        size = np.asarray(boxes[number].size)
        for middle in _around(targets[number], size):
            extents = np.concatenate([middle - size / 2, middle + size / 2])
            if _free(extents, taken, frame):
                taken = np.vstack([taken, extents])
                x, y = axes.transData.inverted().transform(middle)
                texts[number].set_position((x, y))
                break
        else:
            texts[number].remove()
            left_out += 1
    for text, target in zip(texts, targets, strict=True):
        if text.axes is not None:
            _line(axes, text.get_window_extent(), target)
    return left_out


def _free(box: np.ndarray, taken: np.ndarray, frame: np.ndarray) -> bool:
    """Whether a box (x0, y0, x1, y1) is inside a frame and touches none of the boxes [n, 4]."""
    if (box[:2] < frame[:2]).any() or (box[2:] > frame[2:]).any():
        return False
    return not ((box[:2] < taken[:, 2:]) & (box[2:] > taken[:, :2])).all(axis=1).any()


def _around(target: np.ndarray, size: np.ndarray) -> Iterator[np.ndarray]:
    """Middles for a name's box around its point, the nearest first."""
    for distance in np.arange(2.0, FAR, 3.0):
        for angle in np.linspace(0, 2 * np.pi, 24, endpoint=False):
            direction = np.array([np.cos(angle), np.sin(angle)])
            yield target + direction * (size / 2 + distance)


def _line(axes: Axes, box: Bbox, target: np.ndarray) -> None:
    """From a point to the nearest place of its name's box, unless they are next to each other."""
    near = np.clip(target, box.min, box.max)
    if np.hypot(*(near - target)) > 6:
        (x0, y0), (x1, y1) = axes.transData.inverted().transform([near, target])
        axes.plot([x0, x1], [y0, y1], color=GREY, linewidth=0.4, zorder=1)
