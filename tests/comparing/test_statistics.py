from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, bootstrap, norm, ttest_1samp
from statsmodels.stats.multitest import multipletests

from stemcell.comparing import statistics
from stemcell.tasks.scoring import main_score


@pytest.fixture
def chance() -> np.random.Generator:
    """Fresh for each test, so that none depends on which ones ran before."""
    return np.random.default_rng(5)


def counts(chance: np.random.Generator, sentences: int, rate: float) -> np.ndarray:
    """Correct words of sentences of 1 to 20."""
    words = chance.integers(1, 21, sentences)
    return np.stack([chance.binomial(words, rate), words], 1)


def test_the_interval_is_scipys_for_one_seed(chance: np.random.Generator) -> None:
    one, other = counts(chance, 400, 0.8), counts(chance, 400, 0.75)
    other[:, 1] = one[:, 1]
    other[:, 0] = np.minimum(other[:, 0], other[:, 1])
    weights = statistics.sentence_weights(400, 4000)
    scores = [statistics.sampled_scores(each, weights)[None] for each in (one, other)]
    found = statistics.difference(*scores)
    assert found.value == main_score(one.sum(0)) - main_score(other.sum(0))

    def apart(places: np.ndarray) -> float:
        return float(main_score(one[places].sum(0)) - main_score(other[places].sum(0)))

    reference = bootstrap(
        (np.arange(400),),
        lambda p: apart(p.astype(int)),
        vectorized=False,
        n_resamples=4000,
        method="percentile",
        rng=3,
    )
    low, high = reference.confidence_interval
    width = high - low
    assert found.low == pytest.approx(low, abs=0.06 * width)
    assert found.high == pytest.approx(high, abs=0.06 * width)
    assert found.sentences == pytest.approx(reference.standard_error, rel=0.06)


def test_samples_are_of_sentences_as_they_are_drawn(chance: np.random.Generator) -> None:
    weights = statistics.sentence_weights(7, 50)
    assert weights.shape == (51, 7)
    assert (weights[0] == 1).all()
    assert (weights.sum(1) == 7).all()
    own = chance.integers(0, 9, (7, 3))
    for row, score in zip(weights, statistics.sampled_scores(own, weights), strict=True):
        assert score == main_score(own.repeat(row, axis=0).sum(0))


def test_seeds_are_in_pairs() -> None:
    level = np.repeat(np.array([[0.0], [5.0], [9.0]]), 1001, axis=1)
    found = statistics.difference(level + 0.5, level)
    assert (found.low, found.value, found.high) == pytest.approx((0.5, 0.5, 0.5))
    with pytest.raises(ValueError, match="same seeds"):
        statistics.difference(level[:2], level)


def test_where_seeds_are_all_the_noise_it_is_the_paired_t_test(chance: np.random.Generator) -> None:
    values = chance.normal(0.4, 1, (4, 1))
    found = statistics.mean_over_seeds(np.repeat(values, 101, axis=1))
    reference = ttest_1samp(values[:, 0], 0)
    low, high = reference.confidence_interval()
    assert found.p == pytest.approx(reference.pvalue, rel=1e-6)
    assert (found.low, found.high) == pytest.approx((low, high), rel=1e-6)
    assert found.p_against(0.9) == pytest.approx(ttest_1samp(values[:, 0], 0.9).pvalue, rel=1e-6)


WORLDS = 20_000


@pytest.mark.parametrize("seeds", [2, 3])
@pytest.mark.parametrize("sentences", [0.0, 0.3, 1.0, 3.0])
def test_no_difference_is_called_one_at_the_stated_level(
    chance: np.random.Generator, seeds: int, sentences: float
) -> None:
    """Exactly so where seeds are all the noise, and no more often where sentences, of this deviation, add theirs."""
    of_seeds = chance.normal(size=(seeds, 1, WORLDS)).repeat(101, axis=1)
    values = of_seeds + sentences * chance.normal(size=(1, 101, WORLDS))
    called = (statistics.means_over_seeds(values).p < statistics.LEVEL).sum()
    low, high = binom.interval(0.999, WORLDS, statistics.LEVEL)
    assert called <= high
    if not sentences:
        assert called >= low


def test_one_seed_has_the_error_of_sentences_and_none_without_samples(chance: np.random.Generator) -> None:
    values = np.concatenate([[0.3], chance.normal(0.3, 0.1, 5000)])[None]
    found = statistics.mean_over_seeds(values)
    assert found.p == pytest.approx(2 * norm.sf(3), rel=0.3)
    assert found.seeds == 0
    nothing = statistics.mean_over_seeds(np.array([[0.3], [0.4]]))
    assert nothing.value == pytest.approx(0.35)
    assert np.isnan([nothing.low, nothing.high, nothing.p]).all()


def test_samples_without_a_value_are_left_out() -> None:
    values = np.array([0.5, 0.4, np.nan, 0.6])
    assert statistics.estimate(values).sentences == pytest.approx(np.std([0.4, 0.6], ddof=1))
    assert statistics.estimate(np.zeros(50)).p == 1


def test_the_permutation_is_exact_for_few_sentences(chance: np.random.Generator) -> None:
    one = [counts(chance, 8, 0.9), counts(chance, 8, 0.8)]
    other = [np.stack([np.maximum(each[:, 0] - chance.integers(0, 4, 8), 0), each[:, 1]], 1) for each in one]

    def apart(swap: tuple[bool, ...]) -> float:
        pairs = []
        for a, b in zip(one, other, strict=True):
            first = [y if swapped else x for x, y, swapped in zip(a, b, swap, strict=True)]
            second = [x if swapped else y for x, y, swapped in zip(a, b, swap, strict=True)]
            pairs.append(main_score(np.sum(first, 0)) - main_score(np.sum(second, 0)))
        return abs(float(np.mean(pairs)))

    every = [apart(swap) for swap in product([False, True], repeat=8)]
    expected = np.mean([value >= every[0] - 1e-12 for value in every])
    assert statistics.permutation(one, other, 1) == expected < 1


def test_random_permutations_come_near_and_know_no_difference(chance: np.random.Generator) -> None:
    one, other = counts(chance, 300, 0.8), counts(chance, 300, 0.8)
    other[:, 1] = one[:, 1]
    other[:, 0] = np.minimum(other[:, 0], other[:, 1])
    assert statistics.permutation([one], [one], 200) == 1
    # The normal approximation of the same test.
    gap = (one[:, 0] - other[:, 0]).astype(float)
    expected = 2 * norm.sf(abs(gap.sum()) / np.sqrt((gap**2).sum()))
    assert statistics.permutation([one], [other], 20_000) == pytest.approx(expected, abs=0.02)


def test_corrections_are_statsmodels_and_leave_gaps() -> None:
    p = [0.001, 0.04, np.nan, 0.03, 0.5]
    tests = [0.001, 0.04, 0.03, 0.5]
    for ours, method in ((statistics.holm, "holm"), (statistics.false_discovery, "fdr_bh")):
        found = ours(p)
        assert np.isnan(found[2])
        assert [value for value in found if value == value] == pytest.approx(multipletests(tests, method=method)[1])
    # Holm by hand.
    assert statistics.holm(p)[:2] == pytest.approx([0.004, 0.09])
    assert statistics.holm([]) == []
