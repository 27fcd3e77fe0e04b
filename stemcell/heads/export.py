"""Exports: a trained model without its closed heads, as a folder of its own (its form: :mod:`stemcell.saved`)."""

from __future__ import annotations

import dataclasses
import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import nn

from stemcell.config import to_dict
from stemcell.errors import UserError
from stemcell.files import sha256, staged_folder, write_sealed
from stemcell.heads.cost import BATCH, WORDS, Cost, compare
from stemcell.heads.removal import fold, gate_set, remove
from stemcell.model import MultiTaskModel
from stemcell.saved import EXPORT_FORMAT, Saved, read_saved


@dataclass(frozen=True)
class Export:
    """What an export has come to.

    Attributes:
        before: costs of the model with all the heads that it was trained with.
        after: costs without the removed ones.
        device: where they were measured, in words.
        threads: how many processor threads there were.
        words: of the sentences they are given for.
        batch: sentences in a batch, where words a second are given.
    """

    before: Cost
    after: Cost
    device: str
    threads: int
    words: int
    batch: int = BATCH


def export(run: str | Path, out: Path, *, threshold: float = 0.0, task: str | None = None) -> Export:
    """Write a trained model without the heads whose gate is at most the threshold, its other gates folded in.

    A model that was trained without gates is written as it is.

    Args:
        run: a run or another export.
        out: a folder that does not exist; it is there whole in the end, or not at all.
        threshold: from 0, with which outputs stay the same up to rounding, to below 1.
        task: the one whose gates are meant, where each task has its own.

    Raises:
        UserError: the folder exists or cannot be written, the threshold is out of range, the run cannot be read, the
            task is missing or not one of the run's, or heads cannot be removed from its encoder.
    """
    if not 0 <= threshold < 1:
        raise UserError(f"threshold is {threshold}: it must be from 0 to below 1, as gates are from 0 to 1")
    check_free(out)
    saved = read_saved(run)
    before, after = saved.build(), saved.build()
    chosen = gate_set(after, task)
    # Both without hooks: time that gates take in training is none that removal saves.
    fold(before, task)
    remove(after, task, threshold)
    with staged_folder(out) as folder:
        after.encoder.save_description(folder / "encoder")
        save_weights(after.encoder.model, folder / "encoder" / "model.safetensors")
        save_weights(after.decoders, folder / "decoders.safetensors")
        files = {path.relative_to(folder).as_posix(): sha256(path) for path in _files(folder)}
        record = _describe(saved, after, chosen, threshold)
        report = _measure(before, after)
        costs = dataclasses.asdict(report)
        write_sealed(folder / "export.json", {"format": EXPORT_FORMAT, **record, "files": files, "costs": costs})
        check_free(out)  # another command may have been quicker
    return report


def check_free(out: Path) -> None:
    """Raise a :class:`UserError` if anything is where an export is to be: nothing is ever replaced."""
    if os.path.lexists(out):
        raise UserError(f"{out}: already there, so it stays; name another folder with --out")


def save_weights(module: nn.Module, path: Path) -> None:
    """A module's weights as safetensors, in the form that transformers reads too."""
    tensors = {name: tensor.cpu().contiguous() for name, tensor in module.state_dict().items()}
    save_file(tensors, path, {"format": "pt"})


def _describe(saved: Saved, model: MultiTaskModel, chosen: str | None, threshold: float) -> dict[str, Any]:
    tasks = [task for task in saved.labels if task in model.decoders]
    config = dataclasses.replace(saved.config, prune="no", from_run="", tasks=tuple(tasks))
    return {
        "source": saved.source,
        "config": to_dict(config),
        "tags": saved.tags,
        "labels": {task: saved.labels[task] for task in tasks},
        "threshold": threshold,
        "set": chosen,
        "kept_heads": model.encoder.kept_heads,
    }


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file())


def _measure(before: MultiTaskModel, after: MultiTaskModel) -> Export:
    graphics = torch.cuda.is_available()
    costs = compare(before, after, "cuda" if graphics else "cpu")
    device = torch.cuda.get_device_name() if graphics else f"CPU ({platform.machine()})"
    return Export(*costs, device, torch.get_num_threads(), min(WORDS, after.encoder.limit - 2))
