"""BERT (MiniLM and the like) and its relatives of the same build: RoBERTa, XLM-R, CamemBERT, ELECTRA."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from stemcell.encoders.families.slicing import NoHeads, entries, keep_columns, keep_rows

SDPA = True
WEIGHTS_ON_REQUEST = False


def positions(config: Any) -> int:
    """RoBERTa and its kind number positions from their padding id + 1, so that 514 of them take 512 subtokens."""
    if config.model_type in ("roberta", "xlm-roberta", "camembert"):
        return config.max_position_embeddings - config.pad_token_id - 1
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
    for projection in (own.query, own.key, own.value):
        keep_rows(projection, index)
    own.num_attention_heads, own.all_head_size = len(heads), len(index)


def prepare(model: Any) -> None:
    """Nothing to mend."""
