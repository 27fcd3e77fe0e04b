"""Sentences over an encoder's limit, cut into overlapping windows.

Every word gets one vector, from the window where it stands farthest from an edge; nothing is dropped
(docs/method.md, section 3).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Windows(NamedTuple):
    """``start[k]`` is the first subtoken of window k; word i is read in window ``window[i]`` from its subtoken
    ``first[i]`` to its subtoken ``last[i]`` (both included, counted within the window, special tokens not)."""

    start: np.ndarray
    size: int
    window: np.ndarray
    first: np.ndarray
    last: np.ndarray


def cut(counts: np.ndarray, capacity: int) -> Windows:
    """Cuts a sentence whose words have ``counts`` subtokens (each at least one) into windows of ``capacity``.

    The windows are all full and evenly spread, neighbours sharing half of their subtokens or more. A word is read in
    the window that holds most of its subtokens, of several such in the one where it is farthest from an edge. Only a
    word that no window holds whole (as one of over ``capacity`` subtokens) is read in part; the rest of it is still
    seen by the attention.

    Args:
        counts: [words], subtokens of each word.
        capacity: subtokens that a window has room for, at least 1.
    """
    end = np.cumsum(counts)
    begin = end - counts
    total = int(end[-1]) if len(end) else 0
    size = min(total, capacity)
    stride = max(1, capacity // 2)
    number = 1 + max(0, -(-(total - capacity) // stride))
    start = np.linspace(0, total - size, number).round().astype(np.int64)
    first = np.maximum(begin[:, None], start) - start
    last = np.minimum(end[:, None], start + size) - start - 1
    inside = last - first + 1
    edge = np.minimum(first, size - 1 - last)
    # Subtokens inside come first, the distance to the edge (which is below the window's size) second.
    window = np.where(inside > 0, inside * size + edge, -1).argmax(axis=1)
    row = np.arange(len(counts))
    return Windows(start, size, window, first[row, window], last[row, window])
