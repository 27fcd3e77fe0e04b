"""The little that this project needs from several processes."""

from __future__ import annotations

import signal
from types import FrameType, TracebackType
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from stemcell.signals import stopping


def world() -> int:
    """The number of processes."""
    return dist.get_world_size() if dist.is_available() and dist.is_initialized() else 1


def rank() -> int:
    """This process' number, from 0."""
    return dist.get_rank() if world() > 1 else 0


def summed(values: Tensor) -> Tensor:
    """Values summed over all processes."""
    if world() > 1:
        values = values.clone()
        dist.all_reduce(values)
    return values


def gathered(value: Any) -> list[Any]:
    """Everybody's value, by process, on every process."""
    if world() == 1:
        return [value]
    values: list[Any] = [None] * world()
    dist.all_gather_object(values, value)
    return values


def from_main(value: Any) -> Any:
    """The main process' value, on every process."""
    if world() == 1:
        return value
    values = [value]
    dist.broadcast_object_list(values, src=0)
    return values[0]


class StopRequest:
    """Notes a signal to stop, so that training can save and stop; a second SIGINT interrupts at once."""

    def __init__(self) -> None:
        self.signal = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> StopRequest:
        for number in stopping():
            self._before[number] = signal.signal(number, self._note)
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal and number == signal.SIGINT:
            raise KeyboardInterrupt
        self.signal = number


def finite(values: Tensor) -> bool:
    """Whether all values are finite."""
    return bool(torch.isfinite(values).all())
