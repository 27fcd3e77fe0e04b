"""BIO tags of one predicate's arguments: tag 0 is O, tag 1 + 2r begins role r, tag 2 + 2r continues it."""

from __future__ import annotations

import torch
from torch import Tensor


def best_tags(scores: Tensor) -> Tensor:
    """The valid tags of greatest total score of each row, exactly (Viterbi).

    Tags are valid if each that continues follows one that begins or continues the same role. As nothing else binds
    neighbours, a word costs O(tags), not O(tags ** 2).

    Args:
        scores: [rows, words, 1 + 2 roles]; -inf forbids a tag, which O must never be.

    Returns:
        Tags, [rows, words].
    """
    _, words, tags = scores.shape
    inside = torch.arange(tags, device=scores.device)[2::2]
    total = scores[:, 0].clone()
    total[:, 2::2] = -torch.inf
    before = []
    for word in range(1, words):
        best, source = total.max(1, keepdim=True)
        begun, continued = total[:, 1::2], total[:, 2::2]
        sources = source.repeat(1, tags)
        sources[:, 2::2] = torch.where(continued > begun, inside, inside - 1)
        before.append(sources)
        total = scores[:, word] + best
        total[:, 2::2] = scores[:, word, 2::2] + torch.maximum(begun, continued)
    path = [total.argmax(1, keepdim=True)]
    for sources in reversed(before):
        path.append(sources.gather(1, path[-1]))
    return torch.cat(path[::-1], 1)


def spans(tags: list[int]) -> list[tuple[int, int, int]]:
    """(first word, last word, role number) of the spans that valid tags spell, left to right.

    >>> spans([0, 1, 2, 1, 0, 3])
    [(1, 2, 0), (3, 3, 0), (5, 5, 1)]
    """
    found: list[tuple[int, int, int]] = []
    for word, tag in enumerate(tags):
        if tag % 2:
            found.append((word, word, tag // 2))
        elif tag:
            found[-1] = (found[-1][0], word, found[-1][2])
    return found


def tags_of(found: list[tuple[int, int, int]], words: int) -> list[int]:
    """The inverse of :func:`spans`; a span over an earlier one is left out."""
    tags = [0] * words
    for start, end, role in found:
        if not any(tags[start : end + 1]):
            tags[start : end + 1] = [1 + 2 * role, *[2 + 2 * role] * (end - start)]
    return tags
