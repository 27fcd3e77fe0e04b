"""Whether gates can close within a run at all: a gate moves by about its learning rate a step, and has a way to go."""

from __future__ import annotations

import math

from stemcell.config import RunConfig
from stemcell.corpora.layers import LAYERS
from stemcell.corpora.store import Corpus
from stemcell.heads.gates import HardConcrete
from stemcell.training.sampling import Schedule

# A gate closes when log alpha has fallen by about this much from 0, and Adam moves it by its rate a step.
WAY = 3.0


def cannot_close(config: RunConfig, schedule: Schedule) -> str:
    """Why gates cannot close within a run's steps, and what rate would let them; empty if they can.

    A batch that ``accumulation`` cuts into parts is still one step. Early stopping, which may end a run before, is not
    foreseen.
    """
    if config.prune == "no":
        return ""
    way = _way(config)
    if config.gates == "per-task":
        # A task's gates move in its own steps alone.
        passes = schedule.effective_epochs(config.epochs)
        drawn = {task: round(passes[task] * count) for task, count in schedule.batches.items()}
        stuck = [task for task, steps in drawn.items() if steps * config.gate_lr < way]
        of, steps = f" of {', '.join(task.upper() for task in stuck)}", min(drawn.values())
    else:
        of, steps = "", schedule.steps_per_epoch * config.epochs
    if steps * config.gate_lr >= way:
        return ""
    remedy = f"give --gate-lr {_rounded_up(2 * way / steps):g} or more, or train longer" if steps else "train longer"
    return (
        f"no gate{of} can close: {steps} steps at --gate-lr {config.gate_lr:g} move log alpha by at most about "
        f"{steps * config.gate_lr:.2g}, and closing takes {way:.2g}; {remedy}"
    )


def cannot_close_on(config: RunConfig, corpus: Corpus) -> str:
    """As :func:`cannot_close`, before there is an encoder: every word counts as one subtoken."""
    if config.prune == "no":
        return ""
    layers = {task: corpus["train"][task] for task in LAYERS if task in config.tasks}
    if config.train_limit:
        layers = {task: layer.take(config.train_limit) for task, layer in layers.items()}
    schedule = Schedule(
        {task: [words + 2 for words in layer.lengths()] for task, layer in layers.items()},
        seed=config.seed,
        temperature=config.sampling_temperature,
        sentences=config.batch_sentences,
        tokens=config.batch_tokens,
    )
    return cannot_close(config, schedule)


def _way(config: RunConfig) -> float:
    """How far log alpha has to fall from where it starts."""
    if not config.gate_open:
        return WAY
    concrete = HardConcrete(config.gate_temperature, config.gate_low, config.gate_high)
    return max(0.0, WAY + concrete.log_alpha(config.gate_open))


def _rounded_up(rate: float) -> float:
    """The rate with one digit, not below it."""
    digit = 10.0 ** math.floor(math.log10(rate))
    return math.ceil(rate / digit - 1e-9) * digit
