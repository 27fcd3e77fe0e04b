"""Annotating sentences with every task of a model, and scoring that."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from stemcell.corpora.layers import Example, example_row, to_row
from stemcell.cpu import fast_linear
from stemcell.errors import UserError
from stemcell.model import MultiTaskModel
from stemcell.tasks import task as find_task
from stemcell.tracking.tracker import Tracker
from stemcell.training.batches import length_batches
from stemcell.training.data import Sentences
from stemcell.training.processes import finite, gathered, rank, world

SCORE_COLUMNS = ["epoch", "split", "task", "label", "gold", "predicted", "correct", "precision", "recall", "f1"]


@dataclass(frozen=True)
class Evaluation:
    """Scores of a split.

    Attributes:
        scores: task -> name -> value from 0 to 1.
        tables: task -> rows of label, gold, predicted, correct, precision, recall, f1.
        average: mean of the tasks' main scores, by which models are chosen.
        sentences_per_second: over encoding, decoding and scoring, each sentence counted once.
        words_per_second: likewise.
        counts: task -> counts that its main score is made of, [sentences, 2 or 3], in the order of its examples; empty
            unless asked for.
    """

    scores: dict[str, dict[str, float]]
    tables: dict[str, list[dict[str, Any]]]
    average: float
    sentences_per_second: float
    words_per_second: float
    counts: dict[str, np.ndarray] = field(default_factory=dict)


class EvaluationData:
    """Examples of several tasks over the same or different sentences; equal sentences are encoded once."""

    def __init__(self, model: MultiTaskModel, examples: Mapping[str, Sequence[Example]]) -> None:
        places: dict[tuple[str, ...], int] = {}
        self.examples = {task: list(items) for task, items in examples.items()}
        # For each task, where its examples stand among the distinct sentences.
        self.rows = {
            task: [places.setdefault(example.words, len(places)) for example in items]
            for task, items in self.examples.items()
        }
        self.sentences = Sentences(model.encoder, places)


@torch.inference_mode()
def annotate(
    model: MultiTaskModel,
    sentences: Sentences,
    wanted: Mapping[str, set[int]],
    *,
    batch_sentences: int,
    batch_tokens: int,
    autocast: Callable[[], Any],
    tick: Callable[[int], None] = lambda done: None,
) -> dict[str, dict[int, Any]]:
    """Annotate sentences with several tasks, each sentence encoded once (a pass).

    Args:
        wanted: task -> the sentences (by position) that it is to annotate.
        autocast: makes the context of the forward pass.
        tick: called after each batch with the sentences done; may raise to stop.

    Returns:
        Task -> position -> annotation, complete on every process.

    Raises:
        UserError: if the encoder's output is not finite.
    """
    model.eval()
    device = next(model.parameters()).device
    batches = length_batches(sentences.sizes, batch_sentences, batch_tokens)
    found: dict[str, dict[int, Any]] = {task: {} for task in wanted}
    for number, indices in enumerate(batches):
        if number % world() != rank():
            continue
        with autocast(), fast_linear(device):
            batch = sentences.batch(indices).to(device)
            for tasks in model.passes(wanted):
                encoded = model(batch, tasks[0])
                if not finite(encoded.states):
                    raise UserError("the encoder's output is not finite (NaN or infinity): lower the learning rates")
                for task in tasks:
                    chosen = [row for row, index in enumerate(indices) if index in wanted[task]]
                    if chosen:
                        part = encoded if len(chosen) == len(indices) else encoded.select(chosen)
                        annotations = model.decoder(task).decode(part)
                        found[task].update(zip((indices[row] for row in chosen), annotations, strict=True))
        tick(len(indices))
    parts = gathered(found)
    return {task: {k: v for part in parts for k, v in part[task].items()} for task in wanted}


def evaluate(
    model: MultiTaskModel,
    data: EvaluationData,
    *,
    batch_sentences: int,
    batch_tokens: int,
    autocast: Callable[[], Any],
    tick: Callable[[int], None] = lambda done: None,
    by_sentence: bool = False,
) -> Evaluation:
    """Score a model on the examples of its tasks; every example counts once, on however many processes.

    Args:
        by_sentence: give the counts of each sentence, too.

    Raises:
        UserError: as :func:`annotate`.
    """
    # Made first: the time to import what scores need is nobody's speed.
    metrics = {task: find_task(task).metric() for task in data.rows}
    start = time.perf_counter()
    wanted = {task: set(rows) for task, rows in data.rows.items()}
    found = annotate(
        model, data.sentences, wanted, batch_sentences=batch_sentences, batch_tokens=batch_tokens, autocast=autocast,
        tick=tick,
    )  # fmt: skip
    scores: dict[str, dict[str, float]] = {}
    tables: dict[str, list[dict[str, Any]]] = {}
    rows: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
    for task, examples in data.examples.items():
        predictions = [to_row(task, found[task][row]) for row in data.rows[task]]
        references = [example_row(task, example) for example in examples]
        rows[task] = predictions, references
        result = dict(metrics[task].compute(predictions=predictions, references=references))
        tables[task] = result.pop("labels")
        scores[task] = {name: float(value) for name, value in result.items()}
    seconds = time.perf_counter() - start
    counts = {task: np.array(list(map(find_task(task).counts, *pair))) for task, pair in rows.items() if by_sentence}
    return Evaluation(
        scores=scores,
        tables=tables,
        average=sum(scores[task][find_task(task).main] for task in scores) / len(scores),
        sentences_per_second=len(data.sentences) / seconds,
        words_per_second=sum(map(len, data.sentences.words)) / seconds,
        counts=counts,
    )


def log_scores(tracker: Tracker, step: int, epoch: int, result: Evaluation) -> None:
    """Note the scores of dev after an epoch, and those of each label as a table."""
    values = {f"dev/{task}/{name}": v for task, scores in result.scores.items() for name, v in scores.items()}
    values["dev/average"] = result.average
    values["speed/dev_sentences_per_second"] = result.sentences_per_second
    tracker.metrics(step, values)
    tracker.table(f"scores/dev-epoch-{epoch:03d}", SCORE_COLUMNS, score_rows(result, epoch, "dev"))


def score_rows(result: Evaluation, epoch: int | str, split: str) -> list[list[Any]]:
    """A row of ``SCORE_COLUMNS`` a label."""
    return [[epoch, split, task, *row.values()] for task, table in result.tables.items() for row in table]
