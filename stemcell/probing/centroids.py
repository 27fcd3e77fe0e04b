"""Mean vectors of labels, and which of them is nearest (docs/method.md, section 6)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from stemcell.training.processes import summed


def item_vectors(vectors: Tensor, words: Tensor, offsets: Tensor, heads: int) -> Tensor:
    """Items' vectors, [items, heads, head_size]: the means over their words.

    Args:
        vectors: of words, [words, heads * head_size].
        words: item after item, the numbers of its words.
        offsets: [items], where in ``words`` each item starts.
    """
    return embedding_bag(words, vectors, offsets, mode="mean").view(len(offsets), heads, -1)


class Centroids:
    """The mean vector of each label's items, for each head; first summed up, then asked.

    Attributes:
        sums: by layer, [labels, heads, head_size].
        counts: items by label, [labels].
    """

    def __init__(
        self, heads: Sequence[int], head_size: int, labels: int, device: torch.device, dtype: torch.dtype
    ) -> None:
        self.sums = [torch.zeros(labels, count, head_size, device=device, dtype=dtype) for count in heads]
        self.counts = torch.zeros(labels, device=device, dtype=dtype)
        self._directions: list[Tensor] = []
        self._none: list[Tensor] = []

    def count(self, label: Tensor) -> None:
        """Count items, by their labels [items]."""
        self.counts += torch.bincount(label, minlength=len(self.counts))

    def add(self, layer: int, vectors: Tensor, label: Tensor) -> None:
        """Add items' vectors, [items, heads, head_size]."""
        self.sums[layer].index_add_(0, label, vectors)

    def finish(self) -> None:
        """Done with summing, on all processes. A centroid's length does not matter, only its direction."""
        self.counts = summed(self.counts)
        for sums in map(summed, self.sums):
            length = sums.norm(dim=-1, keepdim=True)
            self._none.append((length == 0)[..., 0].T[:, None])
            self._directions.append((sums / length.masked_fill(length == 0, 1)).permute(1, 2, 0).contiguous())

    def right(self, layer: int, vectors: Tensor, label: Tensor) -> Tensor:
        """Whether the centroid of highest cosine is that of an item's own label, [items, heads].

        Of equal ones the first label counts. A label without items, or whose centroid is zero, is never the nearest
        one, and an item whose vector is zero has none.

        Args:
            vectors: [items, heads, head_size].
            label: [items].
        """
        # Not divided by the item's own length, which is the same for all labels.
        cosine = (vectors.transpose(0, 1) @ self._directions[layer]).masked_fill(self._none[layer], -torch.inf)
        none = (vectors == 0).all(-1) | self._none[layer].all(-1).T
        nearest = cosine.argmax(-1).T
        return (nearest == label[:, None]) & ~none
