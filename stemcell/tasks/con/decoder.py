"""Constituency parsing in two stages (Zhang, Zhou and Li 2020): a CRF over bracketings, then a label a bracket."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from stemcell.corpora.layers import Constituents, Example
from stemcell.encoders.encoded import Encoded
from stemcell.structures import cky
from stemcell.tasks.con.binary import binarise, debinarise
from stemcell.tasks.modules import MLP, Biaffine
from stemcell.tasks.protocol import Target

SPAN_SIZE, LABEL_SIZE, DROPOUT = 500, 100, 0.33
UNSEEN = -100
"""Stands for a label that training never saw: such a bracket has no label loss."""


class ConDecoder(nn.Module):
    """Scores of spans between fenceposts and of their labels, by biaffines."""

    def __init__(self, hidden: int, labels: list[str]) -> None:
        super().__init__()
        self.labels = labels
        self.index = {label: number for number, label in enumerate(labels)}
        self.span_left = MLP(hidden, SPAN_SIZE, DROPOUT)
        self.span_right = MLP(hidden, SPAN_SIZE, DROPOUT)
        self.label_left = MLP(hidden, LABEL_SIZE, DROPOUT)
        self.label_right = MLP(hidden, LABEL_SIZE, DROPOUT)
        self.span = Biaffine(SPAN_SIZE, 1, bias_right=False)
        self.label = Biaffine(LABEL_SIZE, len(labels))

    def target(self, example: Example) -> Target:
        """``cells``: (start, end, label number) of the binary tree's brackets, between fenceposts, [2n - 1, 3]."""
        cells = [(start, end, self.index.get(label, UNSEEN)) for start, end, label in binarise(example.gold)]
        return {"cells": torch.tensor(cells)}

    def counts(self, target: Target) -> tuple[float, ...]:
        """Words, for the tree's likelihood, and brackets with a known label."""
        labels = target["cells"][:, 2]
        return ((len(labels) + 1) / 2, float((labels != UNSEEN).sum()))

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Negative log-likelihood of the gold bracketings and cross-entropy of their labels, summed, [2], float32."""
        posts = _fenceposts(encoded)
        sentences = torch.tensor([number for number, target in enumerate(targets) for _ in target["cells"]])
        cells = torch.cat([target["cells"] for target in targets])
        sentence, start, end, label = torch.cat([sentences[:, None], cells], 1).to(posts.device).unbind(1)
        scores = self._span_scores(posts)
        tree = cky.inside(scores, encoded.lengths).sum() - scores[sentence, start, end].sum()
        labels = functional.cross_entropy(
            self._label_scores(posts, sentence, start, end), label, ignore_index=UNSEEN, reduction="sum"
        )
        return torch.stack([tree, labels])

    def decode(self, encoded: Encoded) -> list[Constituents]:
        """Minimum-risk bracketings (CKY on the spans' marginals), each bracket with its best label; tags are ``_``."""
        posts = _fenceposts(encoded)
        trees = cky.decode(cky.marginals(self._span_scores(posts), encoded.lengths), encoded.lengths)
        sentences = np.repeat(np.arange(len(trees)), [len(spans) for spans in trees])
        cells = torch.from_numpy(np.column_stack([sentences, np.concatenate(trees)])).to(posts.device)
        labels = self._label_scores(posts, *cells.unbind(1)).argmax(-1).tolist()
        result, position = [], 0
        for spans, words in zip(trees, encoded.lengths, strict=True):
            names = [self.labels[number] for number in labels[position : position + len(spans)]]
            position += len(spans)
            result.append(debinarise([(i, j, name) for (i, j), name in zip(spans.tolist(), names, strict=True)], words))
        return result

    def _span_scores(self, posts: Tensor) -> Tensor:
        """[batch, longest + 1, longest + 1], float32."""
        return self.span(self.span_left(posts), self.span_right(posts)).float()

    def _label_scores(self, posts: Tensor, sentence: Tensor, start: Tensor, end: Tensor) -> Tensor:
        """[cells, labels], float32."""
        return self.label.at(self.label_left(posts), self.label_right(posts), sentence, start, end).float()


def _fenceposts(encoded: Encoded) -> Tensor:
    """First half of each position's vector with the second half of the next one's, [batch, longest + 1, hidden]."""
    states = encoded.states
    half = states.shape[-1] // 2
    return torch.cat([states[:, :-1, :half], states[:, 1:, half:]], -1)
