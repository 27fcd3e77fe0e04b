"""ModernBERT: rotary positions, local and global attention in turn, query, key and value in one projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from stemcell.encoders.families.slicing import NoHeads, entries, keep_columns, keep_rows

SDPA = True
WEIGHTS_ON_REQUEST = False


def positions(config: Any) -> int:
    return config.max_position_embeddings


def head_size(config: Any) -> int:
    return config.hidden_size // config.num_attention_heads


def output_projections(model: Any) -> list[nn.Linear]:
    return [layer.attn.Wo for layer in model.layers]


def attentions(model: Any) -> list[nn.Module]:
    return [layer.attn for layer in model.layers]


def keep_heads(model: Any, layer: int, heads: Sequence[int]) -> None:
    block = model.layers[layer]
    attention, size = block.attn, block.attn.head_dim
    present = attention.Wo.in_features // size
    keep_columns(attention.Wo, entries(heads, size))
    if not heads:
        block.attn = NoHeads(Wo=attention.Wo, out_drop=attention.out_drop)
        return
    # All heads' queries, then all their keys, then all their values.
    keep_rows(attention.Wqkv, entries([third * present + head for third in range(3) for head in heads], size))


def prepare(model: Any) -> None:
    """Nothing to mend."""
