"""Training (docs/method.md, section 4): batches of one task a step, balanced losses, checkpoints, evaluation."""

from __future__ import annotations

import signal
import time
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from stemcell.config import RunConfig
from stemcell.cpu import fast_linear
from stemcell.errors import UserError
from stemcell.files import intact
from stemcell.heads.gates import noise
from stemcell.tasks import task as find_task
from stemcell.tracking.tracker import Tracker
from stemcell.training import checkpoints
from stemcell.training.balance import LossBalance
from stemcell.training.display import Display, say
from stemcell.training.evaluation import Evaluation, evaluate, log_scores
from stemcell.training.gating import log_gates
from stemcell.training.optimisers import GATES, adamw, scale_and_clip, set_rates, sum_gradients
from stemcell.training.parts import Parts, Prepared, seed_of
from stemcell.training.processes import StopRequest, finite, rank, summed, world
from stemcell.training.sampling import Step
from stemcell.training.setup import Setup

# Steps are logged so that a run has at most about this many points a metric.
POINTS = 5000
# What tells the seed of the gates' noise from the seeds of a step's parts.
GATE_NOISE = 2**31


class Diverged(UserError):
    """The loss is not finite."""


class Stopped(Exception):
    """A signal asked to stop; the run is saved and can be resumed."""

    def __init__(self, number: int) -> None:
        self.signal = number


@dataclass
class Progress:
    """Where a run stands; part of every checkpoint."""

    epoch: int = 0
    step: int = 0
    total: int = 0
    best: float = -1.0
    best_epoch: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


class Trainer:
    """Trains a prepared run, from the start or from its last checkpoint."""

    def __init__(self, config: RunConfig, setup: Setup, accelerator: Any, tracker: Tracker) -> None:
        self.config, self.setup, self.tracker = config, setup, tracker
        self.accelerator = accelerator
        self.model = setup.model.to(accelerator.device)
        if config.prune == "static":
            self.model.decoders.requires_grad_(False)
        trained = {
            "encoder": (self.model.encoder, config.encoder_lr),
            "decoders": (self.model.decoders, config.decoder_lr),
        }
        if self.model.gates is not None:
            trained[GATES] = (self.model.gates, config.gate_lr)
        self.optimiser = adamw(trained)
        self.balance = LossBalance(setup.training)
        self._parts = Parts(setup.training, config.seed, config.accumulation, accelerator.device)
        self.progress = Progress()
        self.total_steps = setup.schedule.steps_per_epoch * config.epochs
        self._stop = StopRequest()
        self._saved = time.monotonic()
        self._every = max(1, self.total_steps // POINTS)

    def restore(self) -> None:
        """Take everything from the last checkpoint, if there is one."""
        folder = self.tracker.folder / "checkpoints"
        if not (folder / "last.json").exists():
            self.tracker.rewind(0)
            return
        tensors, state = checkpoints.load(folder, "last")
        with intact(folder / "last.json"):
            self.model.load_state_dict(tensors["model"])
            checkpoints.restore_optimiser(self.optimiser, self.model, tensors["optimiser"])
            self.balance.restore(state["balance"])
            self.progress = Progress(**state["progress"])
            if self.accelerator.scaler is not None:
                self.accelerator.scaler.load_state_dict(state["scaler"])
            self.tracker.rewind(state["journal"])

    def run(self) -> Progress:
        """Train to the end.

        Raises:
            Diverged: on a loss that is not finite; the last good checkpoint stays.
            Stopped: after a signal to stop, once a checkpoint is written.
        """
        progress, schedule = self.progress, self.setup.schedule
        with self._stop:
            while progress.epoch < self.config.epochs and not self._stale():
                steps = schedule.epoch(progress.epoch)
                with Display(f"epoch {progress.epoch + 1}/{self.config.epochs}", len(steps), rank() == 0) as display:
                    display.skip(progress.step)
                    left = steps[progress.step :]
                    for step, prepared in self._parts.of(left, progress.total):
                        self._step(step, prepared, display)
                self._end_of_epoch()
        return progress

    def _stale(self) -> bool:
        # "training stops after half the epochs without a better one"
        patience = (self.config.epochs + 1) // 2
        return self.config.early_stop and self.progress.epoch - self.progress.best_epoch >= patience

    def _step(self, step: Step, prepared: Prepared, display: Display) -> None:
        start = time.perf_counter()
        progress, task = self.progress, step.task
        counts, shards = prepared
        self.model.train()
        denominators = torch.tensor(counts, device=self.accelerator.device).clamp(min=1.0)
        terms = torch.zeros_like(denominators)
        gates = self.model.gates
        if gates is not None:
            # One draw a step, whoever computes which part of it.
            gates.draw(task, self._noise(gates.parameter(task)))
        for seed, batch, targets in shards:
            torch.manual_seed(seed)
            # Gradient checkpointing computes again in the backward pass, where no such context reaches.
            fast = nullcontext() if self.config.gradient_checkpointing else fast_linear(self.accelerator.device)
            with self.accelerator.autocast(), fast:
                sums = self.model.loss(task, batch, targets, self.config.word_dropout)
            self._backward((sums / denominators).sum())
            terms += sums.detach() / denominators
        # One exchange tells everybody the loss, whether someone was asked to stop, and whether to save.
        flags = torch.tensor([float(self._stop.signal), float(rank() == 0 and self._due())], device=terms.device)
        *losses, stop, due = summed(torch.cat([terms, flags])).tolist()
        loss = sum(losses)

        if not np.isfinite(loss):
            raise Diverged(
                f"the loss of {task.upper()} is {loss} at step {progress.step + 1} of epoch {progress.epoch + 1} "
                f"(sentences {_shown(step.batch)} of its training data); {self._remedy()}"
                + (", or use --precision bf16" if self.config.precision == "fp16" else "")
                + self._what_stays()
            )
        # Saved before the update: a finite loss has just shown that encoder and decoder are good.
        if stop or due:
            self._check_weights()
            self._save_last()
        if stop:
            raise Stopped(self._stop.signal or signal.SIGTERM)

        modules = (self.model.encoder, self.model.decoders[task])
        parameters = [p for module in modules for p in module.parameters() if p.requires_grad]
        gated = []
        if gates is not None:
            gates.settle(task)
            gated = [gates.parameter(task)]
        if world() > 1:
            sum_gradients(parameters + gated)
        penalty = self._penalty(task)
        factor = self.balance.factor(task, loss + (penalty.item() if self.config.balance_penalty else 0.0))
        set_rates(self.optimiser, progress.total, self.total_steps, self.config.warmup)
        norm = self._update(task, parameters, factor, penalty)
        progress.step += 1
        progress.total += 1

        seconds = time.perf_counter() - start
        words = sum(len(self.setup.training[task].words[i]) for i in step.batch)
        display.advance(losses={task: loss}, words=words, seconds=seconds)
        if progress.total % self._every == 0:
            rates = {f"lr/{group['name']}": group["lr"] for group in self.optimiser.param_groups}
            self.tracker.metrics(
                progress.total,
                {
                    f"loss/{task}": loss,
                    f"balance/{task}": factor,
                    **rates,
                    **({"loss/penalty": penalty.item()} if gates is not None else {}),
                    "norm/gradient": float(norm),
                    "speed/words_per_second": words / seconds,
                },
            )

    def _backward(self, loss: Tensor) -> None:
        scaler = self.accelerator.scaler
        (scaler.scale(loss) if scaler is not None else loss).backward()

    def _noise(self, parameter: Tensor) -> Tensor:
        seed = seed_of(self.config.seed, self.progress.total, GATE_NOISE)
        return noise(len(parameter), seed).to(parameter.device)

    def _penalty(self, task: str) -> Tensor:
        """lambda times the expected number of open heads a layer (docs/method.md, section 5), []; 0 without gates."""
        if self.model.gates is None:
            return torch.zeros(())
        return self.config.l0_penalty * self.model.gates.penalty(task, self.config.overlap_penalty)

    def _update(self, task: str, parameters: list[Any], factor: float, penalty: Tensor) -> Tensor:
        scaler = self.accelerator.scaler
        if scaler is not None:
            scaler.unscale_(self.optimiser)
        norm = scale_and_clip(parameters, factor, self.config.max_grad_norm)
        if self.model.gates is not None:
            # Not clipped: their optimiser is their own, and the penalty is to weigh what it says.
            parameter = self.model.gates.parameter(task)
            (slope,) = torch.autograd.grad(penalty, parameter)
            assert parameter.grad is not None
            parameter.grad = factor * parameter.grad + (factor if self.config.balance_penalty else 1.0) * slope
        if scaler is not None:
            scaler.step(self.optimiser)
            scaler.update()
        else:
            self.optimiser.step()
        self.optimiser.zero_grad(set_to_none=True)
        return norm

    def _end_of_epoch(self) -> None:
        progress = self.progress
        self._check_weights()
        result = self._evaluate()
        progress.epoch, progress.step = progress.epoch + 1, 0
        progress.history.append({"epoch": progress.epoch, "average": result.average, "scores": result.scores})
        better = result.average > progress.best
        if better:
            progress.best, progress.best_epoch = result.average, progress.epoch
        log_scores(self.tracker, progress.total, progress.epoch, result)
        if self.model.gates is not None and rank() == 0:
            log_gates(self.tracker, progress.total, self.model)
        if better:
            self._save("best", {"model": self.model.state_dict()})
        self._save_last()
        if rank() == 0:
            scores = "  ".join(f"{task} {_main(task, values) * 100:.2f}" for task, values in result.scores.items())
            say(
                f"epoch {progress.epoch}: dev {scores}  average {result.average * 100:.2f}"
                f"{' (best)' if better else ''} · {result.sentences_per_second:,.0f} sentences/s"
            )

    def _evaluate(self) -> Evaluation:
        def tick(done: int) -> None:
            display.advance(done)
            # Alone, a process may stop at once: the epoch's end is saved, and evaluated again on resuming.
            if self._stop.signal and world() == 1:
                self._save_last()
                raise Stopped(self._stop.signal)

        share = -(-len(self.setup.dev.sentences) // world())
        with Display("dev", share, rank() == 0) as display:
            return evaluate(
                self.model,
                self.setup.dev,
                batch_sentences=self.config.batch_sentences,
                batch_tokens=self.config.batch_tokens,
                autocast=self.accelerator.autocast,
                tick=tick,
            )

    def _due(self) -> bool:
        if not self.config.checkpoint_minutes:
            return self.progress.step > 0
        return time.monotonic() - self._saved >= self.config.checkpoint_minutes * 60

    def _save_last(self) -> None:
        self._saved = time.monotonic()
        tensors = {
            "model": self.model.state_dict(),
            "optimiser": checkpoints.optimiser_tensors(self.optimiser, self.model),
        }
        self._save("last", tensors)

    def _remedy(self) -> str:
        gates = self.model.gates
        if gates is not None and not all(finite(parameter) for parameter in gates.parameters()):
            return "lower --gate-lr or --l0-penalty, or leave the gates' other settings at their defaults"
        return "lower --encoder-lr or --decoder-lr"

    def _what_stays(self) -> str:
        if (self.tracker.folder / "checkpoints" / "last.json").exists():
            return "; the last checkpoint was written before this step and stays"
        return "; there was no checkpoint yet"

    def _check_weights(self) -> None:
        """A finite loss vouches for encoder and decoder; another task's decoder may be spoilt by its own last step."""
        bad = [name for name, value in self.model.state_dict().items() if not finite(value)]
        if bad:
            raise Diverged(
                f"the weights {bad[0]} are not finite after step {self.progress.step} of epoch "
                f"{self.progress.epoch + 1}; {self._remedy()}{self._what_stays()}"
            )

    def _save(self, kind: str, tensors: dict[str, dict[str, Tensor]]) -> None:
        if rank() != 0:
            return
        state = {
            "progress": asdict(self.progress),
            "balance": self.balance.state(),
            "scaler": self.accelerator.scaler.state_dict() if self.accelerator.scaler is not None else None,
            "journal": self.tracker.position(),
        }
        checkpoints.save(self.tracker.folder / "checkpoints", kind, self.progress.total, tensors, state)


def _main(task: str, scores: dict[str, float]) -> float:
    return scores[find_task(task).main]


def _shown(batch: list[int]) -> str:
    return ", ".join(str(index + 1) for index in sorted(batch)[:8]) + (", …" if len(batch) > 8 else "")
