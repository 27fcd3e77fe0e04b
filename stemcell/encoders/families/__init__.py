"""Encoder families: one small module each, telling where the attention heads of its models are.

None of them can express fewer heads in its own configuration: in transformers 5.24 the head size of every one is the
hidden size over the number of heads, and the output projection is hidden x hidden. So an encoder without some of its
heads says so in ``removed_heads`` of its ``config.json``, which :mod:`stemcell.encoders.load` reads.

To add a family, write a module with the functions of :class:`Family` and name it in :data:`FAMILIES` under the
``model_type`` of its configuration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from torch import nn
from transformers import PreTrainedConfig
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES, MODEL_FOR_MASKED_LM_MAPPING_NAMES

from stemcell.encoders.families import bert, deberta, deberta_v2, distilbert, modernbert
from stemcell.errors import UserError


class Family(Protocol):
    """What a family's module offers."""

    SDPA: bool
    """Whether the models can run on torch's fused attention; where not, they run eagerly."""

    WEIGHTS_ON_REQUEST: bool
    """Whether the modules of :meth:`attentions` return weights only if their third argument is True."""

    def positions(self, config: Any) -> int:
        """The longest input in subtokens, special tokens included."""

    def head_size(self, config: Any) -> int:
        """Size of one head's context vector, the same in all layers."""

    def output_projections(self, model: Any) -> list[nn.Linear]:
        """The attention's output projection of each layer, from the first to the last.

        Its input is the concatenation of the context vectors (attended values) of the layer's heads,
        [..., heads * head_size], head by head.
        """

    def attentions(self, model: Any) -> list[nn.Module]:
        """Each layer's module whose second output is the attention weights, [rows, heads, width, width], if the model
        was built with eager attention; None where the layer has lost all heads."""

    def keep_heads(self, model: Any, layer: int, heads: Sequence[int]) -> None:
        """Removes all other heads of a layer, in place: from query, key and value and whatever else is made head by
        head, and from the output projection.

        Args:
            layer: counted from 0.
            heads: positions among the heads that the layer has, ascending; none leaves the projection's bias alone.

        Raises:
            UserError: heads cannot be removed from this model without changing the others; nothing was changed.
        """

    def prepare(self, model: Any) -> None:
        """Mends in place what of transformers' implementation stands in the way of training."""


FAMILIES: dict[str, Family] = {
    "bert": bert,
    "roberta": bert,
    "electra": bert,
    "xlm-roberta": bert,
    "camembert": bert,
    "deberta": deberta,
    "deberta-v2": deberta_v2,
    "modernbert": modernbert,
    "distilbert": distilbert,
}


def family_of(config: PreTrainedConfig) -> Family:
    """The family of a model.

    Raises:
        UserError: the model is no bidirectional encoder, or its family has no module here.
    """
    kind = config.model_type
    if config.is_encoder_decoder:
        raise UserError(f"'{kind}' models are encoder-decoders; only bidirectional encoders such as BERT can be used")
    decoder_only = kind in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES and kind not in MODEL_FOR_MASKED_LM_MAPPING_NAMES
    if getattr(config, "is_decoder", False) or decoder_only:
        raise UserError(f"'{kind}' models are decoders (left to right); only bidirectional encoders can be used")
    if kind not in FAMILIES:
        raise UserError(
            f"the encoder family '{kind}' has no adapter yet (known: {', '.join(FAMILIES)}). An adapter is one module "
            "in stemcell/encoders/families that says how long an input may be, how large a head is, which linear "
            "layer of each attention block takes the heads' concatenated context vectors, where attention weights "
            "are, and how heads are cut out"
        )
    return FAMILIES[kind]
