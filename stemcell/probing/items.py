"""The items of all probes, in a few whole numbers each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from stemcell.corpora.layers import Example
from stemcell.encoders.words import WordEncoder
from stemcell.probing.words import WordMap
from stemcell.tasks.probes import Link, Probe
from stemcell.training.data import Sentences


@dataclass(frozen=True, slots=True)
class BatchItems:
    """Items of a batch, each attribute a tensor [items]; words count from 1, 0 is the root, ends are included.

    Attributes:
        sentence: in the batch.
        source: of a link; 0 for a span.
        start: first word.
        end: last word.
        label: its number.
    """

    sentence: Tensor
    source: Tensor
    start: Tensor
    end: Tensor
    label: Tensor


class Items:
    """Items of one task in the distinct sentences of a text.

    Attributes:
        table: [items, 4], int32: source, first word, last word, label; words count from 1, a span's source is 0.
        begin: [sentences + 1], where in the table each sentence's items begin.
    """

    def __init__(self, rows: Sequence[tuple[int, ...]], sentences: int) -> None:
        """Items of (sentence, source, first word, last word, label), in any order."""
        table = np.array(rows, np.int32).reshape(-1, 5)
        table = table[np.argsort(table[:, 0], kind="stable")]
        self.begin = np.searchsorted(table[:, 0], np.arange(sentences + 1))
        self.table = table[:, 1:]

    def batch(self, sentences: Sequence[int], device: torch.device) -> BatchItems | None:
        """The items of a batch of sentences; None if there are none."""
        parts = [self.table[self.begin[sentence] : self.begin[sentence + 1]] for sentence in sentences]
        owner = np.repeat(np.arange(len(parts)), [len(part) for part in parts])
        if not len(owner):
            return None
        columns = np.column_stack([owner, np.concatenate(parts)]).astype(np.int64)
        return BatchItems(*torch.from_numpy(columns.T.copy()).to(device))


class Text:
    """Sentences of several tasks, equal ones together, with the items of each task.

    Attributes:
        sentences: the distinct ones.
        items: by task.
    """

    def __init__(
        self, encoder: WordEncoder, examples: Mapping[str, Iterable[Example]], probes: Mapping[str, Probe],
        labels: Mapping[str, dict[str, int]],
    ) -> None:  # fmt: skip
        """Args:
        labels: by task, a number for each label; new ones are added.
        """
        places: dict[tuple[str, ...], int] = {}
        rows: dict[str, list[tuple[int, ...]]] = {}
        for task, probe in probes.items():
            numbers, own = labels[task], rows.setdefault(task, [])
            for example in examples[task]:
                place = places.setdefault(example.words, len(places))
                for item in probe.items(example.gold):
                    number = numbers.setdefault(item.label, len(numbers))
                    if isinstance(item, Link):
                        own.append((place, item.source, item.start, item.end, number))
                    else:
                        own.append((place, 0, item.start + 1, item.end + 1, number))
        self.sentences = Sentences(encoder, places)
        self.items = {task: Items(own, len(places)) for task, own in rows.items()}


def spans_of_words(items: BatchItems, words: WordMap) -> tuple[Tensor, Tensor]:
    """The words of items: their numbers in the batch, item after item, and where each item starts, [items]."""
    first = torch.tensor(words.first, device=items.start.device)[items.sentence] + items.start - 1
    count = items.end - items.start + 1
    offsets = count.cumsum(0) - count
    steps = torch.arange(int(count.sum()), device=count.device)
    return steps + (first - offsets).repeat_interleave(count), offsets
