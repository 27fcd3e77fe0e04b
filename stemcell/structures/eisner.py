"""Best projective dependency tree with exactly one root, batched by diagonals (Eisner 1996; Eisner and Satta 1999).

Charts are laid out as in :mod:`stemcell.structures.cky`: ``right[k, i]`` is the span of words i to i + k,
``right_ends[n - 1 - k, j]`` that of words j - k to j, and the batch is the innermost dimension. ``right`` spans are
headed by their first word, ``left`` ones by their last; ``open`` ones (incomplete) are an arc between their two ends.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor


@np.errstate(invalid="ignore")
def decode(scores: Tensor, lengths: Sequence[int]) -> list[np.ndarray]:
    """Heads of the best projective single-root tree of each sentence.

    Args:
        scores: [batch, n + 1, n + 1], scores[b, d, h] for word d (from 1) with head h (0 is the root); row 0 and the
            diagonal are not read.
        lengths: words of each sentence, each from 1 to n.

    Returns:
        [length] heads a sentence. Always a projective tree with one root, whatever the scores.
    """
    # As for CKY, NumPy's small operations are faster than torch's.
    table = scores.detach().permute(1, 2, 0).cpu().numpy()
    words, n = table[1:, 1:], len(table) - 1
    # Arcs by distance and leftmost word; a span that would leave the sentence is moved to its last word and never read.
    start = np.tile(np.arange(n), (n, 1))
    end = np.minimum(start + start.T, n - 1)
    to_right, to_left = words[end, start], words[start, end]
    charts = [np.zeros_like(to_right) for _ in range(6)]
    right, right_ends, left, left_ends, open_right, open_left_ends = charts
    for width in range(1, n):
        cells, at = n - width, n - 1 - width
        best = (right[:width, :cells] + left_ends[at + 1 :, width:]).max(0)
        open_right[width, :cells] = best + to_right[width, :cells]
        open_left_ends[at, width:] = best + to_left[width, :cells]
        # The arc's span is at least one word long, the complete span beside it may be a single word.
        right[width, :cells] = (open_right[1 : width + 1, :cells] + right_ends[at + 1 :, width:]).max(0)
        left[width, :cells] = (left[:width, :cells] + open_left_ends[at : n - 1, width:]).max(0)
        right_ends[at, width:] = right[width, :cells]
        left_ends[at, width:] = left[width, :cells]
    return _backtrack(charts, table[1:, 0], np.asarray(lengths))


def _backtrack(charts: list[np.ndarray], root_scores: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """Heads from filled charts: splits of chosen spans only, a width at a time for the whole batch."""
    right, right_ends, left, left_ends, open_right, open_left_ends = charts
    n, batch = root_scores.shape
    word, sentences = np.arange(n)[:, None], np.arange(batch)
    heads = np.zeros((n, batch), dtype=np.int64)
    in_right, in_left, in_open_right, in_open_left = np.zeros((4, n, n, batch), dtype=bool)
    # The root's one child is chosen apart: all words before it and all after it hang below it.
    after = np.maximum(lengths - 1 - word, 0)
    totals = root_scores + left[range(n), 0] + right[after, word, sentences]
    root = np.where(word < lengths, totals, -np.inf).argmax(0)
    in_left[root, 0, sentences] = True
    in_right[lengths - 1 - root, root, sentences] = True
    for width in range(n - 1, 0, -1):
        at = n - 1 - width
        start, sentence = in_right[width].nonzero()
        totals = open_right[1 : width + 1, start, sentence] + right_ends[at + 1 :, start + width, sentence]
        first = totals.argmax(0) + 1
        in_open_right[first, start, sentence] = True
        in_right[width - first, start + first, sentence] = True

        start, sentence = in_left[width].nonzero()
        totals = left[:width, start, sentence] + open_left_ends[at : n - 1, start + width, sentence]
        first = totals.argmax(0)
        in_left[first, start, sentence] = True
        in_open_left[width - first, start + first, sentence] = True

        start, sentence = (in_open_right[width] | in_open_left[width]).nonzero()
        heads[np.where(in_open_right[width, start, sentence], start + width, start), sentence] = (
            np.where(in_open_right[width, start, sentence], start, start + width) + 1
        )
        first = (right[:width, start, sentence] + left_ends[at + 1 :, start + width, sentence]).argmax(0)
        in_right[first, start, sentence] = True
        in_left[width - first - 1, start + first + 1, sentence] = True
    return [heads[:length, sentence] for sentence, length in enumerate(lengths)]
