"""Probe a model on a corpus: ``stemcell.probe`` and ``stemcell probe``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stemcell.corpora.layers import LAYERS, SPLITS, Example
from stemcell.corpora.store import Corpus, read_corpus
from stemcell.encoders.load import untrained
from stemcell.errors import UserError, unknown
from stemcell.model import MultiTaskModel
from stemcell.probing.controls import CONTROL, ControlTags, relabelled
from stemcell.probing.items import Text
from stemcell.probing.passes import Settings, take_probes
from stemcell.probing.scores import score
from stemcell.probing.table import Scores, by_label, cells, ranks
from stemcell.probing.target import Splits, find_target
from stemcell.tasks import task as find_task
from stemcell.tasks.con.probe import at_height
from stemcell.tasks.probes import LinkProbe, Probe
from stemcell.training.display import Display, say
from stemcell.training.processes import rank
from stemcell.training.run import make_accelerator

SEEDS = (1, 2, 3)
"""Of the untrained encoders."""


@dataclass(frozen=True)
class Probed:
    """What :func:`probe_all` has found.

    Attributes:
        cells: a row for each task, label, mode and head (:func:`stemcell.probing.table.cells`).
        labels: a row for each task, label and mode (:func:`stemcell.probing.table.by_label`).
        ranks: the best three heads of each label (:func:`stemcell.probing.table.ranks`).
        scores: what all of them are made of, with the bootstrap samples.
        target: the model.
    """

    cells: pd.DataFrame
    labels: pd.DataFrame
    ranks: pd.DataFrame
    scores: list[Scores]
    target: MultiTaskModel


def probe(
    model: Any, corpus: Splits | Path | str, tasks: Sequence[str] | None = None, *, split: str = "test",
    samples: int = 200,
) -> pd.DataFrame:  # fmt: skip
    """Probe all heads of an encoder for all labels (docs/method.md, section 6).

    Args:
        model: name of an encoder, a run or an export; or what :func:`stemcell.load` or
            :func:`stemcell.encoders.load.load_encoder` give, which stay on their device.
        corpus: a corpus folder, or what :func:`stemcell.corpora.store.read_corpus` gives.
        tasks: of pos, ner, dep, con and srl; all that the split has if None.
        split: train, dev or test.
        samples: of the bootstrap for the intervals.

    Returns:
        Columns ``task, label, layer, head, mode, count, score, low, high, control, selectivity``: layers and heads from
        1; mode ``link``, ``same-split`` or ``train-split``; scores from 0 to 1, NaN where a head is missing or closed.

    Raises:
        UserError: as :func:`probe_all`.
    """
    return probe_all(model, corpus, tasks, split=split, samples=samples).cells


def probe_all(
    model: Any, corpus: Splits | Path | str, tasks: Sequence[str] | None = None, *, split: str = "test",
    samples: int = 200, baseline: str | None = None, con_height: int | None = 3, train_limit: int = 0,
    sentences: int = 32, tokens: int = 2048, precision: str = "no",
) -> Probed:  # fmt: skip
    """As :func:`probe`, but all that was found; on all processes together.

    Args:
        baseline: ``untrained`` to probe the same architecture with random weights too, three times.
        train_limit: centroids of ``train-split`` are those of each task's first sentences, so many; of all if 0.
        con_height: of the constituents that are asked for: 3 are parents of preterminals only; all if None.
        sentences: in a batch at most.
        tokens: subtokens in a batch at most.
        precision: of the encoder: no, bf16 or fp16.

    Raises:
        UserError: on an unknown split, task or model, if the corpus lacks what is asked for, or if the encoder's output
            is not finite.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    if baseline not in (None, "untrained"):
        raise unknown("baseline", baseline, ["untrained"])
    for task in tasks or ():
        find_task(task)
    accelerator = make_accelerator(precision)
    corpus = _whatever(corpus) if isinstance(corpus, (str, Path)) else corpus
    examples = {task: corpus[split].get(task, ()) for task in LAYERS if not tasks or task in tasks}
    if missing := [task for task, own in examples.items() if tasks and not len(own)]:
        raise UserError(f"no {split} sentences for {', '.join(missing)}; choose other tasks or another split")
    probes = {task: find_task(task).probe for task, own in examples.items() if len(own)}
    if not probes:
        raise UserError(f"no {split} sentences; choose another split")
    if "con" in probes:
        probes["con"] = at_height(con_height)
    target = find_target(model, corpus)
    if isinstance(model, (str, Path)):
        target.to(accelerator.device)

    tags = ControlTags(examples["pos"]) if "pos" in probes else None
    if tags:
        probes[f"pos{CONTROL}"] = probes["pos"]
    labels: dict[str, dict[str, int]] = {name: {} for name in probes}
    text = Text(target.encoder, _controlled(examples, tags), probes, labels)
    if empty := [task for task in probes if not labels[task]]:
        probes = {name: own for name, own in probes.items() if name not in empty}
        _say(f"nothing to probe for {', '.join(empty)}: the {split} sentences have no labels of it")
    if not probes:
        raise UserError(f"the {split} sentences have no labels at all; choose other tasks or another split")
    train = None if split == "train" else _train(target, corpus, probes, labels, tags, train_limit)

    seeds = SEEDS if baseline else ()
    passes = 1 + any(not isinstance(own, LinkProbe) for own in probes.values())
    total = (len(text.sentences) * passes + (len(train.sentences) if train else 0)) * (1 + len(seeds))
    with Display("probe", total, rank() == 0) as display:
        settings = Settings(samples, sentences, tokens, accelerator.autocast, display.advance)

        def scores(model: MultiTaskModel, settings: Settings) -> list[Scores]:
            counts = {name: len(labels[name]) for name in probes}
            return score(model, take_probes(model, probes, counts, text, train, settings), labels)

        found = scores(target, settings)
        random = []
        for seed in seeds:
            copy = MultiTaskModel(untrained(target.encoder, seed), {}).to(next(target.parameters()).device)
            random.append(scores(copy, dataclasses.replace(settings, samples=0)))
    found = [_beside(own, [other[place] for other in random]) for place, own in enumerate(found)]
    return Probed(cells(found), by_label(found), ranks(found), found, target)


def _beside(own: Scores, random: Sequence[Scores]) -> Scores:
    """Scores with those of untrained encoders among the baselines."""
    best = np.array([[values[0] for values in other.best()] for other in random]).reshape(-1, 2, len(own.labels))
    return dataclasses.replace(own, baselines=dataclasses.replace(own.baselines, untrained=best))


def _controlled(examples: Mapping[str, Iterable[Example]], tags: ControlTags | None) -> dict[str, Iterable[Example]]:
    """Examples by task, with the control task's added."""
    if tags is None or "pos" not in examples:
        return dict(examples)
    return {**examples, f"pos{CONTROL}": relabelled(examples["pos"], tags)}


def _train(
    target: MultiTaskModel, corpus: Splits, probes: Mapping[str, Probe], labels: Mapping[str, dict[str, int]],
    tags: ControlTags | None, limit: int,
) -> Text | None:  # fmt: skip
    """The training sentences of the centroid probes; what is missing is said once."""
    wanted = {name: own for name, own in probes.items() if not isinstance(own, LinkProbe)}
    try:
        layers = corpus["train"]
    except KeyError:
        layers = {}
    found = {task: layers[task] for task in wanted if len(layers.get(task, ()))}
    if limit:
        found = {task: list(islice(own, limit)) for task, own in found.items()}
    if missing := [task for task in wanted if task not in found and not task.endswith(CONTROL)]:
        _say(f"no train sentences for {', '.join(missing)}: probed with centroids of the same split alone")
    if not found:
        return None
    examples = _controlled(found, tags)
    return Text(target.encoder, examples, {name: wanted[name] for name in examples}, labels)


def _whatever(folder: Path | str) -> Corpus:
    """A corpus of all the layers that it has: unlike training, probing needs no other split than the one probed."""
    return dataclasses.replace(read_corpus(folder, layers=()), layers=LAYERS)


def _say(message: str) -> None:
    if rank() == 0:
        say(message)
