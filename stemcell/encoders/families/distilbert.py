"""DistilBERT."""

from __future__ import annotations

from typing import Any

from torch import nn

SDPA = True


def positions(config: Any) -> int:
    return config.max_position_embeddings


def head_size(config: Any) -> int:
    return config.dim // config.n_heads


def output_projections(model: Any) -> list[nn.Linear]:
    return [layer.attention.out_lin for layer in model.transformer.layer]


def prepare(model: Any) -> None:
    """Nothing to mend."""
