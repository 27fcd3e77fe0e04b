"""Balancing the losses of several tasks (docs/method.md, section 4)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

WINDOW = 5


class LossBalance:
    """A batch's loss is multiplied by (sum over tasks of m_t') / m_t, m_t the mean of task t's last five losses."""

    def __init__(self, tasks: Iterable[str]) -> None:
        self._losses: dict[str, deque[float]] = {task: deque(maxlen=WINDOW) for task in tasks}

    def factor(self, task: str, loss: float) -> float:
        """Take a batch's loss and return its factor; 1 with a single task. Tasks not yet seen count not at all."""
        self._losses[task].append(loss)
        if len(self._losses) == 1:
            return 1.0
        means = {name: sum(losses) / len(losses) for name, losses in self._losses.items() if losses}
        # A loss of exactly 0 has a gradient of 0, whatever it is multiplied by.
        return sum(means.values()) / means[task] if means[task] else 1.0

    def state(self) -> dict[str, list[float]]:
        """The last losses, for a checkpoint."""
        return {task: list(losses) for task, losses in self._losses.items()}

    def restore(self, state: Mapping[str, Iterable[float]]) -> None:
        """The inverse of :meth:`state`."""
        for task, losses in state.items():
            self._losses[task].extend(losses)
