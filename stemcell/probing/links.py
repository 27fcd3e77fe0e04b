"""Which words attend to each other: the test of links and its control (docs/method.md, section 6)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from stemcell.probing.items import BatchItems
from stemcell.probing.words import WordMap


class Favourites(NamedTuple):
    """What each position of a window attends to most; ties go to the lowest one.

    Attributes:
        word: [rows, heads, size], from 1.
        root: whether it attends to the root no less than to that word, [rows, heads, size].
    """

    word: Tensor
    root: Tensor


def favourites(attention: Tensor) -> Favourites:
    """Of attention between positions, [rows, heads, size, size], of :meth:`WordMap.attention`."""
    highest, word = attention[..., 1:].max(-1)
    return Favourites(word + 1, attention[..., 0] >= highest)


def most_attended(favourite: Favourites, words: WordMap, root: bool) -> tuple[Tensor, Tensor]:
    """What each word attends to most, and which words the root attends to most.

    In a sentence of several windows each word meets the root of its own.

    Args:
        root: whether the root is one of the positions to attend to.

    Returns:
        Positions [sentences, heads, size], of no meaning at 0 and beyond a sentence, and whether the root attends most
        to a word, [sentences, heads, size].
    """
    most = favourite.word.masked_fill(favourite.root, 0) if root else favourite.word
    size, heads = most.shape[-1], torch.arange(most.shape[1], device=most.device)
    home, position = words.home[:, None], torch.arange(size, device=most.device)
    return most[home, heads[:, None], position], most[:, :, 0][home, heads[:, None]] == position


def offset_heads(offsets: int, words: WordMap, root: bool) -> tuple[Tensor, Tensor]:
    """Heads that look at a fixed distance, as :func:`most_attended` gives real ones: head k attends to the word k
    further on (or, as either direction counts, k before); where there is none, to nothing.

    Returns:
        As :func:`most_attended`, with ``offsets`` heads; to attend to nothing is to attend to position ``size``.
    """
    size = words.home.shape[1]
    position, offset = torch.arange(size, device=words.home.device), torch.arange(offsets, device=words.home.device)
    target = position + offset[:, None]
    most = torch.where(target <= words.lengths[:, None, None], target, size)
    return most, (position == offset[:, None]).expand_as(most) & root


def agreement(most: Tensor, from_root: Tensor, words: WordMap) -> Tensor:
    """Whether one position attends most to the other, in either direction, [sentences, heads, size, size].

    Args:
        most: of :func:`most_attended`.
        from_root: likewise.
    """
    sentences, heads, size = most.shape
    position = torch.arange(size, device=most.device)
    is_word = (position > 0) & (position <= words.lengths[:, None, None])
    # Whoever is no word attends to a position that is cut off in the end.
    target = torch.where(is_word, most, size)[..., None]
    either = torch.zeros(sentences, heads, size + 1, size + 1, dtype=torch.bool, device=most.device)
    either[..., :size, :].scatter_(3, target, True)
    either |= either.transpose(2, 3).clone()
    either[:, :, 0, :size] |= from_root
    return either[..., :size, :size]


def outcomes(either: Tensor, items: BatchItems, words: WordMap) -> tuple[Tensor, Tensor, Tensor]:
    """How links fare, and how the other links do that might be in their place.

    A link holds where its source and some word of its span attend most one to the other. Its control is the mean of
    the same test over all other words as sources, outside of the span; a link from the root has all other words as
    spans instead.

    Args:
        either: of :func:`agreement`.

    Returns:
        Whether each link holds, [links, heads], its control, [links, heads] (0 without alternatives), and whether it
        has alternatives, [links]; all in the precision of the probes.
    """
    dtype, size = words.seen.dtype, either.shape[-1]
    before = torch.zeros(*either.shape[:-1], size + 1, dtype=torch.int32, device=either.device)
    torch.cumsum(either, -1, out=before[..., 1:])
    # Indexed around a slice, heads stay in the middle: [links, heads, size], over all sources.
    held = before[items.sentence, :, :, items.end + 1] > before[items.sentence, :, :, items.start]
    number = torch.arange(len(items.source), device=either.device)
    right = held[number, :, items.source]

    position = torch.arange(size, device=either.device)
    others = (position > 0) & (position <= words.lengths[items.sentence][:, None])
    others &= (position < items.start[:, None]) | (position > items.end[:, None])
    others &= position != items.source[:, None]
    tested = torch.where(items.source[:, None, None] == 0, either[items.sentence, :, 0], held)
    count = others.sum(-1)
    control = (tested & others[:, None]).sum(-1).to(dtype) / count.clamp(min=1)[:, None]
    return right.to(dtype), control, (count > 0).to(dtype)
