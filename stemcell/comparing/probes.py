"""What runs' probes have found, as far as their record keeps it (:mod:`stemcell.probing.record`)."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np

from stemcell.errors import UserError
from stemcell.files import intact
from stemcell.tracking.folder import RunFolder


@dataclass(frozen=True)
class Found:
    """The best heads of a task's labels.

    Attributes:
        labels: sorted.
        count: items of each, [labels].
        score: of each label's best head, [1 + samples, labels]: in the data, and in bootstrap samples of sentences,
            which are the same for all runs of a corpus.
        selectivity: likewise of the most selective head; NaN where there is no control.
    """

    labels: list[str]
    count: np.ndarray
    score: np.ndarray
    selectivity: np.ndarray


Probes = dict[tuple[str, str], Found]
"""By task and mode (``link``, ``same-split``, ``train-split``)."""


def read_probes(run: RunFolder, split: str) -> Probes:
    """The probes of a run; none where it was not probed on the split.

    Raises:
        UserError: if the file is damaged.
    """
    path = run.path / "artifacts" / "probe" / split / "samples.npz"
    if not path.is_file():
        return {}
    try:
        with intact(path), np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            found: Probes = {}
            for name in (name.removesuffix("/labels") for name in stored.files if name.endswith("/labels")):
                task, mode = name.split("/")
                parts = [stored[f"{name}/{part}"] for part in ("labels", "count", "score", "selectivity")]
                labels, count, score, selectivity = parts
                if score.shape[1:] != labels.shape or score.shape != selectivity.shape or count.shape != labels.shape:
                    raise ValueError(f"{name}: not a column a label")
                found[task, mode] = Found(labels.tolist(), count, score.astype(float), selectivity.astype(float))
            return found
    except (BadZipFile, EOFError) as error:
        raise UserError(f"{path}: damaged ({error}); probe the run again") from None


def read_baselines(run: RunFolder, split: str) -> dict[tuple[str, str, str], tuple[float, float]]:
    """By task, mode and label: what needs no knowledge (the best fixed offset, the most frequent label), and the best
    head of untrained encoders; NaN where there is no such thing, nothing where the run was not probed.

    Raises:
        UserError: if the file is damaged.
    """
    path = run.path / "artifacts" / "probe" / split / "probe-labels.csv"
    if not path.is_file():
        return {}
    with intact(path), path.open(encoding="utf-8", newline="") as file:
        return {
            (row["task"], row["mode"], row["label"]): (
                float(row["baseline_score"] or "nan"),
                float(row["untrained_score"] or "nan"),
            )
            for row in csv.DictReader(file)
        }
