"""One encoder with a decoder a task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from torch import Tensor, nn

from stemcell.config import RunConfig
from stemcell.encoders.encoded import Encoded
from stemcell.encoders.words import Batch, WordEncoder
from stemcell.heads.gates import Gates
from stemcell.tasks import task as find_task
from stemcell.tasks.protocol import Decoder, Labels, Target


class MultiTaskModel(nn.Module):
    """A shared encoder and one decoder a task (STL with one, MTL-k with k), with gates on the encoder's heads or none.

    A model whose tasks have gates of their own encodes a sentence once a task; others once for all (:meth:`passes`).
    """

    def __init__(self, encoder: WordEncoder, decoders: Mapping[str, Decoder], gates: Gates | None = None) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoders = nn.ModuleDict(cast(Any, decoders))
        self.gates = gates
        if gates is not None:
            gates.attach(encoder)

    def decoder(self, task: str) -> Decoder:
        """The decoder of a task."""
        return cast(Decoder, self.decoders[task])

    def loss(self, task: str, batch: Batch, targets: Sequence[Target], word_dropout: float = 0.0) -> Tensor:
        """Sums of the terms of a task's loss over a batch, [terms] (see :meth:`Decoder.loss`)."""
        if self.gates is not None:
            self.gates.choose(task)
        return self.decoder(task).loss(self.encoder(batch, word_dropout=word_dropout), targets)

    def forward(self, batch: Batch, task: str) -> Encoded:
        """Word vectors of a batch for a task."""
        if self.gates is not None:
            self.gates.choose(task)
        return self.encoder(batch)

    def passes(self, tasks: Iterable[str]) -> list[list[str]]:
        """Tasks by pass over a batch: those of one pass have the same word vectors."""
        if self.gates is not None and self.gates.per_task:
            return [[task] for task in tasks]
        return [list(tasks)]


def build_decoders(hidden: int, labels: Mapping[str, Labels], config: RunConfig) -> dict[str, Decoder]:
    """Fresh decoders for the tasks of ``labels``, in its order, as a configuration chooses them."""
    choices = {
        "dep": {"projective": config.projective},
        "ner": {"nested": config.nested},
        "srl": {"paper": config.srl_decoder == "paper"},
    }
    return {name: find_task(name).decoder(hidden, labels[name], **choices.get(name, {})) for name in labels}
