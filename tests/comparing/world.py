"""Runs as training, pruning, evaluation and probing leave them, without any of these: what they are is said."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from stemcell.config import from_dict, to_dict
from stemcell.corpora.layers import LAYERS
from stemcell.files import write_json
from stemcell.heads.maps import TABLE_COLUMNS, table_rows
from stemcell.tasks import task as find_task
from stemcell.tasks.scoring import main_score
from stemcell.tracking import sentences
from stemcell.tracking.folder import RunFolder

CORPUS = "c0ffee" * 10
LABELS = {task: {"labels": ["A", "B"]} for task in LAYERS}


def run(
    path: Path, tasks: Sequence[str] = LAYERS, seed: int = 1, *, quality: float | Mapping[str, float] = 0.8,
    mask: np.ndarray | None = None, size: int = 150, split: str = "test", corpus: str = CORPUS,
    status: str = "FINISHED", labels: Mapping[str, Any] = LABELS, probes: Mapping[str, Any] | None = None,
    evaluated: bool = True, noise: float = 0.0, **config: Any,
) -> RunFolder:  # fmt: skip
    """A run.

    Args:
        quality: the share of words, spans and so on that it has right, by task.
        mask: the heads that it keeps, if it was pruned.
        size: sentences of each task.
        probes: scores by label, of :func:`found`.
        noise: of the quality, by seed.
    """
    if mask is not None:
        config = {"prune": "dynamic", **config}
    values = to_dict(from_dict({"encoder": "minilm", "tasks": list(tasks), "seed": seed, "out": str(path), **config}))
    folder = RunFolder.create(path, values, {"corpus": corpus, "encoder": values["encoder"]})
    write_json(path / "artifacts" / "labels.json", {task: labels[task] for task in tasks})
    if mask is not None:
        folder.table("gates/step-000010", TABLE_COLUMNS, table_rows(10, {"joint": mask.astype(float)}))
        write_json(path / "checkpoints" / "best.json", {"step": 10})
    if evaluated:
        shares = {task: quality if isinstance(quality, float) else quality[task] for task in tasks}
        chance = np.random.default_rng([seed, sum(map(ord, path.name))])
        found = {task: counts(task, share + noise * chance.normal(), size, chance) for task, share in shares.items()}
        sentences.write(folder, split, found)
        scores = {f"{task}/{find_task(task).main}": main_score(own.sum(0)) for task, own in found.items()}
        folder.result(split, {name: float(score) for name, score in scores.items()})
    if probes is not None:
        keep_probes(folder, split, probes)
    folder.set_status(status)
    folder.release()
    return folder


def counts(task: str, share: float, size: int, chance: np.random.Generator) -> np.ndarray:
    """Counts of sentences of a task, of which a share is right; what is gold is always the same."""
    gold = np.random.default_rng(LAYERS.index(task)).integers(1, 21, size)
    right = chance.binomial(gold, np.clip(share, 0, 1))
    return np.stack([right, gold] if task in ("pos", "dep") else [right, gold, gold], 1)


def pretrained(
    path: Path,
    probes: Mapping[str, Any],
    encoder: str = "minilm",
    split: str = "test",
    heads: tuple[int, int] = (6, 12),
) -> RunFolder:
    """The probes of an encoder as it is, all of whose heads are alike."""
    tags = {"kind": "probe", "encoder": encoder, "mode": "pretrained", "corpus": CORPUS}
    folder = RunFolder.create(path, {"target": encoder, "data": "corpus", "split": split}, tags)
    keep_probes(folder, split, probes)
    rows = [
        (*name.split("/"), label, layer + 1, head + 1, 40, score, score - 0.05, score + 0.05, score - 0.2, 0.2)
        for name, scores in probes.items()
        for label, score in scores.items()
        for layer, head in np.ndindex(*heads)
    ]
    names = ["task", "mode", "label", "layer", "head", "count", "score", "low", "high", "control", "selectivity"]
    keep_heads(folder, pd.DataFrame(rows, columns=names), split=split)
    folder.set_status("FINISHED")
    folder.release()
    return folder


def keep_heads(
    folder: RunFolder,
    cells: pd.DataFrame,
    baselines: Mapping[str, tuple[float, float]] | None = None,
    split: str = "test",
) -> None:
    """Write every head's scores, and labels' scores of the most frequent label and of an untrained encoder."""
    buffer = io.BytesIO()
    cells.to_parquet(buffer, index=False)
    folder.artifact(f"probe/{split}/probe.parquet", buffer.getvalue())
    rows = cells[["task", "label", "mode"]].drop_duplicates()
    for place, name in enumerate(("baseline_score", "untrained_score")):
        rows[name] = [(baselines or {}).get(label, (0.0, np.nan))[place] for label in rows["label"]]
    folder.artifact(f"probe/{split}/probe-labels.csv", rows.to_csv(index=False))


def keep_probes(folder: RunFolder, split: str, probes: Mapping[str, Any]) -> None:
    """Write ``samples.npz``: by ``TASK/MODE`` scores by label; 40 items and 100 samples each."""
    content: dict[str, np.ndarray] = {}
    for name, scores in probes.items():
        chance = np.random.default_rng(0)
        noise = np.concatenate([np.zeros((1, len(scores))), chance.normal(0, 0.01, (100, len(scores)))])
        labels = sorted(scores)
        score = np.array([scores[label] for label in labels]) + noise
        content |= {f"{name}/labels": np.array(labels), f"{name}/count": np.full(len(labels), 40)}
        content |= {f"{name}/score": score.astype("float32"), f"{name}/selectivity": (score - 0.1).astype("float32")}
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **content)  # type: ignore[arg-type]
    folder.artifact(f"probe/{split}/samples.npz", buffer.getvalue())
