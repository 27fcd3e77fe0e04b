"""Best dependency tree with exactly one root, projective or not: a maximum spanning arborescence.

Chu-Liu-Edmonds comes from ``ufal.chu_liu_edmonds`` (C++), which allows several roots (the problem is that of Zmigrod,
Vieira and Cotterell 2020, "Please Mind the Root"). A shift forbids them exactly: with c above n times the scores' range
taken from each root arc, any tree with one such arc beats any tree with two, and trees with one keep their order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor
from ufal.chu_liu_edmonds import chu_liu_edmonds


def decode(scores: Tensor, lengths: Sequence[int]) -> list[np.ndarray]:
    """Heads of the best single-root tree of each sentence.

    Args:
        scores: [batch, n + 1, n + 1] within float32's range, scores[b, d, h] for word d (from 1) with head h (0 is the
            root); row 0 and the diagonal are not read. NaN and -inf are arcs to be avoided, +inf arcs to be had.
        lengths: words of each sentence, each from 1 to n.

    Returns:
        [length] heads a sentence. Always a tree with one root, whatever the scores.
    """
    table = scores.detach().double().cpu().numpy()
    if not np.isfinite(table).all():
        table = _finite(table)
    node, last = np.arange(table.shape[1]), np.asarray(lengths)[:, None]
    forbidden = (node == node[:, None]) | (node > last[:, :, None])
    greedy = np.where(forbidden, -np.inf, table).argmax(2)
    greedy[(node == 0) | (node > last)] = 0
    # Where each word's best head makes a tree at once, as it mostly does after training, that is the best tree.
    ancestor = greedy
    for _ in range(len(node).bit_length()):
        ancestor = np.take_along_axis(ancestor, ancestor, 1)
    one_root = ((greedy == 0) & (node > 0) & (node <= last)).sum(1) == 1
    is_tree = one_root & (ancestor == 0).all(1)
    return [
        greedy[i, 1 : length + 1] if is_tree[i] else _single_root(table[i, : length + 1, : length + 1])
        for i, length in enumerate(lengths)
    ]


def _single_root(table: np.ndarray) -> np.ndarray:
    """Heads [n] of the best single-root tree for finite scores [n + 1, n + 1]."""
    # From zero up, so that a large constant in all scores does not swallow the shift.
    shifted = np.ascontiguousarray(table - table.min())
    shifted[:, 0] -= 2 * len(table) * shifted.max() or 1.0
    heads, _ = chu_liu_edmonds(shifted)
    return np.asarray(heads[1:])


def _finite(table: np.ndarray) -> np.ndarray:
    """Scores with NaN and -inf below, and +inf above, anything that a tree of finite scores could make up for."""
    finite = table[np.isfinite(table)]
    low, high = (finite.min(), finite.max()) if len(finite) else (0.0, 0.0)
    gap = table.shape[1] * (high - low + 1)
    return np.nan_to_num(table, nan=low - gap, neginf=low - gap, posinf=high + gap)
