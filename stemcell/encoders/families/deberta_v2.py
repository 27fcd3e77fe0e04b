"""DeBERTa, second and third version: disentangled attention, query, key and value apart."""

from __future__ import annotations

from typing import Any

from torch import nn

SDPA = False


def positions(config: Any) -> int:
    return config.max_position_embeddings


def head_size(config: Any) -> int:
    return config.hidden_size // config.num_attention_heads


def output_projections(model: Any) -> list[nn.Linear]:
    return [layer.attention.output.dense for layer in model.encoder.layer]


def prepare(model: Any) -> None:
    """Nothing to mend."""
