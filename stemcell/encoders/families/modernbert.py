"""ModernBERT: rotary positions, local and global attention in turn, query, key and value in one projection."""

from __future__ import annotations

from typing import Any

from torch import nn

SDPA = True


def positions(config: Any) -> int:
    return config.max_position_embeddings


def head_size(config: Any) -> int:
    return config.hidden_size // config.num_attention_heads


def output_projections(model: Any) -> list[nn.Linear]:
    return [layer.attn.Wo for layer in model.layers]


def prepare(model: Any) -> None:
    """Nothing to mend."""
