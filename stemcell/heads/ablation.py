"""Models without some of their heads, exactly, as long as it is asked for: what a gate of 0 does."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from stemcell.encoders.words import WordEncoder


@contextmanager
def without(encoder: WordEncoder, heads: Iterable[tuple[int, int]]) -> Iterator[None]:
    """Set the attended values of heads to 0 before the attention's output projection.

    Args:
        heads: layer and head of each, from 0, by the numbers that they had before any head was removed.

    Raises:
        ValueError: if one is not there.
    """
    hooks = []
    try:
        for layer, projection in enumerate(encoder.output_projections()):
            kept = list(encoder.kept_heads[layer])
            places = [kept.index(head) for own, head in heads if own == layer]
            if places:
                hooks.append(projection.register_forward_pre_hook(_silence(places, encoder.head_size)))
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _silence(places: list[int], size: int) -> Any:
    def hook(projection: nn.Module, args: tuple[Any, ...]) -> tuple[Any, ...]:
        context = args[0].clone()
        for place in places:
            context[..., place * size : (place + 1) * size] = 0
        return (context, *args[1:])

    return hook
