"""The model that is probed, by whatever name it goes, and its untrained copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from stemcell.corpora.layers import Example
from stemcell.encoders.load import load_encoder
from stemcell.encoders.names import NAMES, TINY
from stemcell.encoders.words import WordEncoder
from stemcell.errors import UserError
from stemcell.heads.maps import KEPT, matrix
from stemcell.model import MultiTaskModel
from stemcell.saved import is_export, read_saved
from stemcell.tracking.folder import find_run


class Splits(Protocol):
    """A corpus: sentences by split and layer."""

    def __getitem__(self, split: str) -> Mapping[str, Sequence[Example]]: ...


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


def open_heads(target: MultiTaskModel, task: str) -> np.ndarray:
    """Which heads there are and a task's gates leave open, [layers, heads before any was removed], booleans."""
    kept, width = target.encoder.kept_heads, target.encoder.hidden // target.encoder.head_size
    gates = target.gates
    if gates is None:
        values = [1.0] * sum(map(len, kept))
    else:
        values = gates.values()[gates.set_of(task)].tolist()
    return matrix(values, kept, width) > KEPT
