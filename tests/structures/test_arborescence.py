from __future__ import annotations

import numpy as np
import pytest
import torch

from stemcell.structures import arborescence
from tests.structures.enumeration import LENGTHS, dependency_trees, is_single_root_tree

KINDS = ["plain", "ties", "large", "small", "negative", "root", "equal"]


def random_scores(seed: int, kind: str) -> torch.Tensor:
    """[8, 8, 8] for LENGTHS, float64."""
    scores = torch.randn(8, 8, 8, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    if kind == "ties":
        return scores.round()
    if kind == "root":
        # Each word would rather hang from the root.
        scores[:, :, 0] += 10
        return scores
    factors = {"plain": 1, "large": 1e6, "small": 1e-20, "negative": 10, "equal": 0}
    return scores * factors[kind] - 500 * (kind == "negative")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_best_tree_with_one_root(seed, kind):
    scores = random_scores(seed, kind)
    for table, n, heads in zip(scores.numpy(), LENGTHS, arborescence.decode(scores, LENGTHS), strict=True):
        every = np.array(dependency_trees(n))
        totals = table[np.arange(1, n + 1), every].sum(1)
        assert is_single_root_tree(tuple(heads.tolist()))
        assert table[np.arange(1, n + 1), heads].sum() == pytest.approx(totals.max(), rel=1e-12)


def test_heads_that_make_a_tree_at_once_are_that_tree():
    for words in (1, 2, 5):
        for heads in dependency_trees(words):
            scores = torch.zeros(1, words + 1, words + 1)
            scores[0, range(1, words + 1), heads] = 1
            assert tuple(arborescence.decode(scores, [words])[0].tolist()) == heads


def test_a_chain_of_a_hundred_words():
    scores = torch.zeros(1, 101, 101)
    scores[0, range(1, 101), [*range(2, 101), 0]] = 1
    assert arborescence.decode(scores, [100])[0].tolist() == [*range(2, 101), 0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 3e38, -1e30])
def test_any_scores_give_a_tree(value):
    scores = random_scores(0, "plain")
    scores[torch.rand(8, 8, 8, generator=torch.Generator().manual_seed(1)) < 0.5] = value
    for table in (scores, torch.full_like(scores, value)):
        for n, heads in zip(LENGTHS, arborescence.decode(table, LENGTHS), strict=True):
            assert heads.shape == (n,)
            assert is_single_root_tree(tuple(heads.tolist()))


def test_forbidden_arcs_are_avoided_where_a_tree_can():
    scores = torch.full((1, 4, 4), float("-inf"))
    scores[0, [1, 2, 3], [2, 3, 0]] = -100.0
    scores[0, 1, 0] = scores[0, 2, 1] = float("nan")
    assert arborescence.decode(scores, [3])[0].tolist() == [2, 3, 0]
