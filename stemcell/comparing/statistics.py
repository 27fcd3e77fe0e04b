"""Differences between models, with intervals over seeds and sentences, and corrections for many of them.

Sentences are drawn once for all runs, so that differences are paired (Koehn 2004, "Statistical Significance Tests for
Machine Translation Evaluation"). Seeds are drawn too: n - 1 of n with replacement, which makes the variance of a mean
over few seeds unbiased, where n of n would make it too small by (n - 1) / n (Rao and Wu 1988, "Resampling Inference
With Complex Survey Data").
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from stemcell.tasks.scoring import main_score

LEVEL = 0.05
"""Of tests; intervals are of 95%."""
EXACT = 12
"""Up to so many sentences all permutations are looked at."""


@dataclass(frozen=True)
class Estimate:
    """A value in the data and in bootstrap samples.

    Attributes:
        value: in the data.
        low, high: the 95% interval, by percentiles; NaN without samples.
        p: two-sided, that the value is 0: twice the smaller share of samples on either side.
        samples: all of them, [samples].
    """

    value: float
    low: float
    high: float
    p: float
    samples: np.ndarray


def sentence_weights(sentences: int, samples: int, seed: int = 0) -> np.ndarray:
    """How often each sentence is drawn in each bootstrap sample, [1 + samples, sentences]; the first is the data."""
    draws = np.random.default_rng(seed).multinomial(sentences, np.full(sentences, 1 / sentences), size=samples)
    return np.concatenate([np.ones((1, sentences), int), draws.reshape(samples, sentences)])


def sampled_scores(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The main score in the data and in each sample, [1 + samples], of counts [sentences, 2 or 3]."""
    return main_score(weights.astype(float) @ counts.astype(float))


def over_seeds(values: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Means over seeds of [seeds, 1 + samples, ...]: in the data over all, in a sample over n - 1 drawn of n.

    Returns:
        [1 + samples, ...]; with one seed that seed's.
    """
    seeds, columns = values.shape[:2]
    if seeds == 1:
        return values[0]
    drawn = rng.integers(seeds, size=(seeds - 1, columns - 1))
    samples = values[drawn, np.arange(1, columns)].mean(0)
    return np.concatenate([values[:, 0].mean(0)[None], samples])


def estimate(samples: np.ndarray) -> Estimate:
    """Of [1 + samples], the first in the data."""
    value, drawn = float(samples[0]), samples[1:]
    drawn = drawn[~np.isnan(drawn)]
    if not len(drawn):
        return Estimate(value, np.nan, np.nan, np.nan, drawn)
    low, high = np.percentile(drawn, [50 * LEVEL, 100 - 50 * LEVEL])
    tail = min((drawn <= 0).sum(), (drawn >= 0).sum())
    p = min(1.0, 2 * (1 + tail) / (1 + len(drawn)))
    return Estimate(value, float(low), float(high), float(p), drawn)


def difference(first: np.ndarray, second: np.ndarray, seed: int = 0) -> Estimate:
    """``first`` minus ``second``, scores [seeds, 1 + samples] each; seeds are drawn in pairs.

    Raises:
        ValueError: if they have not the same seeds and samples.
    """
    if first.shape != second.shape:
        raise ValueError("a difference takes the same seeds and samples")
    return estimate(over_seeds(first - second, np.random.default_rng(seed)))


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


def normal_p(values: np.ndarray) -> np.ndarray:
    """Two-sided p-values, [columns], of values [1 + samples, columns] by their standard error over the samples.

    For many columns, since counting samples cannot give a p-value below one over their number.
    """
    from scipy.stats import norm

    error = np.nanstd(values[1:], axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        p = 2 * norm.sf(np.abs(values[0]) / error)
    # A column that never changes has no error but rounding.
    return np.where(error > 1e-9, p, np.where(values[0] == 0, 1.0, np.nan))
