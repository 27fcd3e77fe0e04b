"""From subtokens to words: attention and context vectors as docs/method.md, section 6, reads them.

All of it is computed in float64 (float32 on devices that lack it), in which sums of a few float32 values are exact:
the order in which a word's subtokens are added up must not decide which word a head attends to most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from stemcell.encoders.batch import Batch
from stemcell.encoders.subtokens import Subtokens


def wide(device: torch.device) -> torch.dtype:
    """The precision of the probes on a device."""
    return torch.float32 if device.type == "mps" else torch.float64


@dataclass(frozen=True, slots=True)
class WordMap:
    """Where the words of a batch are in the encoder's rows, each of which is a window.

    Positions count the words of a sentence from 1, and 0 is the first special token (the root); ``size`` is one more
    than the words of the longest sentence. Each window has a first special token of its own.

    Attributes:
        read: [rows, size, width], 1 where a position is read: at the subtokens of the words whose vector the window
            gives, and at the window's first special token.
        seen: [rows, width, size], 1 where a position is seen: at all of its subtokens that the window has.
        home: [sentences, size], the row that gives a word's vector.
        lengths: [sentences], words.
        index: positions in the flattened rows, word after word of all sentences; a word's vector is their mean.
        offsets: [words], where in ``index`` each word starts.
        first: [sentences], the number of each sentence's first word among all.
    """

    read: Tensor
    seen: Tensor
    home: Tensor
    lengths: Tensor
    index: Tensor
    offsets: Tensor
    first: list[int]

    def attention(self, weights: Tensor) -> Tensor:
        """Attention between positions, [rows, heads, size, size].

        To a word it is the sum over its subtokens. From a word it is the sum too instead of the mean, which makes no
        difference to what a word attends to most. Words read in another window have zeros as their row.

        Args:
            weights: between subtokens, [rows, heads, width, width].
        """
        rows, heads = weights.shape[:2]
        size, dtype = self.read.shape[1], self.seen.dtype
        found = torch.empty(rows, heads, size, size, dtype=dtype, device=weights.device)
        # Head by head: the float64 copies of all of them at once would not fit a processor's cache.
        for head in range(heads):
            found[:, head] = self.read @ (weights[:, head].to(dtype) @ self.seen)
        return found

    def vectors(self, contexts: Tensor) -> Tensor:
        """The words' vectors, [words, heads * head_size], of those of subtokens, [rows, width, heads * head_size]."""
        return embedding_bag(self.index, contexts.flatten(0, 1).to(self.seen.dtype), self.offsets, mode="mean")


def word_map(batch: Batch, sentences: Sequence[Subtokens], device: torch.device) -> WordMap:
    """The map of a batch, on a device.

    Args:
        batch: on the CPU.
        sentences: the subtokens that it was made of.
    """
    rows, width = batch.ids.shape
    lengths = np.array([len(words) for words in batch.words])
    size = int(lengths.max()) + 1
    real = batch.mask.numpy() > 0
    places = np.full((rows, width), -1)
    places[real] = np.concatenate([sentence.places for sentence in sentences])
    # The last special token is the place after the last word, and takes no part.
    ends = np.repeat(lengths + 1, [len(sentence.windows) for sentence in sentences])
    row, column = np.nonzero((places >= 0) & (places < ends[:, None]))
    seen = np.zeros((rows, width, size))
    seen[row, column, places[row, column]] = 1

    # The bags of the batch: the first special token, the words, the last one, and empty ones.
    index, offsets = batch.index.numpy(), batch.offsets.numpy()
    counts = np.diff(offsets, append=len(index)).reshape(len(lengths), size + 1)
    place = np.arange(size + 1)
    words = (place >= 1) & (place <= lengths[:, None])
    bag = np.repeat(np.arange(counts.size), counts.ravel())
    inside = words.ravel()[bag]
    index, bag = index[inside], bag[inside]
    read = np.zeros((rows, size, width))
    read[:, 0, 0] = 1
    read[index // width, bag % (size + 1), index % width] = 1
    home = np.zeros(counts.size, np.int64)
    home[bag] = index // width
    counts = counts[words]

    dtype = wide(device)
    return WordMap(
        read=torch.from_numpy(read).to(device, dtype),
        seen=torch.from_numpy(seen).to(device, dtype),
        home=torch.from_numpy(home.reshape(len(lengths), size + 1)[:, :size].copy()).to(device),
        lengths=torch.from_numpy(lengths).to(device),
        index=torch.from_numpy(index).to(device),
        offsets=torch.from_numpy(np.cumsum(counts) - counts).to(device),
        first=(np.cumsum(lengths) - lengths).tolist(),
    )
