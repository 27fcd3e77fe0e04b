"""Pruning for real (docs/method.md, section 5): what gates do is built into the encoder, which needs none then."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from stemcell.errors import UserError, unknown
from stemcell.heads.maps import JOINT
from stemcell.model import MultiTaskModel


def gate_set(model: MultiTaskModel, task: str | None) -> str | None:
    """The name of the set of gates that is to be built in; None if the model has no gates.

    Args:
        task: whose gates, where each task has its own.

    Raises:
        UserError: the model wants a task and it is not one of its own, or it wants none.
    """
    gates = model.gates
    if gates is None or not gates.per_task:
        if task is not None:
            kind = "no gates" if gates is None else "one set of gates for all tasks"
            raise UserError(f"task {task}: this model has {kind}, so that it is exported as a whole; leave --task out")
        return None if gates is None else JOINT
    if task is None:
        raise UserError(
            "each task of this model has gates of its own, and an encoder without gates serves one of them; "
            f"choose it with --task: {', '.join(gates.sets)}"
        )
    if task not in gates.sets:
        raise unknown("task", task, gates.sets)
    return task


@torch.no_grad()
def fold(model: MultiTaskModel, task: str | None = None) -> list[Tensor]:
    """Multiply evaluation gates into the columns of the output projections, and drop gates and their hooks.

    The outputs stay the same up to rounding. With gates of each task, the other tasks' decoders are dropped too.

    Returns:
        The gates of each layer, [heads] on the CPU; 1 where there were none.

    Raises:
        UserError: as :func:`gate_set`.
    """
    chosen, encoder = gate_set(model, task), model.encoder
    if chosen is None or model.gates is None:
        return [torch.ones(count) for count in encoder.heads]
    values = list(model.gates.values()[chosen].split(encoder.heads))
    for projection, gates in zip(encoder.output_projections(), values, strict=True):
        weight = projection.weight
        weight.mul_(gates.repeat_interleave(encoder.head_size).to(weight))
    model.gates.detach()
    model.gates = None
    if task is not None:
        model.decoders = nn.ModuleDict({task: model.decoders[task]})
    return values


def remove(model: MultiTaskModel, task: str | None = None, threshold: float = 0.0) -> None:
    """Build the gates into the encoder, in place: heads whose gate is at most the threshold are removed.

    With threshold 0 the outputs stay the same up to rounding; with a higher one, heads that still had some part in
    them go too. Which are left is :attr:`WordEncoder.kept_heads`.

    Args:
        task: whose gates, where each task has its own; the other tasks' decoders are dropped.
        threshold: from 0 to below 1.

    Raises:
        UserError: as :func:`gate_set`, or heads cannot be removed from this encoder.
    """
    layers = fold(model, task)
    model.encoder.keep_heads([torch.nonzero(gates > threshold).flatten().tolist() for gates in layers])
