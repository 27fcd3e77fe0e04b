"""A dozen sentences with their gold items, and the attention of every head between their words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stemcell.corpora.layers import Example
from stemcell.model import MultiTaskModel
from stemcell.probing.capture import capture
from stemcell.probing.words import WordMap, word_map
from stemcell.tasks import task as find_task
from stemcell.tasks.con.probe import at_height
from stemcell.tasks.probes import Link

Words = tuple[str, ...]
Item = tuple[int | None, int, int, str]
"""Source (0 is the root, None of what is no link), first and last word from 1, and label."""
Gold = dict[Words, dict[str, list[Item]]]
"""Items by sentence and task."""
SHORTEST, LONGEST, COUNT = 6, 25, 12
"""Words in a sentence, and sentences."""
ROOM = 1_500_000
"""Attention weights at most, over all sentences, heads and sets of gates: a byte each."""


@dataclass(frozen=True)
class Examples:
    """Sentences and their attention.

    Attributes:
        gold: the items of each sentence, from short to long.
        attention: by set of gates (or one, ``""``, without gates) for each sentence [heads, 1 + words, 2 + words] from
            0 to 1: of the heads that there are, layer by layer, from a position (0 is the first special token) to each
            position and, in the last column, to all that is not shown: the last special token, and in a sentence of
            several windows nothing else.
    """

    gold: Gold
    attention: dict[str, list[np.ndarray]]


def gold_items(layers: Mapping[str, Sequence[Example]], con_height: int | None = 3) -> Gold:
    """What the probes ask for, of every sentence once."""
    found: Gold = {}
    for task, layer in layers.items():
        probe: Any = at_height(con_height) if task == "con" else find_task(task).probe
        for example in layer:
            own = found.setdefault(example.words, {})
            if task not in own:
                own[task] = [_item(item) for item in probe.items(example.gold)]
    return found


def _item(item: Any) -> Item:
    if isinstance(item, Link):
        return item.source, item.start, item.end, item.label
    return None, item.start + 1, item.end + 1, item.label


def choose(gold: Gold, heads: int, count: int = COUNT) -> list[Words]:
    """Sentences of :data:`SHORTEST` to :data:`LONGEST` words (or, if there are none, of fewer) that show what is
    frequent: each adds most to the share of its tasks' items whose label is shown, by the root of its words.

    The same corpus gives the same ones, from short to long.

    Args:
        gold: of all sentences.
        heads: whose attention has to fit into :data:`ROOM`, over all sets of gates.
        count: of sentences at most.
    """
    labels = {words: {(task, item[3]) for task, items in own.items() for item in items} for words, own in gold.items()}
    every = Counter((task, item[3]) for own in gold.values() for task, items in own.items() for item in items)
    sizes: Counter[str] = Counter()
    for (task, _), number in every.items():
        sizes[task] += number
    fit = [words for words in gold if SHORTEST <= len(words) <= LONGEST]
    fit = fit or [words for words in gold if len(words) < SHORTEST]

    chosen: list[Words] = []
    new, room = set(every), ROOM
    while len(chosen) < count and (fit := [words for words in fit if _size(words, heads) <= room]):
        gains = {words: sum(every[label] / sizes[label[0]] for label in labels[words] & new) for words in fit}
        best = max(fit, key=lambda words: gains[words] / len(words) ** 0.5)
        if not gains[best] and new != set(every):
            new = set(every)  # All that there is was shown: once more.
            continue
        chosen.append(best)
        fit.remove(best)
        new -= labels[best]
        room -= _size(best, heads)
    return sorted(chosen, key=len)


def _size(words: Words, heads: int) -> int:
    return heads * (len(words) + 1) * (len(words) + 2)


def take_examples(
    model: MultiTaskModel, layers: Mapping[str, Sequence[Example]], con_height: int | None = 3
) -> Examples:  # fmt: skip
    """Choose sentences and pass them through the encoder, with each set of gates.

    Args:
        model: on its device.
        layers: the sentences of each task.
        con_height: of the constituents that were probed; all if None.
    """
    passes = model.passes(layers)
    gold = gold_items(layers, con_height)
    sentences = choose(gold, len(passes) * sum(map(len, model.encoder.kept_heads)))
    attention = {}
    for task, *_ in passes:
        name = model.gates.set_of(task) if model.gates is not None else ""
        attention[name] = [attend(model, words, task) for words in sentences]
    return Examples({words: gold[words] for words in sentences}, attention)


@torch.inference_mode()
def attend(model: MultiTaskModel, words: Words, task: str) -> np.ndarray:
    """One sentence's attention as in :class:`Examples`, [heads, 1 + words, 2 + words] float64; a row adds up to 1."""
    model.eval()
    device = next(model.parameters()).device
    subtokens = model.encoder.tokenize(words)
    batch = model.encoder.collate([subtokens], [words])
    where = word_map(batch, [subtokens], device)
    size = len(words) + 1
    found: list[np.ndarray] = []

    def see(layer: int, weights: Tensor) -> None:
        found.append(_between_words(where, weights).cpu().numpy())

    with capture(model.encoder, weights=see):
        model(batch.to(device), task)
    between = np.concatenate(found) if found else np.zeros((0, size, size))
    return np.concatenate([between, 1 - between.sum(-1, keepdims=True)], axis=-1)


def _between_words(words: WordMap, weights: Tensor) -> Tensor:
    """Attention of one sentence, [heads, size, size], from a word the mean over its subtokens."""
    home, place = words.home[0], torch.arange(words.read.shape[1], device=weights.device)
    sums = words.attention(weights)[home, :, place]
    return (sums / words.read.sum(-1)[home, place][:, None, None]).transpose(0, 1)
