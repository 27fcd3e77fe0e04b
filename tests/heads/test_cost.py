"""Counts against sums by hand; times against each other."""

from __future__ import annotations

import copy

import pytest

from stemcell.heads.cost import BATCH, compare, multiply_adds
from stemcell.model import MultiTaskModel
from tests.encoders.small import HEAD_SIZE, HEADS, LIMIT, small

HIDDEN, INNER = HEADS * HEAD_SIZE, 48


@pytest.mark.parametrize("family", ["tiny-bert", "tiny-roberta", "distilbert"])
def test_multiply_adds_are_those_of_the_matrices(family: str) -> None:
    encoder = copy.deepcopy(small(family))
    kept = [[0, 2], [], [0, 1, 2, 3]]
    encoder.keep_heads(kept)
    length = 11
    expected = sum(
        4 * length * HIDDEN * len(heads) * HEAD_SIZE  # query, key, value, output
        + 2 * length * length * len(heads) * HEAD_SIZE  # scores and their use
        + 2 * length * HIDDEN * INNER
        for heads in kept
    )
    assert multiply_adds(encoder, length) == expected


def test_the_smaller_model_costs_less() -> None:
    before = MultiTaskModel(copy.deepcopy(small("tiny-deberta")), {})
    after = MultiTaskModel(copy.deepcopy(small("tiny-deberta")), {})
    after.encoder.keep_heads([[], [], []])
    old, new = compare(before, after, "cpu")
    assert (old.heads, new.heads) == (12, 0)
    assert old.parameters == old.encoder_parameters == sum(p.numel() for p in before.parameters())
    assert new.parameters < old.parameters
    assert new.multiply_adds < old.multiply_adds
    # Without any attention: far beyond what a busy machine hides.
    assert new.latency < old.latency
    assert new.words_per_second > old.words_per_second
    assert old.words_per_second < BATCH * LIMIT / old.latency * BATCH
