"""DeBERTa, second and third version: disentangled attention, query, key and value apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from stemcell.encoders.families.slicing import NoHeads, entries, keep_columns, keep_rows

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
    own, index = attention.self, entries(heads, attention.self.attention_head_size)
    keep_columns(attention.output.dense, index)
    if not heads:
        attention.self = NoHeads()
        return
    # Relative positions have projections of their own, unless they share those of the words.
    for name in ("query_proj", "key_proj", "value_proj", "pos_key_proj", "pos_query_proj"):
        if hasattr(own, name):
            keep_rows(getattr(own, name), index)
    own.num_attention_heads, own.all_head_size = len(heads), len(index)


def prepare(model: Any) -> None:
    """Nothing to mend."""
