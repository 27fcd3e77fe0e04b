"""Sentences put together for one pass through the encoder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import torch
from torch import Tensor

from stemcell.encoders.subtokens import Subtokens


@dataclass(frozen=True, slots=True)
class Batch:
    """Sentences ready for the encoder; a row is a window, so a sentence may have several.

    Attributes:
        ids: [rows, width], padded.
        mask: [rows, width], 1 at subtokens and special tokens, 0 at padding.
        droppable: [rows, width], True where word dropout may put the mask token: at subtokens, not at special tokens.
        index: positions in the flattened rows, bag after bag; a bag's vectors are averaged.
        offsets: [sentences * (longest + 2)], where in ``index`` each bag starts. The bags are the positions of
            ``Encoded.states``; those beyond a sentence's last special token are empty.
        words: the sentences' words as given.
        tokens: how many subtokens and special tokens there are.
    """

    ids: Tensor
    mask: Tensor
    droppable: Tensor
    index: Tensor
    offsets: Tensor
    words: list[tuple[str, ...]]
    tokens: int

    @property
    def padded(self) -> int:
        """Positions that are computed, padding included; the waste is ``1 - tokens / padded``."""
        return self.ids.numel()

    def to(self, device: torch.device | str, non_blocking: bool = False) -> Batch:
        """The same batch on a device."""
        return self._each(lambda tensor: tensor.to(device, non_blocking=non_blocking))

    def pin_memory(self) -> Batch:
        """The same batch in page-locked memory, for copies that nobody waits for."""
        return self._each(Tensor.pin_memory)

    def _each(self, change: Callable[[Tensor], Tensor]) -> Batch:
        return Batch(
            ids=change(self.ids),
            mask=change(self.mask),
            droppable=change(self.droppable),
            index=change(self.index),
            offsets=change(self.offsets),
            words=self.words,
            tokens=self.tokens,
        )


def collate(sentences: Sequence[Subtokens], words: Sequence[Sequence[str]], padding: int) -> Batch:
    """Pads the windows of sentences to rows and says which positions make up each word.

    Args:
        sentences: at least one.
        words: the same sentences' words.
        padding: id of the padding token.
    """
    lengths = np.fromiter(chain.from_iterable(s.windows for s in sentences), np.int64)
    width = int(lengths.max())
    column = np.arange(width)
    real = column < lengths[:, None]
    ids = np.full(real.shape, padding, np.int64)
    ids[real] = np.concatenate([s.ids for s in sentences])

    # Positions of bags in the concatenated ids: the first special token, the words, the last special token.
    longest = max(s.spans.shape[1] for s in sentences)
    first = np.zeros((len(sentences), longest + 2), np.int64)
    count = np.zeros_like(first)
    begin = 0
    for row, sentence in enumerate(sentences):
        n = sentence.spans.shape[1]
        first[row, : n + 2] = begin
        first[row, 1 : n + 1] += sentence.spans[0]
        first[row, n + 1] += sentence.size - 1
        count[row, : n + 2] = 1
        count[row, 1 : n + 1] += sentence.spans[1] - sentence.spans[0]
        begin += sentence.size
    # From the concatenated ids to the padded rows.
    start = np.cumsum(lengths) - lengths
    first += (np.arange(len(lengths)) * width - start)[np.searchsorted(start, first, side="right") - 1]
    count, first = count.ravel(), first.ravel()
    offsets = np.cumsum(count) - count
    index = np.arange(count.sum()) + np.repeat(first - offsets, count)

    return Batch(
        ids=torch.from_numpy(ids),
        mask=torch.from_numpy(real.astype(np.int64)),
        droppable=torch.from_numpy(real & (column > 0) & (column < lengths[:, None] - 1)),
        index=torch.from_numpy(index),
        offsets=torch.from_numpy(offsets),
        words=[tuple(sentence) for sentence in words],
        tokens=begin,
    )
