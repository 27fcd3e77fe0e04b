"""What an encoder costs: parameters, multiply-adds and time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import torch
from torch import Tensor
from torch.func import functional_call
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from stemcell.cpu import fast_linear
from stemcell.encoders.words import WordEncoder
from stemcell.model import MultiTaskModel

WORDS = 40
"""Of a sentence that costs are given for, each word one subtoken; less where the encoder takes less."""
BATCH = 32
SECONDS = 4.0
ROUNDS = range(5, 31)


@dataclass(frozen=True)
class Cost:
    """Of one model.

    Attributes:
        heads: attention heads.
        encoder_parameters: of the encoder.
        parameters: of the whole model.
        multiply_adds: of the encoder on one sentence.
        latency: seconds of the encoder on one sentence.
        words_per_second: of the encoder, in batches of :data:`BATCH` sentences.
    """

    heads: int
    encoder_parameters: int
    parameters: int
    multiply_adds: int
    latency: float
    words_per_second: float


def compare(before: MultiTaskModel, after: MultiTaskModel, device: str) -> tuple[Cost, Cost]:
    """The costs of a model and of what became of it, measured in turn, so that what else the machine does hits both.

    The models are moved to the device.
    """
    models = (before, after)
    encoders = [model.encoder.eval() for model in models]
    length = min(WORDS + 2, encoders[0].limit)
    counts = [multiply_adds(encoder, length) for encoder in encoders]
    for encoder in encoders:
        encoder.to(device)
    single, many = (_times(encoders, _sentences(encoders[0], rows, length)) for rows in (1, BATCH))
    costs = [
        Cost(
            heads=sum(encoder.heads),
            encoder_parameters=_size(encoder),
            parameters=_size(model),
            multiply_adds=count,
            latency=one,
            words_per_second=BATCH * (length - 2) / batch,
        )
        for model, encoder, count, one, batch in zip(models, encoders, counts, single, many, strict=True)
    ]
    return costs[0], costs[1]


def multiply_adds(encoder: WordEncoder, length: int) -> int:
    """Multiplications (each with an addition) in the matrix products of one sentence of so many subtokens."""
    ids = _sentences(encoder, 1, length)
    # The counter fails where parameters are handed from module to module, as DeBERTa does, unless they are constants.
    weights = {name: parameter.detach() for name, parameter in encoder.model.named_parameters()}
    # Fused attention would not be counted on processors.
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        functional_call(encoder.model, weights, (ids,), {"attention_mask": torch.ones_like(ids)})
    return counter.get_total_flops() // 2


def _sentences(encoder: WordEncoder, rows: int, length: int) -> Tensor:
    """Random subtokens, [rows, length], on the encoder's device."""
    ids = torch.randint(encoder.model.config.vocab_size, (rows, length), generator=torch.Generator().manual_seed(0))
    return ids.to(next(encoder.parameters()).device)


@torch.inference_mode()
def _times(encoders: Sequence[WordEncoder], ids: Tensor) -> list[float]:
    """Seconds that each encoder takes for a batch: medians over rounds in which each has its turn."""
    mask = torch.ones_like(ids)
    seconds: list[list[float]] = [[] for _ in encoders]
    begin = time.perf_counter()
    with fast_linear(ids.device):
        for done in range(1 + ROUNDS[-1]):
            for encoder, own in zip(encoders, seconds, strict=True):
                start = time.perf_counter()
                encoder.model(ids, attention_mask=mask)
                if ids.device.type == "cuda":
                    torch.cuda.synchronize()
                own.append(time.perf_counter() - start)
            if done >= ROUNDS[0] and time.perf_counter() - begin > SECONDS / 2:
                break
    # The first round warms up.
    return [median(own[1:]) for own in seconds]


def _size(module: torch.nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())
