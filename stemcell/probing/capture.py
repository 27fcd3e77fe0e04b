"""Attention weights and context vectors, seen as an encoder computes them and never kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

from torch import Tensor, nn

from stemcell.encoders.families import family_of
from stemcell.encoders.words import WordEncoder

See = Callable[[int, Tensor], None]


@contextmanager
def capture(encoder: WordEncoder, weights: See | None = None, contexts: See | None = None) -> Iterator[None]:
    """While it is entered, every pass of the encoder shows what its heads do, layer by layer; its output stays the
    same to the bit.

    Layers without heads are left out. What is shown must be used on the spot and not changed.

    Args:
        weights: called with the layer (from 0) and its attention probabilities, [rows, heads, width, width], from
            the position in the second last dimension to the one in the last. The encoder turns to eager attention.
        contexts: called with the layer and its heads' context vectors (attended values, before gates that are on the
            heads by now), [rows, width, heads * head_size].
    """
    family, model = family_of(encoder.model.config), encoder.model
    with ExitStack() as stack:
        if weights is not None:
            stack.enter_context(_eager(model))
            for layer, module in enumerate(family.attentions(model)):
                if family.WEIGHTS_ON_REQUEST:
                    stack.callback(module.register_forward_pre_hook(_request).remove)
                stack.callback(module.register_forward_hook(partial(_see_weights, weights, layer)).remove)
        if contexts is not None:
            for layer, projection in enumerate(family.output_projections(model)):
                # Ahead of the gates, whose hook stands at the same place.
                hook = partial(_see_context, contexts, layer)
                stack.callback(projection.register_forward_pre_hook(hook, prepend=True).remove)
        yield


@contextmanager
def _eager(model: Any) -> Iterator[None]:
    """Fused attention never has the weights as a matrix."""
    before = model.config._attn_implementation
    if before == "eager":
        yield
        return
    model.set_attn_implementation("eager")
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _request(module: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return (*args[:2], True, *args[3:])


def _see_weights(see: See, layer: int, module: nn.Module, args: Any, output: tuple[Tensor, Tensor | None]) -> None:
    if output[1] is not None:
        see(layer, output[1])


def _see_context(see: See, layer: int, projection: nn.Module, args: tuple[Tensor, ...]) -> None:
    if args[0].shape[-1]:
        see(layer, args[0])
