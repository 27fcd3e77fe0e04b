from __future__ import annotations

import numpy as np
import pytest

from stemcell.comparing.ablation import draw_others, losses


def counts(chance: np.random.Generator, rate: float, gold: np.ndarray) -> np.ndarray:
    return np.stack([chance.binomial(gold, rate), gold], 1)


def test_others_are_as_many_of_the_same_layers_where_there_are_some() -> None:
    own = [(0, 1), (0, 2), (2, 5)]
    rest = [(0, 0), (0, 3), (0, 4), (1, 1), (2, 0), (2, 1)]
    seen = set()
    for number in range(100):
        drawn = draw_others(own, rest, np.random.default_rng(number))
        assert sorted(layer for layer, _ in drawn) == [0, 0, 2]
        assert len(set(drawn)) == 3
        assert set(drawn) <= set(rest)
        seen |= set(drawn)
    assert seen == set(rest) - {(1, 1)}
    # Layer 2 has none: another layer's stands in.
    drawn = draw_others(own, [(0, 0), (0, 3), (1, 1)], np.random.default_rng(1))
    assert sorted(drawn) == [(0, 0), (0, 3), (1, 1)]


def test_losses_are_differences_of_scores() -> None:
    chance = np.random.default_rng(8)
    gold = chance.integers(5, 20, 2000)
    worlds = [
        [counts(chance, rate, gold) for rate in (0.9, 0.8, 0.88, 0.86, 0.87)]
        for _ in range(3)
    ]  # fmt: skip
    stem, others, further = losses(worlds, 500)
    scores = np.array([[each[:, 0].sum() / gold.sum() for each in world] for world in worlds])
    assert stem.value == pytest.approx((scores[:, 0] - scores[:, 1]).mean())
    assert others.value == pytest.approx((scores[:, 0] - scores[:, 2:].mean(1)).mean())
    assert further.value == pytest.approx(stem.value - others.value)
    assert further.low > 0
    # Draws that differ widen the interval.
    even = losses([[w[0], w[1], *[w[2]] * 3] for w in worlds], 500)[1]
    assert others.sentences > even.sentences
