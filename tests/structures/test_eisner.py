from __future__ import annotations

import numpy as np
import pytest
import torch

from stemcell.structures import eisner
from tests.structures.enumeration import LENGTHS, projective_trees
from tests.structures.test_arborescence import KINDS, random_scores


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(5))
def test_best_projective_tree_with_one_root(seed, kind):
    scores = random_scores(seed, kind)
    for table, n, heads in zip(scores.numpy(), LENGTHS, eisner.decode(scores, LENGTHS), strict=True):
        every = np.array(projective_trees(n))
        totals = table[np.arange(1, n + 1), every].sum(1)
        assert tuple(heads.tolist()) in projective_trees(n)
        assert table[np.arange(1, n + 1), heads].sum() == pytest.approx(totals.max(), rel=1e-12)


def test_a_crossing_tree_is_not_chosen_though_it_is_better():
    heads = [3, 4, 0, 3]
    scores = torch.zeros(1, 5, 5)
    scores[0, range(1, 5), heads] = 1
    found = tuple(eisner.decode(scores, [4])[0].tolist())
    assert found != tuple(heads)
    assert sum(a == b for a, b in zip(found, heads, strict=True)) == 3


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_any_scores_give_a_projective_tree(value):
    scores = random_scores(0, "plain")
    scores[torch.rand(8, 8, 8, generator=torch.Generator().manual_seed(1)) < 0.5] = value
    for table in (scores, torch.full_like(scores, value)):
        for n, heads in zip(LENGTHS, eisner.decode(table, LENGTHS), strict=True):
            assert tuple(heads.tolist()) in projective_trees(n)
