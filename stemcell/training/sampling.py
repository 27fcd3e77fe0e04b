"""Which task and which sentences each step of training takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from stemcell.training.batches import length_batches


class Step(NamedTuple):
    """One step: its task and the positions of its sentences in the task's training data."""

    task: str
    batch: list[int]


class Schedule:
    """The order of all batches of a training run, a function of the seed alone (docs/method.md, section 4).

    A step's task is drawn with probability proportional to (its number of batches) ** temperature; an epoch is as
    many steps as all tasks have batches. A task's batches come in passes over its data, each with a new order, which
    go on across epochs. Nothing has to be stored to go on in the middle: epochs are derived again from the seed.
    """

    def __init__(
        self, sizes: Mapping[str, Sequence[int]], *, seed: int, temperature: float, sentences: int, tokens: int
    ) -> None:
        self.tasks = list(sizes)
        self._sizes, self._seed = sizes, seed
        self._sentences, self._tokens = sentences, tokens
        self._passes: dict[str, tuple[int, list[list[int]]]] = {}
        self.batches = {task: len(self._pass(task, 0)) for task in self.tasks}
        self.steps_per_epoch = sum(self.batches.values())
        weights = np.array([float(self.batches[task]) ** temperature for task in self.tasks])
        self.probabilities = dict(zip(self.tasks, (weights / weights.sum()).tolist(), strict=True))
        # Where each task stands at the start of each epoch: (pass, batch within it).
        self._starts: list[dict[str, tuple[int, int]]] = [dict.fromkeys(self.tasks, (0, 0))]

    def epoch(self, number: int) -> list[Step]:
        """The steps of an epoch, counted from 0."""
        while len(self._starts) <= number:
            self._walk(len(self._starts) - 1)
        return self._walk(number)

    def effective_epochs(self, epochs: int) -> dict[str, float]:
        """Passes over each task's data that ``epochs`` epochs amount to."""
        drawn = np.zeros(len(self.tasks))
        for number in range(epochs):
            drawn += np.bincount(self._draws(number), minlength=len(self.tasks))
        return {task: float(n) / self.batches[task] for task, n in zip(self.tasks, drawn, strict=True)}

    def _draws(self, number: int) -> np.ndarray:
        generator = np.random.default_rng([self._seed, 0, number])
        return generator.choice(len(self.tasks), self.steps_per_epoch, p=list(self.probabilities.values()))

    def _walk(self, number: int) -> list[Step]:
        places = dict(self._starts[number])
        steps = []
        for draw in self._draws(number):
            task = self.tasks[draw]
            turn, index = places[task]
            batches = self._pass(task, turn)
            steps.append(Step(task, batches[index]))
            places[task] = (turn, index + 1) if index + 1 < len(batches) else (turn + 1, 0)
        if len(self._starts) == number + 1:
            self._starts.append(places)
        return steps

    def _pass(self, task: str, turn: int) -> list[list[int]]:
        if self._passes.get(task, (-1, []))[0] != turn:
            generator = np.random.default_rng([self._seed, 1 + self.tasks.index(task), turn])
            self._passes[task] = turn, length_batches(self._sizes[task], self._sentences, self._tokens, generator)
        return self._passes[task][1]
