"""How much maps of heads have in common, and how much they would by chance (docs/method.md, section 7, H3)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from stemcell.heads.maps import KEPT


@dataclass(frozen=True)
class Overlap:
    """Two sets of kept heads of one encoder, against two random sets of the same sizes.

    Attributes:
        heads: heads of the encoder.
        first, second: heads that each keeps.
        both: heads that both keep.
        expected: the mean of ``both`` where each set is drawn at random.
        at_least, at_most: probability, then, of as many heads in common or more, and of as many or fewer
            (hypergeometric; each is one-sided).
        jaccard: heads that both keep as a share of those that any keeps; 1 where neither keeps any.
    """

    heads: int
    first: int
    second: int
    both: int
    expected: float
    at_least: float
    at_most: float
    jaccard: float


@dataclass(frozen=True)
class Consistency:
    """What runs that differ in their seed alone agree on.

    Attributes:
        runs: how many.
        share: the share of runs that keep each head, [layers, heads].
        jaccard: mean over all pairs of runs.
        by_all, by_none: heads that every run keeps, and that none does.
        all_expected, none_expected: their means where each run keeps as many heads as it does, but at random.
    """

    runs: int
    share: np.ndarray
    jaccard: float
    by_all: int
    by_none: int
    all_expected: float
    none_expected: float


def kept(gates: np.ndarray, threshold: float = KEPT) -> np.ndarray:
    """Which heads count as kept: those whose gate exceeds the threshold; booleans of the gates' shape."""
    return gates > threshold


def jaccard(first: np.ndarray, second: np.ndarray) -> float:
    """Jaccard's index of two masks of one shape, booleans; 1 where both are empty, since then they are equal."""
    any_keeps = int((first | second).sum())
    return int((first & second).sum()) / any_keeps if any_keeps else 1.0


def overlap(first: np.ndarray, second: np.ndarray) -> Overlap:
    """Compare two masks of one shape, booleans.

    With n heads of which one set has k and the other m, the number in common of random sets is hypergeometric with
    mean k m / n.
    """
    from scipy.stats import hypergeom

    heads, one, other, both = first.size, int(first.sum()), int(second.sum()), int((first & second).sum())
    chance = hypergeom(heads, one, other)
    return Overlap(
        heads=heads,
        first=one,
        second=other,
        both=both,
        expected=one * other / heads,
        at_least=float(chance.sf(both - 1)),
        at_most=float(chance.cdf(both)),
        jaccard=jaccard(first, second),
    )


def consistency(masks: Sequence[np.ndarray]) -> Consistency:
    """Compare the masks of two or more runs, [layers, heads] booleans each.

    Raises:
        ValueError: if there are fewer than two.
    """
    if len(masks) < 2:
        raise ValueError("consistency takes at least two runs")
    share = np.mean(masks, axis=0)
    sizes = np.array([mask.mean() for mask in masks])
    return Consistency(
        runs=len(masks),
        share=share,
        jaccard=float(np.mean([jaccard(a, b) for a, b in combinations(masks, 2)])),
        by_all=int(np.all(masks, axis=0).sum()),
        by_none=int((~np.any(masks, axis=0)).sum()),
        all_expected=float(share.size * sizes.prod()),
        none_expected=float(share.size * (1 - sizes).prod()),
    )


def most(masks: Sequence[np.ndarray]) -> np.ndarray:
    """The heads that more than half of the masks keep; booleans of their shape."""
    return np.mean(masks, axis=0) > 0.5


def layer_use(mask: np.ndarray) -> np.ndarray:
    """Kept heads a layer, [layers] integers."""
    return mask.sum(axis=1)
