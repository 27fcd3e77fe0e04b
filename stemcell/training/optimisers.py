"""The optimiser, its schedule, and what happens to gradients before a step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.distributed
from torch import Tensor, nn

# Gradients travel between processes in pieces of about this many numbers.
BUCKET = 8_000_000
GATES = "gates"
"""The group whose rate has no schedule."""


def adamw(modules: Mapping[str, tuple[nn.Module, float]]) -> torch.optim.AdamW:
    """AdamW, eps 1e-8, no weight decay; a group of parameters per module, each at its rate (docs/method.md, section 4).

    Without decay it is Adam, which the gates have (docs/method.md, section 5). A parameter without a gradient is not
    touched, so that a decoder without a batch stays as it is.
    """
    groups = [
        {"name": name, "params": [p for p in module.parameters() if p.requires_grad], "lr": rate, "peak": rate}
        for name, (module, rate) in modules.items()
    ]
    return torch.optim.AdamW(groups, eps=1e-8, weight_decay=0.0, fused=True)


def set_rates(optimiser: torch.optim.Optimizer, step: int, total: int, warmup: float) -> None:
    """Set the rates of step ``step`` (from 0) of ``total``: linear rise over the warm-up share, then linear fall.

    The gates' rate stays as it is.
    """
    rise = warmup * total
    share = (step + 1) / rise if step + 1 < rise else (total - step) / max(total - rise, 1)
    for group in optimiser.param_groups:
        if group["name"] != GATES:
            group["lr"] = group["peak"] * min(share, 1.0)


def sum_gradients(parameters: Sequence[nn.Parameter]) -> None:
    """Sum gradients over all processes, in place; a process that had no sentence counts as zero."""
    for parameter in parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    bucket: list[Tensor] = []
    for parameter in parameters:
        assert parameter.grad is not None
        bucket.append(parameter.grad)
        if parameter is parameters[-1] or sum(gradient.numel() for gradient in bucket) >= BUCKET:
            flat = torch.cat([gradient.flatten() for gradient in bucket])
            torch.distributed.all_reduce(flat)
            for gradient, part in zip(bucket, flat.split([g.numel() for g in bucket]), strict=True):
                gradient.copy_(part.view_as(gradient))
            bucket = []


def scale_and_clip(parameters: Sequence[nn.Parameter], factor: float, limit: float) -> Tensor:
    """Multiply gradients by ``factor``, then clip them at norm ``limit``, in one pass over them.

    Returns:
        The norm after the factor and before clipping, a scalar tensor on the parameters' device.
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    norm = nn.utils.get_total_norm(gradients) * factor
    torch._foreach_mul_(gradients, factor * torch.clamp(limit / (norm + 1e-6), max=1.0))
    return norm
