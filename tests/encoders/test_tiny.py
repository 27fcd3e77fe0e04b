"""Tiny encoders: the build of their family, and the same bytes from the same words and seed."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import torch

from stemcell.encoders.load import load_encoder
from stemcell.encoders.names import TINY
from stemcell.encoders.tiny import VOCABULARY
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError
from tests.encoders.small import SENTENCES

# Many words, many ties among their counts, more characters than a vocabulary holds.
WORDS = [*SENTENCES, *((f"{chr(0x4E00 + i)}{i * 7919 % 1000}x", f"w{i % 37}-{i % 11}") for i in range(1500))]


def fingerprint(encoder: WordEncoder) -> str:
    """A hash of configuration, tokenizer and weights."""
    text = json.dumps([encoder.model.config.to_dict(), encoder.tokenizer.backend_tokenizer.to_str()], sort_keys=True)
    digest = hashlib.sha256(text.encode())
    for name, tensor in encoder.state_dict().items():
        digest.update(name.encode() + tensor.numpy().tobytes())
    return digest.hexdigest()


def fingerprints(words: Sequence[Sequence[str]]) -> dict[str, str]:
    return {name: fingerprint(load_encoder(name, words=words, seed=7)) for name in TINY}


def test_the_same_bytes_in_another_process() -> None:
    code = "import json; from tests.encoders.test_tiny import *; print(json.dumps(fingerprints(WORDS)))"
    environment = {**os.environ, "PYTHONHASHSEED": "99", "RAYON_NUM_THREADS": "3", "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True,
        env=environment, cwd=Path(__file__).parents[2],
    )  # fmt: skip
    assert json.loads(done.stdout) == fingerprints(WORDS)


@pytest.mark.parametrize("name", TINY)
def test_seed_and_words_matter_and_the_global_random_state_does_not(name: str) -> None:
    torch.manual_seed(0)
    before = torch.random.get_rng_state()
    encoder = load_encoder(name, words=SENTENCES, seed=1)
    assert torch.equal(torch.random.get_rng_state(), before)
    torch.manual_seed(5)
    again = load_encoder(name, words=iter(SENTENCES), seed=1)
    other = load_encoder(name, words=SENTENCES, seed=2)
    first, second, third = (e.model.get_input_embeddings().weight for e in (encoder, again, other))
    assert torch.equal(first, second)
    assert not torch.equal(first, third)
    assert not encoder.training
    assert len(load_encoder(name, words=SENTENCES[:2]).tokenizer) < len(encoder.tokenizer) <= VOCABULARY


@pytest.mark.parametrize("name", TINY)
def test_frequent_words_are_one_subtoken(name: str) -> None:
    encoder = load_encoder(name, words=[("stethoscope", "said")] * 50)
    assert encoder.tokenize(("stethoscope", "said")).size == 4
    assert encoder.limit == 512


def test_seven_hundred_words_on_a_tiny_encoder() -> None:
    encoder = load_encoder("tiny-roberta", words=SENTENCES)
    sentences = [("The", "report", "rose", "again") * 175]
    batch = encoder.collate(encoder.tokenize_all(sentences), sentences)
    assert batch.ids.shape[1] == 512
    with torch.no_grad():
        states = encoder(batch).states
    assert states.shape == (1, 702, encoder.hidden)
    assert (states.norm(dim=-1) > 0.1).all()


def test_words_are_needed() -> None:
    with pytest.raises(UserError, match="learns its vocabulary from training sentences"):
        load_encoder("tiny-bert")
