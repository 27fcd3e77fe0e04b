"""Differences between models, with intervals over seeds and sentences, and corrections for many of them.

Two things vary, and each has its own part of an interval. Sentences: they are drawn with replacement, once for all
runs, so that differences are paired (Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation");
the samples' deviation is their error. Seeds: two or three of them cannot be drawn from, since a bootstrap of so few is
far too sure of itself; their error is that of a mean, and Student's t with n - 1 degrees of freedom says how far it
reaches.
The interval reaches as far as the root of the two squared reaches, which keeps either part's own coverage where the
other is small (Zou and Donner 2008, "Construction of confidence limits about effect measures", for sums). A p-value is
the level at which the interval just touches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from stemcell.tasks.scoring import main_score

LEVEL = 0.05
"""Of tests; intervals are of 95%."""
_ROUNDING = 1e-12
EXACT = 12
"""Up to so many sentences all permutations are looked at."""


@dataclass(frozen=True)
class Estimate:
    """A value and how sure it is.

    Attributes:
        value: in the data.
        low, high: the 95% interval; NaN where there is no error.
        p: two-sided, that the value is 0.
        sentences: standard error over bootstrap samples; NaN without any.
        seeds: standard error over seeds; 0 where there is one alone.
        freedom: degrees of freedom of that.
    """

    value: float
    low: float
    high: float
    p: float
    sentences: float
    seeds: float
    freedom: float

    def p_against(self, reference: float) -> float:
        """The two-sided p-value that the value is another than 0."""
        return float(_p(self.value - reference, self.sentences, self.seeds, self.freedom))


class Columns(NamedTuple):
    """Estimates side by side, arrays of one shape; see :class:`Estimate`."""

    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    p: np.ndarray
    sentences: np.ndarray
    seeds: np.ndarray
    freedom: np.ndarray


def sentence_weights(sentences: int, samples: int, seed: int = 0) -> np.ndarray:
    """How often each sentence is drawn in each bootstrap sample, [1 + samples, sentences]; the first is the data."""
    draws = np.random.default_rng(seed).multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)
    return np.concatenate([np.ones((1, sentences), int), draws.reshape(samples, sentences)])


def sampled_scores(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The main score in the data and in each sample, [1 + samples], of counts [sentences, 2 or 3]."""
    return main_score(weights.astype(float) @ counts.astype(float))


def estimate(samples: np.ndarray) -> Estimate:
    """Of [1 + samples], the first in the data; nothing but the samples varies."""
    return mean_over_seeds(samples[None])


def mean_over_seeds(values: np.ndarray) -> Estimate:
    """The mean of a value over seeds, of [seeds, 1 + samples]."""
    return Estimate(*(float(part) for part in means_over_seeds(values)))


def means_over_seeds(values: np.ndarray) -> Columns:
    """As :func:`mean_over_seeds`, of many values, [seeds, 1 + samples, ...]."""
    means, seeds = values.mean(0), len(values)
    error = values[:, 0].std(axis=0, ddof=1) / np.sqrt(seeds) if seeds > 1 else np.zeros(means.shape[1:])
    return columns(means[0], _spread(means), error, max(1, seeds - 1))


def columns(value: np.ndarray, sentences: np.ndarray, seeds: np.ndarray, freedom: float) -> Columns:
    """Estimates from values and their errors over sentences and over seeds, the latter with degrees of freedom."""
    reach = _reach(np.asarray(LEVEL), np.asarray(sentences), np.asarray(seeds), freedom)
    p = _p(value, sentences, seeds, freedom)
    return Columns(value, value - reach, value + reach, p, sentences, seeds, np.full(np.shape(value), freedom))


def difference(first: np.ndarray, second: np.ndarray) -> Estimate:
    """``first`` minus ``second``, scores [seeds, 1 + samples] each; seeds are drawn in pairs.

    Raises:
        ValueError: if they have not the same seeds and samples.
    """
    if first.shape != second.shape:
        raise ValueError("a difference takes the same seeds and samples")
    return mean_over_seeds(first - second)


def permutation(first: Sequence[np.ndarray], second: Sequence[np.ndarray], rounds: int, seed: int = 0) -> float:
    """The two-sided probability of so large a difference if it did not matter which model a sentence's counts are from.

    A sentence is swapped for all seeds together. Up to :data:`EXACT` sentences the probability is exact.

    Args:
        first, second: counts by seed, [sentences, 2 or 3] each.
        rounds: random permutations.
    """
    one, other = np.stack(first).astype(float), np.stack(second).astype(float)
    sentences = one.shape[1]
    if sentences <= EXACT:
        swaps = np.array(list(product([1.0, -1.0], repeat=sentences)))
    else:
        random = np.random.default_rng(seed).choice([1.0, -1.0], size=(rounds, sentences))
        swaps = np.concatenate([np.ones((1, sentences)), random])
    middle, half = (one + other).sum(1) / 2, (one - other) / 2
    moved = np.einsum("rs,nsk->rnk", swaps, half, optimize=True)
    found = np.abs((main_score(middle + moved) - main_score(middle - moved)).mean(1))
    # Equal up to rounding is equal.
    return float((found >= found[0] - 1e-12).mean())


def holm(values: Sequence[float]) -> list[float]:
    """P-values corrected for being many (Holm 1979); NaN, which are no tests, stay and do not count."""
    return _corrected(values, "holm")


def false_discovery(values: Sequence[float]) -> list[float]:
    """P-values by the share of false ones among those that are found (Benjamini and Hochberg 1995)."""
    return _corrected(values, "fdr_bh")


def _corrected(values: Sequence[float], method: str) -> list[float]:
    from statsmodels.stats.multitest import multipletests

    array = np.array(values, float)
    tests = ~np.isnan(array)
    if tests.any():
        array[tests] = multipletests(array[tests], method=method)[1]
    return array.tolist()


def _reach(level: np.ndarray, sentences: np.ndarray, seeds: np.ndarray, freedom: float) -> np.ndarray:
    from scipy.stats import norm, t

    return np.hypot(norm.isf(level / 2) * sentences, t.isf(level / 2, freedom) * seeds)


def _p(
    value: np.ndarray | float, sentences: np.ndarray | float, seeds: np.ndarray | float, freedom: float
) -> np.ndarray:
    """The level at which the interval reaches 0, by halving its logarithm."""
    value, sentences, seeds = (np.asarray(part, float) for part in (value, sentences, seeds))
    low, high = np.full(value.shape, -300.0), np.zeros(value.shape)
    for _ in range(50):
        middle = (low + high) / 2
        short = _reach(10**middle, sentences, seeds, freedom) < np.abs(value)
        low, high = np.where(short, low, middle), np.where(short, middle, high)
    # What never varies is no matter of chance.
    p = np.where(np.hypot(sentences, seeds) > _ROUNDING, 10**high, np.where(np.abs(value) <= _ROUNDING, 1.0, 0.0))
    return np.where(np.isnan(sentences) | np.isnan(value), np.nan, p)


def _spread(samples: np.ndarray) -> np.ndarray:
    """Standard deviation of bootstrap samples, [1 + samples, ...]; NaN with less than two that have a value."""
    drawn = samples[1:]
    there = ~np.isnan(drawn)
    count = there.sum(0)
    mean = np.where(there, drawn, 0).sum(0) / np.maximum(count, 1)
    squares = np.where(there, (drawn - mean) ** 2, 0).sum(0)
    return np.where(count > 1, np.sqrt(squares / np.maximum(count - 1, 1)), np.nan)
