"""Candidate spans of a batch, laid out without padding, and the first layer of a network over them, factored."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

WIDEST = 30
"""Candidate arguments have at most so many words (docs/method.md, section 3.5b)."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans: the sentence in the batch, the first and the last word; three index tensors of one shape."""

    sentences: Tensor
    starts: Tensor
    ends: Tensor

    def at(self, *index: Tensor) -> Spans:
        """Those at ``index``, one index tensor a dimension."""
        return Spans(self.sentences[index], self.starts[index], self.ends[index])


@dataclass(frozen=True, slots=True)
class Candidates:
    """All candidate arguments of a batch.

    Attributes:
        spans: sentence by sentence, by start, then end, [spans].
        table: where each sentence's candidates stand in ``spans``, [batch, most of a sentence]; 0 beyond its last.
        inside: False beyond its last.
    """

    spans: Spans
    table: Tensor
    inside: Tensor


def column(length: int, start: int, end: int) -> int:
    """The place of a span among the candidates of its sentence of ``length`` words.

    >>> [column(3, *span) for span in [(0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2)]]
    [0, 1, 2, 3, 4, 5]
    """
    return sum(min(WIDEST, length - earlier) for earlier in range(start)) + end - start


def candidates(lengths: list[int], device: torch.device) -> Candidates:
    """All spans of up to :data:`WIDEST` words."""
    # Made on the host, where the lengths are: on the device a mask's users would wait for its size.
    words = torch.arange(max(lengths))
    starts, widths = torch.meshgrid(words, words[:WIDEST], indexing="ij")
    starts, ends = starts.flatten(), (starts + widths).flatten()
    sentences, places = (ends < torch.tensor(lengths)[:, None]).nonzero().unbind(1)
    spans = Spans(sentences.to(device), starts[places].to(device), ends[places].to(device))
    numbers = sentences.bincount(minlength=len(lengths))[:, None]
    columns = torch.arange(int(numbers.max()))
    inside = columns < numbers
    table = (columns + numbers.cumsum(0) - numbers).masked_fill(~inside, 0)
    return Candidates(spans, table.to(device), inside.to(device))


def best(scores: Tensor, inside: Tensor, keep: list[int]) -> tuple[Tensor, Tensor]:
    """The columns of each row's highest scores, the highest first; of equal ones the leftmost.

    Args:
        scores: [batch, items].
        inside: False at items that do not exist.
        keep: how many to keep of each row, at most its number of items.

    Returns:
        Columns and, since rows keep different numbers, a mask of those that count; both [batch, most kept].
    """
    # topk promises no order among equals; a stable sort does, on every device.
    order = scores.detach().masked_fill(~inside, -torch.inf).sort(dim=1, descending=True, stable=True).indices
    mask = torch.arange(max(keep)) < torch.tensor(keep)[:, None]
    return order[:, : max(keep)], mask.to(scores.device)


@dataclass(frozen=True, slots=True)
class FirstLayer:
    """W [a; b; w; m] + bias for spans of words a to b, with width embedding w and mean of words m.

    The product is W_a a + W_b b + W_w w + W_m m, and the mean of products is a difference of prefix sums: all terms
    are computed once a word (or width), and a span only adds them up. Everything is float32, as prefix sums must be.

    Attributes:
        starts, ends: W_a x and W_b x of each word, [batch x longest, size].
        prefixes: sums of W_m x over the words before each place, [batch x (longest + 1), size].
        widths: W_w w + bias, [WIDEST, size].
        longest: words of the longest sentence.
    """

    starts: Tensor
    ends: Tensor
    prefixes: Tensor
    widths: Tensor
    longest: int

    def __call__(self, spans: Spans) -> Tensor:
        """[*shape of spans, size]."""
        word = spans.sentences * self.longest
        place = word + spans.sentences
        extra = spans.ends - spans.starts
        total = _rows(self.prefixes, place + spans.ends + 1) - _rows(self.prefixes, place + spans.starts)
        mean = total / (extra + 1)[..., None]
        edges = _rows(self.starts, word + spans.starts) + _rows(self.ends, word + spans.ends)
        return edges + mean + _rows(self.widths, extra)


def first_layer(weight: Tensor, bias: Tensor, widths: Tensor, vectors: Tensor) -> FirstLayer:
    """The terms of a layer over the span vectors of a batch.

    Args:
        weight: [size, 3 hidden + width size], its columns for first word, last word, width and mean of words.
        bias: [size].
        widths: width embeddings, [WIDEST, width size].
        vectors: words, [batch, longest, hidden].
    """
    hidden, longest = vectors.shape[2], vectors.shape[1]
    start, end, width, mean = weight.split([hidden, hidden, widths.shape[1], hidden], dim=1)
    words = functional.linear(vectors, torch.cat([start, end, mean])).float()
    starts, ends, means = words.chunk(3, dim=2)
    prefixes = functional.pad(means.cumsum(1), (0, 0, 1, 0))
    return FirstLayer(
        starts.flatten(0, 1),
        ends.flatten(0, 1),
        prefixes.flatten(0, 1),
        functional.linear(widths, width, bias).float(),
        longest,
    )


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """Rows of a table [rows, size] at ``index`` [...] -> [..., size].

    A lookup as of embeddings, whose backward pass adds rows of one index in parallel; that of indexing does not.
    """
    return functional.embedding(index, table)
