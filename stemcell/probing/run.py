"""Probe a model on a corpus: ``stemcell.probe`` and ``stemcell probe``."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import pandas as pd

from stemcell.corpora.layers import LAYERS, SPLITS, Example
from stemcell.corpora.store import Corpus, read_corpus
from stemcell.encoders.load import load_encoder
from stemcell.encoders.names import NAMES, TINY
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError, unknown
from stemcell.files import disk_errors, write_atomic
from stemcell.heads.maps import KEPT, matrix
from stemcell.model import MultiTaskModel
from stemcell.probing.items import Text
from stemcell.probing.passes import OFFSETS, Findings, Settings, take_probes
from stemcell.probing.table import Scores, by_label, cells
from stemcell.probing.tally import Tally
from stemcell.saved import is_export, read_saved
from stemcell.tasks import task as find_task
from stemcell.tasks.probes import LinkProbe
from stemcell.tracking.folder import find_run
from stemcell.training.display import Display, say
from stemcell.training.processes import rank
from stemcell.training.run import make_accelerator


class Splits(Protocol):
    """A corpus: sentences by split and layer."""

    def __getitem__(self, split: str) -> Mapping[str, Sequence[Example]]: ...


@dataclass(frozen=True)
class Probed:
    """What :func:`probe_all` has found.

    Attributes:
        cells: a row for each task, label, mode and head (:func:`stemcell.probing.table.cells`).
        labels: a row for each task, label and mode (:func:`stemcell.probing.table.by_label`).
        scores: what both are made of, with the bootstrap samples.
    """

    cells: pd.DataFrame
    labels: pd.DataFrame
    scores: list[Scores]

    def write(self, folder: Path) -> None:
        """Write ``probe.csv``, ``probe.parquet`` and ``probe-labels.csv``, each whole or not at all.

        Raises:
            UserError: if the folder cannot be written.
        """
        parquet = io.BytesIO()
        self.cells.to_parquet(parquet, index=False)
        with disk_errors(folder):
            write_atomic(folder / "probe.csv", self.cells.to_csv(index=False))
            write_atomic(folder / "probe.parquet", parquet.getvalue())
            write_atomic(folder / "probe-labels.csv", self.labels.to_csv(index=False))


def probe(
    model: Any, corpus: Splits | Path | str, tasks: Sequence[str] | None = None, *, split: str = "test",
    samples: int = 200,
) -> pd.DataFrame:  # fmt: skip
    """Probe all heads of an encoder for all labels (METHOD section 6).

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
    samples: int = 200, sentences: int = 32, tokens: int = 2048, precision: str = "no",
) -> Probed:  # fmt: skip
    """As :func:`probe`, but all that was found; on all processes together.

    Args:
        sentences: in a batch at most.
        tokens: subtokens in a batch at most.
        precision: of the encoder: no, bf16 or fp16.

    Raises:
        UserError: on an unknown split, task or model, if the corpus lacks what is asked for, or if the encoder's output
            is not finite.
    """
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    for task in tasks or ():
        find_task(task)
    accelerator = make_accelerator(precision)
    if isinstance(corpus, (str, Path)):
        corpus = _whatever(corpus)
    examples = {task: corpus[split].get(task, ()) for task in LAYERS if not tasks or task in tasks}
    if missing := [task for task, own in examples.items() if tasks and not len(own)]:
        raise UserError(f"no {split} sentences for {', '.join(missing)}; choose other tasks or another split")
    probes = {task: find_task(task).probe for task, own in examples.items() if len(own)}
    if not probes:
        raise UserError(f"no {split} sentences; choose another split")
    target = find_target(model, corpus)
    if isinstance(model, (str, Path)):
        target.to(accelerator.device)

    labels: dict[str, dict[str, int]] = {task: {} for task in probes}
    text = Text(target.encoder, examples, probes, labels)
    train = None if split == "train" else _train(target, corpus, probes, labels)
    order = {task: sorted(numbers, key=numbers.__getitem__) for task, numbers in labels.items()}
    passes = 1 + any(not isinstance(own, LinkProbe) for own in probes.values())
    total = len(text.sentences) * passes + (len(train.sentences) if train else 0)
    with Display("probe", total, rank() == 0) as display:
        settings = Settings(samples, sentences, tokens, accelerator.autocast, display.advance)
        found = take_probes(target, probes, {task: len(own) for task, own in labels.items()}, text, train, settings)
    scores = [own for task, findings in found.items() for own in _scores(target, task, order[task], findings)]
    return Probed(cells(scores), by_label(scores), scores)


def find_target(model: Any, corpus: Splits) -> MultiTaskModel:
    """The model that is meant: with the decoders that it has, or an encoder without any.

    Raises:
        UserError: there is no encoder, run or export of that name, or it cannot be read.
    """
    if isinstance(model, MultiTaskModel):
        return model
    if isinstance(model, WordEncoder):
        return MultiTaskModel(model, {})
    if not isinstance(model, (str, Path)):
        return model.model
    name = str(model)
    if name in NAMES or (Path(name) / "config.json").is_file():
        return _bare(name, corpus)
    if is_export(Path(name)) or Path(name).exists():
        return read_saved(name).build(attention="eager")
    try:
        find_run(name)
    except UserError as error:
        try:
            return _bare(name, corpus)
        except UserError as other:
            raise UserError(f"neither a run, an export nor an encoder. {error}. {other}") from None
    return read_saved(name).build(attention="eager")


def _bare(name: str, corpus: Splits) -> MultiTaskModel:
    words = None
    if name in TINY:
        train = corpus["train"]
        words = [example.words for layer in train.values() for example in layer] or None
    return MultiTaskModel(load_encoder(name, words=words, attention="eager"), {})


def _train(
    target: MultiTaskModel, corpus: Splits, probes: Mapping[str, Any], labels: Mapping[str, dict[str, int]]
) -> Text | None:
    """The training sentences of the centroid probes; what is missing is said once."""
    wanted = {task: own for task, own in probes.items() if not isinstance(own, LinkProbe)}
    try:
        layers = corpus["train"]
    except KeyError:
        layers = {}
    found = {task: layers[task] for task in wanted if len(layers.get(task, ()))}
    if rank() == 0 and (missing := [task for task in wanted if task not in found]):
        say(f"no train sentences for {', '.join(missing)}: probed with centroids of the same split alone")
    if not found:
        return None
    return Text(target.encoder, found, {task: wanted[task] for task in found}, labels)


def _whatever(folder: Path | str) -> Corpus:
    """A corpus of all the layers that it has: unlike training, probing needs no other split than the one probed."""
    return dataclasses.replace(read_corpus(folder, layers=()), layers=LAYERS)


def _scores(target: MultiTaskModel, task: str, labels: list[str], found: Findings) -> list[Scores]:
    """The tallies of a task as scores, of the labels that occur, sorted; none of heads that are missing or closed."""
    kept, width = target.encoder.kept_heads, target.encoder.hidden // target.encoder.head_size
    open_heads = _open_heads(target, task, kept, width)
    count, controlled = (tally.total([[0]], 1)[:, :, 0, 0] for tally in (found.count, found.controlled))
    order = [number for number in sorted(range(len(labels)), key=labels.__getitem__) if count[0, number]]

    def sums(tally: Tally) -> np.ndarray:
        return np.where(open_heads, tally.total(kept, width)[:, order], np.nan)

    count, controlled = count[:, order], controlled[:, order]
    shape = {"task": task, "labels": [labels[number] for number in order], "count": count[0]}
    if found.links is not None and found.offsets is not None:
        offsets = [list(range(OFFSETS))]
        right, selected = (
            tally.total(offsets, OFFSETS)[0, order, 0] for tally in (found.offsets.right, found.offsets.selected)
        )
        score, selectivity = _ratio(right, count[0]), _ratio(selected, controlled[0])
        best, each = score.argmax(-1), np.arange(len(order))
        return [
            Scores(
                **shape,
                mode="link",
                controlled=controlled[0],
                score=_ratio(sums(found.links.right), count),
                control=_ratio(sums(found.links.control)[0], controlled[0]),
                selectivity=_ratio(sums(found.links.selected), controlled),
                baseline=[f"offset ±{offset}" for offset in best],
                baseline_score=score[each, best],
                baseline_selectivity=selectivity[each, best],
            )
        ]
    most = int(count[0].argmax())
    results = []
    for mode, tally in found.right.items():
        score = _ratio(sums(tally), count)
        results.append(
            Scores(
                **shape,
                mode=mode,
                controlled=np.zeros_like(count[0]),
                score=score,
                control=np.full(score.shape[1:], np.nan),
                selectivity=np.full_like(score, np.nan),
                baseline=["most frequent label"] * len(order),
                baseline_score=(np.arange(len(order)) == most).astype(float),
                baseline_selectivity=np.full(len(order), np.nan),
            )
        )
    return results


def _open_heads(target: MultiTaskModel, task: str, kept: list[list[int]], width: int) -> np.ndarray:
    """Which heads there are and a task's gates leave open, [layers, width]."""
    gates = target.gates
    if gates is None:
        values = [1.0] * sum(map(len, kept))
    else:
        values = gates.values()[gates.set_of(task)].tolist()
    return matrix(values, kept, width) > KEPT


def _ratio(sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Sums over counts, which lack the last dimensions; NaN where the count is 0."""
    counts = counts.reshape(counts.shape + (1,) * (sums.ndim - counts.ndim))
    return np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
