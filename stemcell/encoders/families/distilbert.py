"""DistilBERT."""

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
    return config.dim // config.n_heads


def output_projections(model: Any) -> list[nn.Linear]:
    return [layer.attention.out_lin for layer in model.transformer.layer]


def attentions(model: Any) -> list[nn.Module]:
    return [layer.attention for layer in model.transformer.layer]


def keep_heads(model: Any, layer: int, heads: Sequence[int]) -> None:
    block = model.transformer.layer[layer]
    attention, index = block.attention, entries(heads, head_size(model.config))
    keep_columns(attention.out_lin, index)
    if not heads:
        block.attention = NoHeads(out_lin=attention.out_lin)
        return
    for projection in (attention.q_lin, attention.k_lin, attention.v_lin):
        keep_rows(projection, index)
    attention.n_heads = len(heads)


def prepare(model: Any) -> None:
    """Nothing to mend."""
