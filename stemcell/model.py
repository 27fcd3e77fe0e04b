"""One encoder with a decoder a task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from torch import Tensor, nn

from stemcell.encoders.encoded import Encoded
from stemcell.encoders.words import Batch, WordEncoder
from stemcell.tasks import task as find_task
from stemcell.tasks.protocol import Decoder, Labels, Target


class MultiTaskModel(nn.Module):
    """A shared encoder and one decoder a task (STL with one, MTL-k with k)."""

    def __init__(self, encoder: WordEncoder, decoders: Mapping[str, Decoder]) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoders = nn.ModuleDict(cast(Any, decoders))

    def decoder(self, task: str) -> Decoder:
        """The decoder of a task."""
        return cast(Decoder, self.decoders[task])

    def loss(self, task: str, batch: Batch, targets: Sequence[Target], word_dropout: float = 0.0) -> Tensor:
        """Sums of the terms of a task's loss over a batch, [terms] (see :meth:`Decoder.loss`)."""
        return self.decoder(task).loss(self.encoder(batch, word_dropout=word_dropout), targets)

    def forward(self, batch: Batch) -> Encoded:
        """Word vectors of a batch."""
        return self.encoder(batch)


def build_decoders(
    hidden: int, labels: Mapping[str, Labels], *, projective: bool = False, nested: bool = False
) -> dict[str, Decoder]:
    """Fresh decoders for the tasks of ``labels``, in its order."""
    choices = {"dep": {"projective": projective}, "ner": {"nested": nested}}
    return {name: find_task(name).decoder(hidden, labels[name], **choices.get(name, {})) for name in labels}
