"""Taking heads out of attention layers: what the families' ``keep_heads`` are made of."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn


class NoHeads(nn.Module):
    """Stands in the place of the attention of a layer that has lost all heads: its context is empty, [..., 0].

    The output projection of no columns then gives its bias alone, and the residual is left as it is.

    Args:
        after: modules by name that were part of the attention and come after the heads, in their order.
    """

    def __init__(self, **after: nn.Module) -> None:
        super().__init__()
        for name, module in after.items():
            self.add_module(name, module)

    def forward(self, states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, None]:
        """What attention layers return: the output, and in the place of attention weights None."""
        output = states[..., :0]
        for module in self.children():
            output = module(output)
        return output, None


def entries(heads: Sequence[int], size: int) -> Tensor:
    """Where the entries of some heads are in a row of all heads side by side, [len(heads) * size]."""
    return (torch.tensor(heads, dtype=torch.long)[:, None] * size + torch.arange(size)).flatten()


def keep_rows(linear: nn.Linear, index: Tensor) -> None:
    """Cut a linear layer down to some of its outputs, in place."""
    linear.weight = part(linear.weight, index)
    if linear.bias is not None:
        linear.bias = part(linear.bias, index)
    linear.out_features = len(index)


def keep_columns(linear: nn.Linear, index: Tensor) -> None:
    """Cut a linear layer down to some of its inputs, in place; the bias stays."""
    linear.weight = part(linear.weight, index, 1)
    linear.in_features = len(index)


def part(parameter: Tensor, index: Tensor, dimension: int = 0) -> nn.Parameter:
    """A new parameter of some of the entries along a dimension, trainable if the old one was."""
    values = parameter.detach().index_select(dimension, index.to(parameter.device))
    return nn.Parameter(values, requires_grad=parameter.requires_grad)
