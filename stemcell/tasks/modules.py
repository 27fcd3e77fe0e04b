"""The small networks that decoders share: feed-forward projections, dropout shared over positions, biaffine scores."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class SharedDropout(nn.Module):
    """Dropout with one mask a sentence, shared by its positions (Gal and Ghahramani 2016; Dozat and Manning 2017)."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, vectors: Tensor) -> Tensor:
        """[batch, positions, size] -> the same shape; the identity outside training."""
        if not self.training or self.rate == 0:
            return vectors
        keep = torch.full_like(vectors[:, :1], 1 - self.rate).bernoulli_()
        return vectors * (keep / (1 - self.rate))


class MLP(nn.Module):
    """Linear, LeakyReLU 0.1, shared dropout (Dozat and Manning 2017, equations 4 and 5); orthogonal weights."""

    def __init__(self, size_in: int, size_out: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.linear = nn.Linear(size_in, size_out)
        self.dropout = SharedDropout(dropout)
        nn.init.orthogonal_(self.linear.weight)
        nn.init.zeros_(self.linear.bias)

    def forward(self, vectors: Tensor) -> Tensor:
        """[batch, positions, size_in] -> [batch, positions, size_out]."""
        return self.dropout(nn.functional.leaky_relu(self.linear(vectors), 0.1))


class Biaffine(nn.Module):
    """Scores of pairs: s(l, r)[o] = [l; 1]^T W_o [r; 1] (Dozat and Manning 2017, equations 6 and 7), W zero at first.

    The product with W is taken once a left position, not once a pair, so that all pairs cost two matrix products.
    The 1 of the left vector (``bias_left``) and that of the right (``bias_right``) are kept as vectors beside W:
    no ones are appended and sizes stay round.
    """

    def __init__(self, size: int, labels: int, bias_left: bool = True, bias_right: bool = True) -> None:
        super().__init__()
        self.size, self.labels = size, labels
        self.weight = nn.Parameter(torch.zeros(labels * size, size))
        self.left = nn.Parameter(torch.zeros(labels, size)) if bias_right else None
        self.right = nn.Parameter(torch.zeros(labels * size)) if bias_left else None
        self.constant = nn.Parameter(torch.zeros(labels)) if bias_left and bias_right else None

    def forward(self, left: Tensor, right: Tensor) -> Tensor:
        """All: left [batch, n, size], right [batch, m, size] -> [batch, labels, n, m], of one label [batch, n, m]."""
        scores = self._products(left, right) + self._left_scores(left)[..., None]
        return scores[:, :, 0] if self.labels == 1 else scores.transpose(1, 2)

    def at(self, left: Tensor, right: Tensor, batch: Tensor, rows: Tensor, columns: Tensor) -> Tensor:
        """Some pairs: scores of (left[b, i], right[b, j]) for each (b, i, j), each index [pairs] -> [pairs, labels].

        Equal to picking from :meth:`forward`'s cube, which is made only where it is the cheaper way.
        """
        sentences, n, size = left.shape
        some = left[batch, rows]
        if sentences * n * (size + right.shape[1]) < len(rows) * (size + 1):
            products = self._products(left, right)[batch, rows, :, columns]
        else:
            projected = nn.functional.linear(some, self.weight, self.right).view(-1, self.labels, size)
            products = (projected @ right[batch, columns, :, None]).squeeze(-1)
        return products + self._left_scores(some)

    def _products(self, left: Tensor, right: Tensor) -> Tensor:
        """[l; 1]^T W_o r of all pairs, [batch, n, labels, m]."""
        batch, n, size = left.shape
        projected = nn.functional.linear(left, self.weight, self.right).view(batch, n * self.labels, size)
        return (projected @ right.mT).view(batch, n, self.labels, right.shape[1])

    def _left_scores(self, left: Tensor) -> Tensor:
        """What the 1 of the right vector adds, [..., labels]."""
        if self.left is None:
            return left.new_zeros(self.labels)
        return nn.functional.linear(left, self.left, self.constant)
