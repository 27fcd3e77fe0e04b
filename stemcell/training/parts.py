"""A step's batch, cut into the parts that processes and accumulation steps take, made while the step before runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import torch

from stemcell.encoders.words import Batch
from stemcell.tasks.protocol import Target
from stemcell.training.batches import cut
from stemcell.training.data import TrainingData
from stemcell.training.processes import rank, world
from stemcell.training.sampling import Step


class Prepared(NamedTuple):
    """This process' parts of a step.

    Attributes:
        counts: denominators of the loss' terms over the whole batch, whoever computes its parts.
        parts: seed, batch and gold of each.
    """

    counts: list[float]
    parts: list[tuple[int, Batch, list[Target]]]


class Parts:
    """Cuts batches into parts; made from the training data of each task."""

    def __init__(self, data: Mapping[str, TrainingData], seed: int, accumulation: int, device: torch.device) -> None:
        self._data, self._seed, self._accumulation, self._device = data, seed, accumulation, device

    def of(self, steps: list[Step], first: int) -> Iterator[tuple[Step, Prepared]]:
        """Steps with their parts, each made by another thread while the one before is computed.

        Args:
            first: the number of the first of these steps in the whole run.
        """
        with ThreadPoolExecutor(1) as ahead:
            coming = [ahead.submit(self.prepare, step, first + i) for i, step in enumerate(steps[:1])]
            for i, step in enumerate(steps):
                if i + 1 < len(steps):
                    coming.append(ahead.submit(self.prepare, steps[i + 1], first + i + 1))
                yield step, coming.pop(0).result()

    def prepare(self, step: Step, number: int) -> Prepared:
        """The parts of a step, which is the ``number``-th of the run."""
        data = self._data[step.task]
        pieces = cut(step.batch, data.sizes, world() * self._accumulation)
        parts = []
        for index in range(rank(), len(pieces), world()):
            if pieces[index]:
                # The noise of a part depends on the part alone, not on who computes it.
                batch = data.batch(pieces[index]).to(self._device)
                parts.append((seed_of(self._seed, number, index), batch, [data.target(i) for i in pieces[index]]))
        return Prepared(data.counts(step.batch), parts)


def seed_of(*numbers: int) -> int:
    """A seed for a random generator that other numbers do not have."""
    return int(np.random.SeedSequence(list(numbers)).generate_state(1, np.uint64)[0]) & (2**63 - 1)
