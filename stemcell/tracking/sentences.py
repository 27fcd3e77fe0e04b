"""Each sentence's share in a run's main scores: ``artifacts/sentences/SPLIT.npz``, an array a task.

A row is a sentence in the corpus' order: (correct, of), or (correct, predicted, gold) where the score is an F1. Sums of
rows give the score (:func:`stemcell.tasks.scoring.main_score`), so that runs are compared sentence by sentence.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from zipfile import BadZipFile

import numpy as np

from stemcell.errors import UserError, suggested
from stemcell.files import intact
from stemcell.tracking.folder import RunFolder
from stemcell.tracking.freshness import mark, stale


def write(run: RunFolder, split: str, counts: Mapping[str, np.ndarray]) -> None:
    """Keep tasks' counts, [sentences, 2 or 3] each, beside those that other tasks of the same weights have."""
    try:
        before = {} if stale(run, f"sentences-{split}") else read(run, split)
    except UserError:  # what is damaged is made anew
        before = {}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{**before, **counts})
    run.artifact(f"sentences/{split}.npz", buffer.getvalue())
    mark(run, f"sentences-{split}")


def read(run: RunFolder, split: str) -> dict[str, np.ndarray]:
    """Counts by task; empty where the run was not evaluated on the split.

    Raises:
        UserError: if the file is damaged.
    """
    path = run.path / "artifacts" / "sentences" / f"{split}.npz"
    if not path.is_file():
        return {}
    try:
        with intact(path), np.load(path, allow_pickle=False) as stored:
            counts = {task: stored[task] for task in stored.files}
            if any(
                array.ndim != 2 or array.shape[1] not in (2, 3) or array.dtype.kind != "i" for array in counts.values()
            ):
                raise ValueError("not counts by sentence")
            return counts
    except (BadZipFile, EOFError) as error:
        raise UserError(
            f"{path}: damaged ({error}); evaluate the run again: {suggested('evaluate', run.path, '--split', split)}"
        ) from None
