"""Everything a run needs, made from its configuration: corpus, encoder, decoders, data and schedule."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from stemcell.config import RunConfig
from stemcell.corpora.layers import LAYERS
from stemcell.corpora.store import Corpus, read_corpus
from stemcell.encoders.load import load_encoder
from stemcell.encoders.subtokens import Subtokens
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError
from stemcell.files import intact
from stemcell.model import MultiTaskModel, build_decoders
from stemcell.saved import make_gates
from stemcell.tasks import task as find_task
from stemcell.tasks.protocol import Labels
from stemcell.training.batches import length_batches, padding_waste
from stemcell.training.data import TrainingData
from stemcell.training.evaluation import EvaluationData
from stemcell.training.gating import without_effect
from stemcell.training.reach import cannot_close
from stemcell.training.sampling import Schedule


@dataclass(frozen=True)
class Setup:
    """The parts of a run."""

    corpus: Corpus
    labels: dict[str, Labels]
    model: MultiTaskModel
    training: dict[str, TrainingData]
    dev: EvaluationData
    schedule: Schedule
    notes: list[str]


def prepare(
    config: RunConfig,
    encoder: WordEncoder | None = None,
    labels: dict[str, Labels] | None = None,
    source: Path | None = None,
) -> Setup:
    """Read the corpus and build the model of a run, around a fresh encoder or the one given.

    Args:
        labels: of a model that is trained on; by default those of the training data.
        source: where they come from.

    Raises:
        UserError: if the corpus, the encoder or the labels cannot be used; names what is wrong.
    """
    if not config.data:
        raise UserError("no corpus: give --data DIR, or make one with `stemcell data demo --out demo`")
    tasks = [task for task in LAYERS if task in config.tasks]
    corpus = read_corpus(config.data, layers=tasks, pos_column=config.pos_column, skip_broken=config.skip_broken)
    train = {task: corpus["train"][task] for task in tasks}
    if config.train_limit:
        train = {task: examples.take(config.train_limit) for task, examples in train.items()}

    if encoder is None:
        words = (example.words for task in tasks for example in train[task])
        encoder = load_encoder(config.encoder, words=words, seed=config.seed)
    if config.gradient_checkpointing:
        encoder.enable_gradient_checkpointing()
    if labels is None:
        labels = {task: find_task(task).labels(train[task]) for task in tasks}
    torch.manual_seed(config.seed)
    with intact(source) if source else nullcontext():
        own = {task: labels[task] for task in tasks}
        decoders = build_decoders(encoder.hidden, own, config)
    model = MultiTaskModel(encoder, decoders, make_gates(config, encoder.heads))

    known: dict[tuple[str, ...], Subtokens] = {}
    training = {task: TrainingData(encoder, decoders[task], train[task], known) for task in tasks}
    schedule = Schedule(
        {task: data.sizes for task, data in training.items()},
        seed=config.seed,
        temperature=config.sampling_temperature,
        sentences=config.batch_sentences,
        tokens=config.batch_tokens,
    )
    notes = [f"{note}: {count}" for note, count in corpus.notes.items()]
    notes += _unseen(labels, {task: corpus["dev"][task] for task in tasks})
    dev = EvaluationData(model, {task: corpus["dev"][task] for task in tasks})
    return Setup(corpus, labels, model, training, dev, schedule, notes)


def describe(setup: Setup, config: RunConfig) -> list[str]:
    """What is said before training starts: sizes, passes over each task's data and padding."""
    lines = list(setup.notes)
    effective = setup.schedule.effective_epochs(config.epochs)
    for task, data in setup.training.items():
        waste = padding_waste(length_batches(data.sizes, config.batch_sentences, config.batch_tokens), data.sizes)
        lines.append(
            f"{task.upper()}: {len(data):,} sentences, {setup.schedule.batches[task]} batches, "
            f"{effective[task]:.1f} passes over them in {config.epochs} epochs, padding {waste * 100:.1f}%"
        )
    parameters = sum(p.numel() for p in setup.model.parameters())
    lines.append(
        f"{config.encoder}: {parameters / 1e6:.1f} M parameters with {len(setup.training)} decoder(s); "
        f"{setup.schedule.steps_per_epoch} steps an epoch"
    )
    lines += without_effect(config)
    if problem := cannot_close(config, setup.schedule):
        lines.append(f"WARNING: {problem}")
    return lines


def _unseen(labels: Mapping[str, Labels], dev: Mapping[str, Any]) -> list[str]:
    """Notes on dev labels that training never saw: they count as wrong."""
    notes = []
    for task, examples in dev.items():
        for name, inventory in find_task(task).labels(examples).items():
            if missing := sorted(set(inventory) - set(labels[task].get(name, []))):
                notes.append(f"{task.upper()} dev {name} unseen in training, scored as wrong: {' '.join(missing)}")
    return notes
