"""Checkpoints: safetensors and JSON, written whole or not at all, checked by their hashes when read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from stemcell.errors import UserError
from stemcell.files import check_files, check_seal, intact, read_json, sha256, staged_folder, write_sealed

FORMAT = 1


def save(
    folder: Path, kind: str, step: int, tensors: Mapping[str, Mapping[str, Tensor]], state: dict[str, Any]
) -> None:
    """Write a checkpoint and only then forget the one before it.

    Args:
        folder: where checkpoints lie; ``KIND.json`` in it points to the newest and holds the hashes of its files.
        kind: ``last`` (to go on from) or ``best`` (to use).
        step: steps done, part of the name.
        tensors: file name without ending -> tensors by name.
        state: plain values.

    Raises:
        UserError: if the disk is full; the checkpoint before stays.
    """
    from safetensors import SafetensorError
    from safetensors.torch import save_file

    name = f"{kind}-{step:08d}"
    # The same step is saved again where an interrupted epoch is evaluated after a resume.
    target = folder / name
    if target.exists():
        target = folder / f"{name}-{os.getpid()}-{len(list(folder.glob(f'{name}-*')))}"
    try:
        with staged_folder(target) as temporary:
            for file, values in tensors.items():
                path = temporary / f"{file}.safetensors"
                save_file({key: value.detach().cpu().contiguous() for key, value in values.items()}, path)
            files = {path.name: sha256(path) for path in sorted(temporary.iterdir())}
        write_sealed(
            folder / f"{kind}.json",
            {"format": FORMAT, "folder": target.name, "step": step, "files": files, "state": state},
        )
    except (OSError, UserError, SafetensorError) as error:
        if "disk is full" in str(error) or "No space left" in str(error):
            raise UserError(f"{folder}: the disk is full; make room and go on with --resume") from error
        raise
    # A run has one writer, so what is staged beside is of one that was killed.
    for old in (*folder.glob(f"{kind}-*"), *folder.glob(f".{kind}-*")):
        if old != target:
            shutil.rmtree(old, ignore_errors=True)


def load(folder: Path, kind: str) -> tuple[dict[str, dict[str, Tensor]], dict[str, Any]]:
    """Read a checkpoint: its tensors by file and name, on the CPU, and its state.

    Raises:
        UserError: if there is none, it was written by another version, or a file is missing or not as it was written.
    """
    from safetensors.torch import load_file

    pointer = folder / f"{kind}.json"
    if not pointer.exists():
        raise UserError(f"{folder}: no checkpoint '{kind}' here; the run stopped before its first one")
    record = read_json(pointer)
    with intact(pointer):
        if record["format"] != FORMAT:
            raise UserError(
                f"{pointer}: checkpoint format {record['format']}, but this version of stemcell reads {FORMAT}; "
                "use the version that wrote it (see run.json)"
            )
        check_seal(pointer, record)
        whole = folder / record["folder"]
        check_files(whole, record["files"], pointer)
        return {Path(name).stem: load_file(whole / name) for name in record["files"]}, record["state"]


def optimiser_tensors(optimiser: torch.optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """An optimiser's state as ``PARAMETER:ENTRY`` -> tensor."""
    names: dict[Any, str] = {parameter: name for name, parameter in model.named_parameters()}
    return {
        f"{names[parameter]}:{entry}": value
        for parameter, entries in optimiser.state.items()
        for entry, value in entries.items()
    }


def restore_optimiser(optimiser: torch.optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """The inverse of :func:`optimiser_tensors`."""
    parameters = dict(model.named_parameters())
    for key, value in tensors.items():
        name, entry = key.rsplit(":", 1)
        parameter = parameters[name]
        # A fused optimiser keeps its step count beside the parameter.
        optimiser.state[parameter][entry] = value.to(parameter.device)
