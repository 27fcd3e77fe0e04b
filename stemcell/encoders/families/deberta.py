"""DeBERTa, first version: disentangled attention, query, key and value in one projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from stemcell.encoders.families.slicing import NoHeads, entries, keep_columns, keep_rows, part
from stemcell.errors import UserError

SDPA = False
WEIGHTS_ON_REQUEST = True


def positions(config: Any) -> int:
    return config.max_position_embeddings


def head_size(config: Any) -> int:
    return config.hidden_size // config.num_attention_heads


def output_projections(model: Any) -> list[nn.Linear]:
    return [layer.attention.output.dense for layer in model.encoder.layer]


def attentions(model: Any) -> list[nn.Module]:
    return [layer.attention.self for layer in model.encoder.layer]


def keep_heads(model: Any, layer: int, heads: Sequence[int]) -> None:
    attention = model.encoder.layer[layer].attention
    own, size = attention.self, attention.self.attention_head_size
    if own.talking_head:
        raise UserError(
            "this DeBERTa mixes the attention of its heads with each other (talking_head in its config.json), so that "
            "no head can be removed without changing the others; use an encoder without it"
        )
    index = entries(heads, size)
    keep_columns(attention.output.dense, index)
    if not heads:
        attention.self = NoHeads()
        return
    # Query, key and value of a head follow each other.
    keep_rows(own.in_proj, entries(heads, 3 * size))
    own.q_bias, own.v_bias = part(own.q_bias, index), part(own.v_bias, index)
    for name in ("pos_proj", "pos_q_proj"):
        if hasattr(own, name):
            keep_rows(getattr(own, name), index)
    own.num_attention_heads, own.all_head_size = len(heads), len(index)


def prepare(model: Any) -> None:
    """Lets the attention run under mixed precision.

    Queries are the product of an autocast matrix plus ``q_bias``, which autocast leaves in float32; so they are
    float32 while the scores made of them are not, and filling the masked scores with the lowest float32 value raises
    "value cannot be converted without overflow" (transformers 5.24). Under autocast the bias is therefore given in
    autocast's type for the time of the call. The parameter and its gradient stay float32.
    """
    for layer in model.encoder.layer:
        layer.attention.self.register_forward_pre_hook(_lower_bias)
        layer.attention.self.register_forward_hook(_restore_bias, always_call=True)


def _lower_bias(attention: nn.Module, _: Any) -> None:
    parameter = attention._parameters["q_bias"]
    if parameter is not None and torch.is_autocast_enabled(parameter.device.type):
        # An entry of __dict__ is found before the parameter of the same name.
        attention.__dict__["q_bias"] = parameter.to(torch.get_autocast_dtype(parameter.device.type))


def _restore_bias(attention: nn.Module, *_: Any) -> None:
    attention.__dict__.pop("q_bias", None)
