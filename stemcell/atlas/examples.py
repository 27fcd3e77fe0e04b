"""A dozen sentences with the attention of every head between their words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from stemcell.corpora.layers import Example
from stemcell.model import MultiTaskModel
from stemcell.probing.capture import capture
from stemcell.probing.words import WordMap, word_map

Words = tuple[str, ...]
SHORTEST, LONGEST, COUNT = 6, 25, 12
"""Words in a sentence, and sentences; fewer of these where tasks have gates of their own."""


@dataclass(frozen=True)
class Examples:
    """Sentences and their attention.

    Attributes:
        sentences: distinct ones, from short to long.
        attention: by set of gates (or one, ``""``, without gates) for each sentence [heads, 1 + words, 2 + words] from
            0 to 1: of the heads that there are, layer by layer, from a position (0 is the first special token) to each
            position and, in the last column, to all that is not shown: the last special token, and in a sentence of
            several windows nothing else.
    """

    sentences: list[Words]
    attention: dict[str, list[np.ndarray]]


def choose(layers: Mapping[str, Sequence[Example]], count: int = COUNT) -> list[Words]:
    """Sentences of :data:`SHORTEST` to :data:`LONGEST` words (or, if there are none, of fewer), spread evenly over the
    lengths that the corpus has; the same corpus gives the same ones."""
    found = dict.fromkeys(example.words for layer in layers.values() for example in layer)
    fit = [words for words in found if SHORTEST <= len(words) <= LONGEST]
    fit = sorted(fit or [words for words in found if len(words) < SHORTEST], key=len)
    places = np.linspace(0, len(fit) - 1, min(count, len(fit))).round().astype(int)
    return [fit[place] for place in places]


def take_examples(model: MultiTaskModel, layers: Mapping[str, Sequence[Example]]) -> Examples:
    """Choose sentences and pass them through the encoder, with each set of gates.

    Args:
        model: on its device.
        layers: the sentences of each task.
    """
    passes = model.passes(layers)
    count = COUNT if len(passes) == 1 else max(3, COUNT // len(passes))
    sentences = choose(layers, count)
    attention = {}
    for task, *_ in passes:
        name = model.gates.set_of(task) if model.gates is not None else ""
        attention[name] = [attend(model, words, task) for words in sentences]
    return Examples(sentences, attention)


@torch.inference_mode()
def attend(model: MultiTaskModel, words: Words, task: str) -> np.ndarray:
    """One sentence's attention as in :class:`Examples`, [heads, 1 + words, 2 + words] float64; a row adds up to 1."""
    model.eval()
    device = next(model.parameters()).device
    subtokens = model.encoder.tokenize(words)
    batch = model.encoder.collate([subtokens], [words])
    where = word_map(batch, [subtokens], device)
    size = len(words) + 1
    found: list[np.ndarray] = []

    def see(layer: int, weights: Tensor) -> None:
        found.append(_between_words(where, weights).cpu().numpy())

    with capture(model.encoder, weights=see):
        model(batch.to(device), task)
    between = np.concatenate(found) if found else np.zeros((0, size, size))
    return np.concatenate([between, 1 - between.sum(-1, keepdims=True)], axis=-1)


def _between_words(words: WordMap, weights: Tensor) -> Tensor:
    """Attention of one sentence, [heads, size, size], from a word the mean over its subtokens."""
    home, place = words.home[0], torch.arange(words.read.shape[1], device=weights.device)
    sums = words.attention(weights)[home, :, place]
    return (sums / words.read.sum(-1)[home, place][:, None, None]).transpose(0, 1)
