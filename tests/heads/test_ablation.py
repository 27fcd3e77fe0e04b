from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

from stemcell.encoders.words import WordEncoder
from stemcell.heads.ablation import without
from tests.encoders.small import FAMILIES, HEADS, LAYERS, SENTENCES, small

GONE = [(0, 1), (0, 3), (2, 0)]


@torch.no_grad()
def states(encoder: WordEncoder) -> Tensor:
    return encoder(encoder.collate(encoder.tokenize_all(SENTENCES), SENTENCES)).states


@pytest.mark.parametrize("family", FAMILIES)
def test_it_is_the_model_from_which_the_heads_are_removed(family: str) -> None:
    encoder = copy.deepcopy(small(family)).eval()
    before = states(encoder)
    with without(encoder, GONE):
        ablated = states(encoder)
    assert torch.equal(states(encoder), before)
    removed = copy.deepcopy(encoder)
    removed.keep_heads([[h for h in range(HEADS) if (layer, h) not in GONE] for layer in range(LAYERS)])
    torch.testing.assert_close(ablated, states(removed), rtol=0, atol=1e-5)
    assert (ablated - before).abs().max() > 1e-3


def test_heads_go_by_the_numbers_that_they_had_at_first() -> None:
    encoder = copy.deepcopy(small("tiny-bert")).eval()
    whole = copy.deepcopy(encoder)
    encoder.keep_heads([[1, 3], *[list(range(HEADS))] * (LAYERS - 1)])
    with without(encoder, [(0, 3)]):
        found = states(encoder)
    with without(whole, [(0, 0), (0, 2), (0, 3)]):
        torch.testing.assert_close(found, states(whole), rtol=0, atol=1e-5)
    with pytest.raises(ValueError), without(encoder, [(0, 0)]):
        pass


def test_nothing_stays_after_an_error() -> None:
    encoder = copy.deepcopy(small("tiny-bert")).eval()
    before = states(encoder)
    with pytest.raises(KeyError), without(encoder, GONE):
        raise KeyError
    assert torch.equal(states(encoder), before)
