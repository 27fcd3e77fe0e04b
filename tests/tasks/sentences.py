"""Word vectors and sentences for the decoders' tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import nn

from stemcell.corpora.layers import Example
from stemcell.encoders.encoded import Encoded

HIDDEN = 12


def example(length: int, gold: Any) -> Example:
    return Example(f"{length} words", tuple(f"w{i}" for i in range(length)), gold)


def encoded(lengths: Sequence[int], further: int = 0) -> Encoded:
    """Random vectors, the same for the k-th word of a sentence of n words in every batch; ``further`` adds padding."""
    states = torch.zeros(len(lengths), max(lengths) + 2 + further, HIDDEN)
    for row, length in zip(states, lengths, strict=True):
        row[: length + 2] = torch.randn(length + 2, HIDDEN, generator=torch.Generator().manual_seed(length))
    return Encoded(states, list(lengths), [tuple(f"w{i}" for i in range(length)) for length in lengths])


def randomised(decoder: Any, scale: float = 0.3) -> Any:
    """The decoder in evaluation mode with random parameters."""
    generator = torch.Generator().manual_seed(7)
    for parameter in decoder.parameters():
        nn.init.normal_(parameter, std=scale, generator=generator)
    return decoder.eval()


def check_sums_do_not_depend_on_the_batch(decoder: Any, examples: list[Example]) -> None:
    """One batch, a batch with more padding and single sentences give the same loss and the same annotations."""
    lengths = [len(example.words) for example in examples]
    targets = [decoder.target(example) for example in examples]
    together = decoder.loss(encoded(lengths), targets)
    alone = [decoder.loss(encoded([n]), [target]) for n, target in zip(lengths, targets, strict=True)]
    torch.testing.assert_close(together, torch.stack(alone).sum(0), rtol=1e-5, atol=1e-4)
    torch.testing.assert_close(together, decoder.loss(encoded(lengths, further=5), targets), rtol=1e-5, atol=1e-4)
    found = decoder.decode(encoded(lengths, further=5))
    assert found == [decoder.decode(encoded([n]))[0] for n in lengths]


def check_trains(decoder: Any, examples: list[Example], steps: int = 60) -> None:
    """Gradients reach the vectors and every parameter, and some steps on a few sentences more than halve the loss."""
    decoder.train()
    lengths = [len(example.words) for example in examples]
    targets = [decoder.target(example) for example in examples]
    optimiser = torch.optim.Adam(decoder.parameters(), lr=1e-2)
    losses = []
    for _ in range(steps):
        inputs = encoded(lengths)
        inputs.states.requires_grad_()
        loss = decoder.loss(inputs, targets).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < losses[0] / 2
    assert inputs.states.grad.abs().sum() > 0
    assert all(parameter.grad.abs().sum() > 0 for parameter in decoder.parameters())


def check_bfloat16(decoder: Any, examples: list[Example]) -> None:
    """Under autocast the loss is finite, float32 and near the float32 one, and gradients are finite."""
    lengths = [len(example.words) for example in examples]
    targets = [decoder.target(example) for example in examples]
    with torch.autocast("cpu", torch.bfloat16):
        loss = decoder.loss(encoded(lengths), targets)
        assert len(decoder.decode(encoded(lengths))) == len(examples)
    assert loss.dtype == torch.float32
    torch.testing.assert_close(loss, decoder.loss(encoded(lengths), targets), rtol=0.05, atol=0.05)
    loss.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in decoder.parameters())
