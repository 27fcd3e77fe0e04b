"""A linear classifier of word vectors (docs/method.md, section 3.1)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from stemcell.corpora.layers import BLANK, Example
from stemcell.encoders.encoded import Encoded
from stemcell.tasks.protocol import Target

UNSEEN = -100
"""Stands for a blank, and for a tag that training never saw: such a word has no loss."""


class PosDecoder(nn.Module):
    """Scores [batch, words, tags] = W x + b."""

    def __init__(self, hidden: int, tags: list[str]) -> None:
        super().__init__()
        self.tags = tags
        self.index = {tag: number for number, tag in enumerate(tags)}
        self.scores = nn.Linear(hidden, len(tags))

    def target(self, example: Example) -> Target:
        """``tags``: each word's tag number, [n]; :data:`UNSEEN` where it is blank or training never saw it."""
        numbers = [UNSEEN if tag == BLANK else self.index.get(tag, UNSEEN) for tag in example.gold]
        return {"tags": torch.tensor(numbers)}

    def counts(self, target: Target) -> tuple[float, ...]:
        """Words with a known tag."""
        return (float((target["tags"] != UNSEEN).sum()),)

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Cross-entropy summed over the words, [1], float32."""
        scores = self.scores(encoded.vectors)
        gold = pad_sequence([target["tags"] for target in targets], batch_first=True, padding_value=UNSEEN)
        gold = functional.pad(gold, (0, scores.shape[1] - gold.shape[1]), value=UNSEEN).to(scores.device)
        return functional.cross_entropy(
            scores.float().flatten(0, 1), gold.flatten(), ignore_index=UNSEEN, reduction="sum"
        )[None]

    def decode(self, encoded: Encoded) -> list[tuple[str, ...]]:
        """Each word's best tag."""
        best = self.scores(encoded.vectors).argmax(-1).tolist()
        return [
            tuple(self.tags[number] for number in row[:length])
            for row, length in zip(best, encoded.lengths, strict=True)
        ]
