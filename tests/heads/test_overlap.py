"""Overlap of masks, against the enumeration of all masks."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stemcell.heads.overlap import consistency, jaccard, kept, layer_use, most, overlap

SHAPE = (2, 3)


def mask(places: tuple[int, ...]) -> np.ndarray:
    flat = np.zeros(SHAPE, bool)
    flat.ravel()[list(places)] = True
    return flat


def masks(size: int) -> list[np.ndarray]:
    """All masks that keep so many heads."""
    return [mask(places) for places in combinations(range(SHAPE[0] * SHAPE[1]), size)]


@pytest.mark.parametrize("one", range(7))
@pytest.mark.parametrize("other", range(7))
def test_chance_is_what_all_masks_of_these_sizes_show(one: int, other: int) -> None:
    first = mask(tuple(range(one)))
    common = np.array([(first & second).sum() for second in masks(other)])
    for second in masks(other):
        found = overlap(first, second)
        assert (found.heads, found.first, found.second) == (6, one, other)
        assert found.both == len(set(np.flatnonzero(first)) & set(np.flatnonzero(second)))
        assert found.expected == pytest.approx(common.mean())
        assert found.at_least == pytest.approx((common >= found.both).mean())
        assert found.at_most == pytest.approx((common <= found.both).mean())


@given(st.data())
def test_probabilities_of_a_whole_encoder(data: st.DataObject) -> None:
    heads = 144
    first, second = (
        np.isin(np.arange(heads), data.draw(st.lists(st.integers(0, heads - 1), unique=True))) for _ in range(2)
    )
    found = overlap(first.reshape(12, 12), second.reshape(12, 12))
    k, m = int(first.sum()), int(second.sum())
    chances = [comb(k, i) * comb(heads - k, m - i) / comb(heads, m) for i in range(min(k, m) + 1)]
    assert found.at_least == pytest.approx(sum(chances[found.both :]), rel=1e-9)
    assert found.at_most == pytest.approx(sum(chances[: found.both + 1]), rel=1e-9)


def test_jaccard_of_sets() -> None:
    for a in range(7):
        for b in range(7):
            for second in masks(b):
                first = mask(tuple(range(a)))
                ones, others = set(np.flatnonzero(first)), set(np.flatnonzero(second))
                expected = len(ones & others) / len(ones | others) if ones | others else 1
                assert jaccard(first, second) == jaccard(second, first) == expected


def test_none_kept_and_all_kept_are_never_a_surprise() -> None:
    none, everything = mask(()), mask(tuple(range(6)))
    for other in (none, everything, mask((1, 2))):
        for edge in (none, everything):
            found = overlap(edge, other)
            assert found.both == found.expected
            assert found.at_least == found.at_most == 1
    assert overlap(none, none).jaccard == overlap(everything, everything).jaccard == 1
    assert overlap(none, everything).jaccard == 0


def test_a_gate_at_the_threshold_is_closed() -> None:
    gates = np.array([[0.0, 1e-3, 1.1e-3], [0.5, 0.6, 1.0]])
    assert kept(gates).tolist() == [[False, False, True], [True, True, True]]
    assert kept(gates, 0.5).tolist() == [[False, False, False], [False, True, True]]
    assert layer_use(kept(gates, 0.5)).tolist() == [0, 2]


def test_seeds_are_compared_pair_by_pair() -> None:
    runs = [mask((0, 1, 2)), mask((0, 1, 3)), mask((0, 4))]
    found = consistency(runs)
    assert found.runs == 3
    assert found.share.tolist() == [[1, 2 / 3, 1 / 3], [1 / 3, 1 / 3, 0]]
    assert found.jaccard == pytest.approx((2 / 4 + 1 / 4 + 1 / 4) / 3)
    assert (found.by_all, found.by_none) == (1, 1)
    assert most(runs).tolist() == [[True, True, False], [False, False, False]]
    assert not most([mask((0,)), mask((1,))]).any()
    with pytest.raises(ValueError, match="two"):
        consistency(runs[:1])


def test_what_seeds_would_agree_on_by_chance() -> None:
    sizes = (2, 3, 4)
    by_all, by_none = [], []
    for first in masks(sizes[0]):
        for second in masks(sizes[1]):
            for third in masks(sizes[2]):
                by_all.append((first & second & third).sum())
                by_none.append((~(first | second | third)).sum())
    found = consistency([mask(tuple(range(size))) for size in sizes])
    assert found.all_expected == pytest.approx(np.mean(by_all))
    assert found.none_expected == pytest.approx(np.mean(by_none))
