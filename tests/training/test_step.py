"""One training step on its own: what balances the gates' penalty, and what a gradient scaler does to a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from torch import Tensor

from stemcell.config import RunConfig
from stemcell.corpora.demo import write_demo
from stemcell.training import checkpoints, loop
from stemcell.training.display import Display
from stemcell.training.loop import Trainer
from stemcell.training.setup import prepare

GATED = {"prune": "dynamic", "gate_lr": 0.1, "l0_penalty": 0.5}


class Log:
    """A tracker that keeps metrics in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.steps: list[dict[str, float]] = []

    def metrics(self, step: int, values: Mapping[str, Any]) -> None:
        assert step == len(self.steps) + 1
        self.steps.append({name: float(value) for name, value in values.items()})

    def position(self) -> dict[str, int]:
        return {}

    def rewind(self, position: Any) -> None:
        pass


Make = Callable[..., Trainer]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("step") / "demo"
    write_demo(folder, sizes=(24, 8, 8))
    return folder


@pytest.fixture
def make(corpus: Path, tmp_path: Path) -> Make:
    def made(scaler: Any = None, **choices: Any) -> Trainer:
        config = RunConfig(
            data=str(corpus), encoder="tiny-bert", tasks=("pos", "con"), batch_sentences=8, epochs=2,
            encoder_lr=1e-3, **choices,
        )  # fmt: skip
        accelerator = Accelerator(cpu=True)
        accelerator.scaler = scaler
        return Trainer(config, prepare(config), accelerator, Log(tmp_path))  # type: ignore[arg-type]

    return made


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    before = torch.get_rng_state()
    yield
    torch.set_rng_state(before)


def train(trainer: Trainer, steps: int) -> list[dict[str, float]]:
    """Train so many steps more; returns the metrics of all steps so far."""
    planned = [step for epoch in range(trainer.config.epochs) for step in trainer.setup.schedule.epoch(epoch)]
    for number in range(trainer.progress.total, trainer.progress.total + steps):
        step = planned[number]
        trainer._step(step, trainer._parts.prepare(step, number), Display("", 10**6, False))
    return trainer.tracker.steps  # type: ignore[attr-defined,no-any-return]


def weights(trainer: Trainer) -> dict[str, Tensor]:
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def moments_of(trainer: Trainer) -> dict[str, Tensor]:
    """What Adam knows, its count of steps included."""
    tensors = checkpoints.optimiser_tensors(trainer.optimiser, trainer.model)
    return {name: value.clone() for name, value in tensors.items()}


def differing(one: Mapping[str, Tensor], other: Mapping[str, Tensor]) -> list[str]:
    return [name for name in one if not torch.equal(one[name], other[name])]


@pytest.mark.parametrize("balanced", [False, True])
def test_the_penalty_is_balanced_only_on_request(make: Make, monkeypatch: pytest.MonkeyPatch, balanced: bool) -> None:
    trainer = make(**GATED, balance_penalty=balanced)
    gates = trainer.model.gates
    assert gates is not None
    parameter = gates.parameter("pos")
    from_loss: list[Tensor] = []
    slopes: list[Tensor] = []
    used: list[Tensor] = []
    real_scale, real_step = loop.scale_and_clip, trainer.optimiser.step

    def scale_and_clip(*arguments: Any) -> Tensor:
        # The gates' own gradient, before anything is done to it, and the penalty's slope by hand.
        assert parameter.grad is not None
        from_loss.append(parameter.grad.clone())
        probability = gates.concrete.open_probability(parameter.detach())
        slopes.append(0.5 / len(gates.heads) * probability * (1 - probability))
        return real_scale(*arguments)

    def step() -> None:
        assert parameter.grad is not None
        used.append(parameter.grad.clone())
        real_step()

    monkeypatch.setattr(loop, "scale_and_clip", scale_and_clip)
    monkeypatch.setattr(trainer.optimiser, "step", step)
    seen: dict[str, list[float]] = {}
    for number, logged in enumerate(train(trainer, 5)):
        (task,) = (name.partition("/")[2] for name in logged if name in ("loss/pos", "loss/con"))
        penalty = logged["loss/penalty"]
        assert penalty > 0.1
        seen.setdefault(task, []).append(logged[f"loss/{task}"] + (penalty if balanced else 0.0))
        means = {name: sum(losses) / len(losses) for name, losses in seen.items()}
        factor = sum(means.values()) / means[task]
        assert logged[f"balance/{task}"] == pytest.approx(factor, rel=1e-6)
        expected = factor * from_loss[number] + (factor if balanced else 1.0) * slopes[number]
        torch.testing.assert_close(used[number], expected)
    assert len(seen) == 2
    assert factor > 1.2, "or neither way would be told from the other"


def scaler(scale: float) -> torch.amp.GradScaler:
    """What fp16 has on a GPU."""
    return torch.amp.GradScaler("cpu", init_scale=scale, growth_interval=2)


def test_a_scaled_loss_takes_the_steps_of_a_plain_one(make: Make) -> None:
    plain, scaled = make(**GATED), make(scaler(2.0**12), **GATED)
    logged = train(scaled, 5)
    without_speed = [{name: value for name, value in step.items() if name[:5] != "speed"} for step in logged]
    for found, expected in zip(without_speed, train(plain, 5), strict=True):
        assert found == pytest.approx({name: expected[name] for name in found}, rel=1e-4)
    torch.testing.assert_close(weights(scaled), weights(plain), rtol=1e-4, atol=1e-5)
    assert scaled.accelerator.scaler.get_scale() == 2.0**14, "grown twice"


def test_an_overflow_skips_the_step_and_the_schedule_goes_on(make: Make) -> None:
    plain, overflowed = make(**GATED), make(scaler(2.0**12), **GATED)
    train(overflowed, 1)
    before, moments = weights(overflowed), moments_of(overflowed)
    first = next(overflowed.model.encoder.parameters())
    with first.register_hook(lambda gradient: gradient * float("inf")):
        train(overflowed, 1)
    assert differing(weights(overflowed), before) == []
    assert differing(moments_of(overflowed), moments) == [], "Adam has not seen it either"
    assert overflowed.accelerator.scaler.get_scale() == 2.0**11
    assert overflowed.progress.total == 2
    # The next step is an ordinary one again, and a step that is skipped is one of the schedule.
    found = train(overflowed, 2)
    moved = differing(weights(overflowed), before)
    assert any("encoder" in name for name in moved)
    assert any("gates" in name for name in moved)
    assert all(value.isfinite().all() for value in weights(overflowed).values())
    for step, expected in zip(found, train(plain, 4), strict=True):
        assert {name: value for name, value in step.items() if name[:2] == "lr"} == {
            name: value for name, value in expected.items() if name[:2] == "lr"
        }


def test_a_resumed_run_has_its_scale_again(make: Make) -> None:
    whole = make(scaler(2.0**12), **GATED)
    train(whole, 3)
    whole._save_last()
    train(whole, 2)
    resumed = make(scaler(2.0**5), **GATED)
    resumed.restore()
    assert resumed.accelerator.scaler.get_scale() == 2.0**13
    # Growth comes after two good steps, one of which was before the checkpoint.
    train_on = resumed.tracker.steps  # type: ignore[attr-defined]
    train_on.extend({} for _ in range(3))
    train(resumed, 2)
    assert resumed.accelerator.scaler.state_dict() == whole.accelerator.scaler.state_dict()
    assert differing(weights(resumed), weights(whole)) == []
