"""A small probed model with a head removed and one closed, whose corpus has a hostile label."""

from __future__ import annotations

import copy
import dataclasses
from typing import NamedTuple

import pytest
import torch

from stemcell.corpora.layers import Example
from stemcell.heads.gates import Gates
from stemcell.model import MultiTaskModel
from stemcell.probing.run import Probed, probe_all
from tests.encoders.small import small
from tests.probing import texts

HOSTILE = "</script><b>&\"'<!--"
REMOVED, CLOSED = 7, 2
"""Heads by their place, from 0: layer 2, head 4, and layer 1, head 3."""


class Case(NamedTuple):
    probed: Probed
    layers: dict[str, list[Example]]


@pytest.fixture(scope="session")
def case() -> Case:
    corpus = texts.corpus()
    for split in ("train", "test"):
        pos = corpus[split]["pos"]
        pos[1] = dataclasses.replace(pos[1], gold=(HOSTILE, *pos[1].gold[1:]))
    encoder = copy.deepcopy(small("tiny-bert", "eager"))
    encoder.keep_heads([[0, 1, 2, 3], [0, 1, 2], [0, 1, 2, 3]])
    gates = Gates(encoder.heads)
    with torch.no_grad():
        gates.log_alpha["joint"].fill_(0.3)
        gates.log_alpha["joint"][CLOSED] = -9.0
    return Case(probe_all(MultiTaskModel(encoder, {}, gates), corpus, samples=20), corpus["test"])
