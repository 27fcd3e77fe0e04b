"""Sums over items by label and head, and by bootstrap sample, in memory that does not grow with the corpus.

The bootstrap over sentences is Poisson's: in each sample a sentence counts as often as a Poisson variable of mean 1
says, so that samples are summed up as sentences come by (Chamandy, Muralidharan, Najmi and Naidu 2012, "Estimating
Uncertainty for Massive Data Streams"). How often depends on the sentence's number alone, not on batches or processes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from stemcell.training.processes import summed


class Tally:
    """Sums of some quantity of items.

    Attributes:
        sums: by layer, [1 + samples, labels, heads]; the first of them is the data as it is.
    """

    def __init__(
        self, heads: Sequence[int], labels: int, samples: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.sums = [torch.zeros(1 + samples, labels, count, device=device, dtype=dtype) for count in heads]

    def add(self, layer: int, values: Tensor, sentence: Tensor, label: Tensor, weights: Tensor) -> None:
        """Add items of a batch.

        Args:
            values: [items, heads].
            sentence: [items], each item's sentence in the batch.
            label: [items].
            weights: [1 + samples, sentences] of :func:`sample_weights`.
        """
        sums = self.sums[layer]
        _, labels, heads = sums.shape
        sentences = weights.shape[1]
        by_sentence = values.new_zeros(sentences * labels, heads).index_add_(0, sentence * labels + label, values)
        sums += (weights @ by_sentence.view(sentences, labels * heads)).view_as(sums)

    def total(self, heads: Sequence[Sequence[int]], width: int) -> np.ndarray:
        """The sums over all processes, [1 + samples, labels, layers, width], on the CPU.

        Args:
            heads: of each layer, where its heads belong (from 0); elsewhere there is NaN.
            width: heads that a layer may have.
        """
        found = np.full((*self.sums[0].shape[:2], len(heads), width), np.nan)
        for layer, (sums, places) in enumerate(zip(self.sums, heads, strict=True)):
            found[:, :, layer, list(places)] = summed(sums).cpu().numpy()
        return found


def sample_weights(sentences: Sequence[int], samples: int, seed: int = 0) -> np.ndarray:
    """How often each sentence counts, [1 + samples, sentences]: once in the data, else by chance.

    Args:
        sentences: their numbers in the corpus.
    """
    draws = [np.random.default_rng([seed, number]).poisson(1.0, samples) for number in sentences]
    return np.stack([np.ones(len(draws)), *np.stack(draws, axis=1)]) if samples else np.ones((1, len(draws)))
