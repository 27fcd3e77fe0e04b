"""Where the heads are: the input of the output projection is the heads' attended values, in every family."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import AlbertConfig, BertConfig, GPT2Config, T5Config

from stemcell.encoders.families import family_of
from stemcell.errors import UserError
from tests.encoders.small import FAMILIES, HEAD_SIZE, HEADS, LAYERS, SENTENCES, small


def _projection_inputs(encoder: Any, batch: Any, **choices: bool) -> tuple[list[Tensor], Any]:
    taken: list[Tensor] = []
    hooks = [
        projection.register_forward_pre_hook(lambda _, inputs: taken.append(inputs[0]))
        for projection in encoder.output_projections()
    ]
    with torch.no_grad():
        output = encoder.model(batch.ids, attention_mask=batch.mask, **choices)
    for hook in hooks:
        hook.remove()
    return taken, output


@pytest.mark.parametrize("family", FAMILIES)
def test_each_layer_projects_all_heads_once(family: str) -> None:
    encoder = small(family)
    batch = encoder.collate(encoder.tokenize_all(SENTENCES), SENTENCES)
    taken, output = _projection_inputs(encoder, batch)
    assert encoder.heads == [HEADS] * LAYERS
    assert encoder.head_size == HEAD_SIZE
    assert [tuple(value.shape) for value in taken] == [(*batch.ids.shape, HEADS * HEAD_SIZE)] * LAYERS
    assert output.last_hidden_state.shape[-1] == encoder.hidden


def _values(family: str, encoder: Any, layer: int, states: Tensor) -> Tensor:
    """The value vectors that a layer computes from the states below it, [rows, heads, width, head_size]."""
    if family == "modernbert":
        block = encoder.model.layers[layer]
        values = block.attn.Wqkv(block.attn_norm(states)).chunk(3, dim=-1)[2]
    elif family == "distilbert":
        values = encoder.model.transformer.layer[layer].attention.v_lin(states)
    elif family == "tiny-deberta":
        attention = encoder.model.encoder.layer[layer].attention.self
        packed = attention.in_proj(states).unflatten(-1, (HEADS, 3 * HEAD_SIZE))
        values = packed[..., 2 * HEAD_SIZE :].flatten(-2) + attention.v_bias
    elif family == "deberta-v3":
        values = encoder.model.encoder.layer[layer].attention.self.value_proj(states)
    else:
        values = encoder.model.encoder.layer[layer].attention.self.value(states)
    return values.unflatten(-1, (HEADS, HEAD_SIZE)).transpose(1, 2)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_projection_takes_the_values_weighted_by_attention(family: str) -> None:
    encoder = small(family, "eager")
    batch = encoder.collate(encoder.tokenize_all(SENTENCES[:3]), SENTENCES[:3])
    taken, output = _projection_inputs(encoder, batch, output_attentions=True, output_hidden_states=True)
    for layer in range(LAYERS):
        context = output.attentions[layer] @ _values(family, encoder, layer, output.hidden_states[layer])
        expected = context.transpose(1, 2).flatten(-2)
        real = batch.mask.bool()
        torch.testing.assert_close(taken[layer][real], expected[real], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("family", FAMILIES)
def test_eager_and_fused_attention_agree(family: str) -> None:
    fused, eager = small(family), small(family, "eager")
    batch = fused.collate(fused.tokenize_all(SENTENCES), SENTENCES)
    with torch.no_grad():
        torch.testing.assert_close(fused(batch).states, eager(batch).states, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (T5Config(), "'t5' models are encoder-decoders"),
        (GPT2Config(), "'gpt2' models are decoders"),
        (BertConfig(is_decoder=True), "'bert' models are decoders"),
        (AlbertConfig(), "the encoder family 'albert' has no adapter yet .*output|linear layer"),
    ],
)
def test_other_models_are_refused_by_name(config: Any, message: str) -> None:
    with pytest.raises(UserError, match=message):
        family_of(config)
