"""How fast a layer is here, at each precision."""

from __future__ import annotations

import time
from functools import cache

import torch
from torch.nn import functional

from stemcell.cpu import fast_linear

TYPES = {"no": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}


def layer_seconds(device: torch.device | str, precision: str, size: int, repeats: int = 5) -> float:
    """The seconds of a linear layer's forward and backward, [size, size] by [size, size], as training does them.

    Forward and the gradient of the weights are two products of size³ multiply-adds each. The shortest of several times
    counts, since what else the machine does only adds to it.

    Args:
        precision: no, bf16 or fp16.

    Raises:
        RuntimeError: if the device cannot do it, or gradients are not finite.
    """
    device = torch.device(device)
    # No random numbers: a run's own must not depend on this.
    weight = torch.ones(size, size, device=device, requires_grad=True)
    batch = torch.ones(size, size, device=device)

    def step() -> float:
        start = time.perf_counter()
        with fast_linear(device), torch.autocast(device.type, TYPES[precision], enabled=precision != "no"):
            result = functional.linear(batch, weight)
        (gradient,) = torch.autograd.grad(result.float().mean(), weight)
        # Reading a value waits until the device is done.
        if not float(gradient.sum()) < float("inf"):
            raise RuntimeError("gradients are not finite")
        return time.perf_counter() - start

    step()
    return min(step() for _ in range(repeats))


@cache
def slowdown(precision: str) -> float:
    """How many times as long as float32 a precision takes on this processor.

    Processors without instructions for a precision emulate it: bf16 is twice as fast as float32 on some, and twenty
    times slower on others.
    """
    return layer_seconds("cpu", precision, 384) / layer_seconds("cpu", "no", 384)
