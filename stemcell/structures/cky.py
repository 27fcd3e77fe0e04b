"""Binary bracketings of a sentence: partition function, span marginals and best tree, batched by diagonals.

A sentence of n words has fenceposts 0 to n; a bracketing is a set of 2n - 1 spans (i, j), one-word spans included, and
its score is the sum of theirs (the first stage of Zhang, Zhou and Li 2020, "Fast and Accurate Neural CRF Constituency
Parsing"; inside, outside and CKY as there).

Charts are kept twice: ``starts[k, i]`` is the span of k words from fencepost i, ``ends[n - k, j]`` the span of k words
up to fencepost j. All splits of all spans of one width are then two plain slices, and the batch is the innermost
dimension, so that a diagonal is a handful of operations over contiguous memory.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor


def inside(scores: Tensor, lengths: Sequence[int]) -> Tensor:
    """Log of the sum of exp(score) over all bracketings.

    Args:
        scores: [batch, n + 1, n + 1], scores[b, i, j] for the span between fenceposts i < j <= length, finite; the rest
            is not read.
        lengths: words of each sentence, each from 1 to n.

    Returns:
        [batch]. Its gradient is the spans' marginals (outside pass; equal to automatic differentiation, once only).
    """
    return _Inside.apply(scores, lengths)


def marginals(scores: Tensor, lengths: Sequence[int]) -> Tensor:
    """Probability of each span in the distribution of :func:`inside`, [batch, n + 1, n + 1]; 0 where no span is."""
    return _outside(*_charts(scores.detach(), lengths), lengths)


@np.errstate(invalid="ignore")
def decode(scores: Tensor, lengths: Sequence[int]) -> list[np.ndarray]:
    """The bracketing of highest score of each sentence (CKY; of equal splits the leftmost).

    Arguments as for :func:`inside`. Returns a [2 * length - 1, 2] array of fenceposts (i, j) a sentence, in preorder.
    Given marginals it is the minimum-risk tree.
    """
    n, batch = scores.shape[1] - 1, len(lengths)
    # On the CPU these operations are so small that NumPy's are faster than torch's.
    starts = scores.detach().permute(1, 2, 0).cpu().numpy()[_spans_by_width(n)]
    ends = np.zeros_like(starts)
    _fill(starts, ends, lambda totals: totals.max(0))
    chosen = np.zeros((n + 1, n + 1, batch), dtype=bool)
    chosen[lengths, 0, range(batch)] = True
    # Only the chosen cells' best splits are looked for again, a width at a time for the whole batch.
    for width in range(n, 1, -1):
        start, sentence = chosen[width].nonzero()
        totals = starts[1:width, start, sentence] + ends[n - width + 1 : n, start + width, sentence]
        first = totals.argmax(0) + 1
        chosen[first, start, sentence] = True
        chosen[width - first, start + first, sentence] = True
    widths, start, sentence = chosen.nonzero()
    order = np.lexsort((-widths, start, sentence))
    spans = np.stack([start, start + widths], 1)[order]
    return np.split(spans, np.cumsum(2 * np.asarray(lengths) - 1)[:-1])


class _Inside(torch.autograd.Function):
    @staticmethod
    def forward(ctx, scores: Tensor, lengths: Sequence[int]) -> Tensor:
        charts = _charts(scores, lengths)
        if ctx.needs_input_grad[0]:
            ctx.save_for_backward(_outside(*charts, lengths))
        return charts[1][list(lengths), 0, range(len(lengths))]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient[:, None, None] * ctx.saved_tensors[0], None


def _log_sum_exp(totals: Tensor) -> Tensor:
    highest = totals.amax(0)
    return totals.sub_(highest).exp_().sum(0).log_().add_(highest)


def _charts(scores: Tensor, lengths: Sequence[int]) -> tuple[Tensor, Tensor, Tensor]:
    """(scores by width, starts, ends) with the logs of inside sums, each [n + 1, n + 1, batch]."""
    n = scores.shape[1] - 1
    # What lies beyond a sentence's end is computed and never read, but must stay finite.
    beyond = torch.arange(n + 1, device=scores.device) > torch.tensor(lengths, device=scores.device)[:, None]
    row, column = (torch.from_numpy(index).to(scores.device) for index in _spans_by_width(n))
    by_width = scores.masked_fill(beyond[:, None], 0).permute(1, 2, 0)[row, column]
    starts, ends = by_width.clone(), torch.zeros_like(by_width)
    _fill(starts, ends, _log_sum_exp)
    return by_width, starts, ends


def _fill(starts: Any, ends: Any, combine: Callable) -> None:
    """Completes charts whose ``starts`` hold the scores; ``combine`` reduces a span's splits, dimension 0."""
    n = len(starts) - 1
    ends[n - 1, 1:] = starts[1, :n]
    for width in range(2, n + 1):
        diagonal = starts[width, : n - width + 1]
        diagonal += combine(starts[1:width, : n - width + 1] + ends[n - width + 1 : n, width:])
        ends[n - width, width:] = diagonal


def _outside(by_width: Tensor, starts: Tensor, ends: Tensor, lengths: Sequence[int]) -> Tensor:
    """Marginals [batch, n + 1, n + 1], top down: a span's marginal is shared out over its splits."""
    n, batch = len(starts) - 1, len(lengths)
    shares, shares_ends = torch.zeros_like(starts), torch.zeros_like(ends)
    shares[list(lengths), 0, range(batch)] = 1
    splits = starts - by_width
    for width in range(n, 1, -1):
        cells = n - width + 1
        marginal = shares[width, :cells].add_(shares_ends[n - width, width:])
        left, right = slice(1, width), slice(n - width + 1, n)
        posterior = starts[left, :cells] + ends[right, width:]
        posterior.sub_(splits[width, :cells]).exp_().mul_(marginal)
        shares[left, :cells].add_(posterior)
        shares_ends[right, width:].add_(posterior)
    shares[1, :n].add_(shares_ends[n - 1, 1:])
    row, column = torch.triu_indices(n + 1, n + 1, 1, device=starts.device)
    result = starts.new_zeros(batch, n + 1, n + 1)
    result[:, row, column] = shares[column - row, row].T
    return result


def _spans_by_width(n: int) -> tuple[np.ndarray, np.ndarray]:
    """First and last fencepost of the span of each width (first dimension) and start; none leaves the sentence."""
    start = np.tile(np.arange(n + 1), (n + 1, 1))
    return start, np.minimum(start + start.T, n)
