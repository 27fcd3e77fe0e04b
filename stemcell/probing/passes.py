"""The passes over the text in which all probes of all heads are taken.

One pass takes the links and sums up the centroids of the text itself, one the centroids of the training text, and a
last one asks which centroid is nearest; no pass is made that nobody needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from stemcell.cpu import fast_linear
from stemcell.errors import UserError
from stemcell.model import MultiTaskModel
from stemcell.probing.capture import capture
from stemcell.probing.centroids import Centroids, item_vectors
from stemcell.probing.controls import CONTROL
from stemcell.probing.items import BatchItems, Text, spans_of_words
from stemcell.probing.links import agreement, favourites, most_attended, offset_heads, outcomes
from stemcell.probing.tally import Tally, sample_weights
from stemcell.probing.words import WordMap, wide, word_map
from stemcell.tasks.probes import LinkProbe, Probe
from stemcell.training.batches import length_batches
from stemcell.training.processes import finite, rank, world

OFFSETS = 6
"""Distances of the fixed-offset heads: 0 to 5 words."""


@dataclass(frozen=True, slots=True)
class Settings:
    """How to go about it.

    Attributes:
        samples: of the bootstrap.
        sentences: in a batch at most.
        tokens: in a batch at most.
        autocast: makes the context of the forward pass.
        tick: called after each batch with the sentences done.
    """

    samples: int = 200
    sentences: int = 32
    tokens: int = 2048
    autocast: Callable[[], AbstractContextManager[Any]] = nullcontext
    tick: Callable[[int], None] = lambda done: None


@dataclass(frozen=True, slots=True)
class Step:
    """One batch as the probes see it: its words, and how often each sentence counts, [1 + samples, sentences]."""

    words: WordMap
    weights: Tensor


class LinkTallies:
    """Scores of a task's links, for the heads of an encoder or for the fixed-offset heads.

    Attributes:
        right: links that hold.
        control: the controls of links that have one.
        selected: how much the latter do better than their control.
    """

    def __init__(self, heads: Sequence[int], new: Callable[[Sequence[int]], Tally]) -> None:
        self.right, self.control, self.selected = new(heads), new(heads), new(heads)

    def add(self, layer: int, either: Tensor, items: BatchItems, step: Step) -> Tensor:
        """Add a batch's links, of which :func:`agreement` says whether they hold; returns which have a control."""
        right, control, controlled = outcomes(either, items, step.words)
        where = items.sentence, items.label, step.weights
        self.right.add(layer, right, *where)
        self.control.add(layer, control, *where)
        self.selected.add(layer, right * controlled[:, None] - control, *where)
        return controlled[:, None]


class Findings:
    """What the passes have found about one task.

    Attributes:
        links: of a link probe.
        offsets: its links, as heads fare that look at fixed distances.
        centroids: of a centroid probe, by mode.
        right: items whose centroid is the nearest, by mode.
        count: items, for one head that stands for all.
        controlled: links that have a control, likewise.
    """

    def __init__(self, probe: Probe, model: MultiTaskModel, labels: int, samples: int, modes: Sequence[str]) -> None:
        encoder = model.encoder
        device = next(model.parameters()).device
        dtype = wide(device)

        def new(heads: Sequence[int]) -> Tally:
            return Tally(heads, labels, samples, device, dtype)

        self.links = self.offsets = None
        self.centroids: dict[str, Centroids] = {}
        self.right: dict[str, Tally] = {}
        self.count, self.controlled = new([1]), new([1])
        if isinstance(probe, LinkProbe):
            self.links, self.offsets = LinkTallies(encoder.heads, new), LinkTallies([OFFSETS], new)
        else:
            for mode in modes:
                self.centroids[mode] = Centroids(encoder.heads, encoder.head_size, labels, device, dtype)
                self.right[mode] = new(encoder.heads)


@dataclass
class Watch:
    """What is done with the attention and the context vectors of a pass over one batch.

    Attributes:
        step: the batch.
        links: by task, the probe, its findings and the batch's items.
        spans: by task, what to do with a layer's item vectors [items, heads, head_size], and the batch's items.
    """

    step: Step
    heads: list[int]
    links: list[tuple[LinkProbe, LinkTallies, BatchItems]] = field(default_factory=list)
    spans: list[tuple[Callable[[int, Tensor], None], Tensor, Tensor]] = field(default_factory=list)

    def attention(self, layer: int, weights: Tensor) -> None:
        """Takes a layer's attention probabilities."""
        words = self.step.words
        favourite = favourites(words.attention(weights))
        for probe, tallies, items in self.links:
            either = agreement(*most_attended(favourite, words, probe.root), words)
            tallies.add(layer, either, items, self.step)

    def contexts(self, layer: int, contexts: Tensor) -> None:
        """Takes a layer's context vectors."""
        vectors = self.step.words.vectors(contexts)
        for take, words, offsets in self.spans:
            take(layer, item_vectors(vectors, words, offsets, self.heads[layer]))


Begin = Callable[[Watch, str, BatchItems], None]
"""Says what a watch is to do for a task with its items of the batch."""


@torch.inference_mode()
def walk(model: MultiTaskModel, text: Text, tasks: Sequence[str], begin: Begin, settings: Settings) -> None:
    """Pass once over a text.

    Raises:
        UserError: if the encoder's output is not finite.
    """
    model.eval()
    device = next(model.parameters()).device
    batches = length_batches(text.sentences.sizes, settings.sentences, settings.tokens)
    for number, indices in enumerate(batches):
        if number % world() == rank():
            batch = text.sentences.batch(indices)
            words = word_map(batch, [text.sentences.subtokens[i] for i in indices], device)
            weights = torch.from_numpy(sample_weights(indices, settings.samples)).to(device, wide(device))
            batch = batch.to(device)
            for group in _groups(model, tasks):
                watch = Watch(Step(words, weights), model.encoder.heads)
                for task in group:
                    items = text.items[task].batch(indices, device)
                    if items is not None:
                        begin(watch, task, items)
                if not watch.links and not watch.spans:
                    continue
                seen = capture(
                    model.encoder, watch.attention if watch.links else None, watch.contexts if watch.spans else None
                )
                with seen, settings.autocast(), fast_linear(device):
                    encoded = model(batch, _task(group[0]))
                if not finite(encoded.states):
                    raise UserError("the encoder's output is not finite (NaN or infinity): it cannot be probed")
        settings.tick(len(indices))


def _groups(model: MultiTaskModel, names: Sequence[str]) -> list[list[str]]:
    """Names of probes by pass over a batch; a control task's gates are those of its task."""
    tasks = dict.fromkeys(map(_task, names))
    return [[name for name in names if _task(name) in group] for group in model.passes(tasks)]


def _task(name: str) -> str:
    return name.removesuffix(CONTROL)


def take_probes(
    model: MultiTaskModel, probes: Mapping[str, Probe], labels: Mapping[str, int], text: Text, train: Text | None,
    settings: Settings,
) -> dict[str, Findings]:  # fmt: skip
    """All probes of all heads, on all processes together.

    Args:
        probes: by task; under a task's name and :data:`CONTROL` that of its control labels.
        labels: how many there are, likewise.
        text: that is probed.
        train: that gives the centroids of ``train-split``, to the tasks that it has.

    Raises:
        UserError: as :func:`walk`.
    """
    spans = [task for task, probe in probes.items() if not isinstance(probe, LinkProbe)]
    trained = [task for task in spans if train and task in train.items]
    found = {
        task: Findings(
            probe, model, labels[task], settings.samples, ["same-split"] + ["train-split"] * (task in trained)
        )
        for task, probe in probes.items()
    }

    def sum_up(mode: str) -> Begin:
        def begin(watch: Watch, task: str, items: BatchItems) -> None:
            own = found[task]
            probe, centroids = probes[task], own.centroids.get(mode)
            if isinstance(probe, LinkProbe):
                assert own.links is not None and own.offsets is not None  # noqa: PT018
                watch.links.append((probe, own.links, items))
                words = watch.step.words
                either = agreement(*offset_heads(OFFSETS, words, probe.root), words)
                controlled = own.offsets.add(0, either, items, watch.step)
                where = items.sentence, items.label, watch.step.weights
                own.count.add(0, torch.ones_like(controlled), *where)
                own.controlled.add(0, controlled, *where)
            elif centroids is not None:
                centroids.count(items.label)
                watch.spans.append((lambda layer, vectors: centroids.add(layer, vectors, items.label),
                                    *spans_of_words(items, watch.step.words)))  # fmt: skip

        return begin

    def score(watch: Watch, task: str, items: BatchItems) -> None:
        own, where = found[task], (items.sentence, items.label, watch.step.weights)
        dtype = watch.step.weights.dtype
        own.count.add(0, torch.ones(len(items.label), 1, device=items.label.device, dtype=dtype), *where)

        def take(layer: int, vectors: Tensor) -> None:
            for mode, centroids in own.centroids.items():
                own.right[mode].add(layer, centroids.right(layer, vectors, items.label).to(dtype), *where)

        watch.spans.append((take, *spans_of_words(items, watch.step.words)))

    if train and trained:
        walk(model, train, trained, sum_up("train-split"), settings)
    walk(model, text, list(probes), sum_up("same-split"), settings)
    if spans:
        for task in spans:
            for centroids in found[task].centroids.values():
                centroids.finish()
        walk(model, text, spans, score, settings)
    return found
