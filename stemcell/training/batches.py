"""Batches of sentences of similar length, and how one is cut up over accumulation steps and processes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Lengths are blurred by up to this share before sorting, so that batches differ between passes over the data.
BLUR = 0.1


def length_batches(
    sizes: Sequence[int], sentences: int, tokens: int, generator: np.random.Generator | None = None
) -> list[list[int]]:
    """Cut sentences into batches of similar length.

    Args:
        sizes: subtokens of each sentence.
        sentences: sentences in a batch at most.
        tokens: subtokens in a batch at most; a longer sentence is a batch of its own.
        generator: blurs the order by length and shuffles the batches; without one, batches run from long to short.

    Returns:
        Lists of positions in ``sizes``; each position occurs once.
    """
    lengths = np.asarray(sizes, dtype=np.float64)
    keys = lengths if generator is None else lengths * (1 + BLUR * generator.random(len(lengths)))
    batches: list[list[int]] = []
    total = tokens + 1
    for index in np.argsort(-keys, kind="stable").tolist():
        if total + sizes[index] > tokens or len(batches[-1]) == sentences:
            batches.append([])
            total = 0
        batches[-1].append(index)
        total += sizes[index]
    if generator is not None:
        generator.shuffle(batches)
    return batches


def cut(batch: Sequence[int], sizes: Sequence[int], parts: int) -> list[list[int]]:
    """Cut one batch into ``parts`` shards of about as many subtokens and similar length each; some may be empty.

    The cut depends on nothing but the batch and the number of parts, so that two processes of one part each do just
    what one process of two parts does.
    """
    order = sorted(batch, key=lambda index: (-sizes[index], index))
    ends = np.cumsum([sizes[index] for index in order])
    # A sentence belongs to the shard in which its middle token falls.
    middles = ends - np.array([sizes[index] for index in order]) / 2
    owners = np.minimum((middles * parts / max(int(ends[-1]), 1)).astype(int), parts - 1)
    return [[index for index, owner in zip(order, owners, strict=True) if owner == part] for part in range(parts)]


def padding_waste(batches: Sequence[Sequence[int]], sizes: Sequence[int]) -> float:
    """Share of the padded cells that hold no subtoken, from 0 to 1."""
    cells = sum(len(batch) * max(sizes[index] for index in batch) for batch in batches)
    return 1 - sum(sizes[index] for batch in batches for index in batch) / max(cells, 1)
