"""Named entities as a choice of label for every span (Yu, Bohnet and Poesio 2020, "Named Entity Recognition as
Dependency Parsing")."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from stemcell.corpora.layers import Example, Span
from stemcell.encoders.encoded import Encoded
from stemcell.tasks.modules import MLP, Biaffine
from stemcell.tasks.ner.selection import select
from stemcell.tasks.protocol import Target

SIZE = 150
DROPOUT = 0.2
ENTITY_PRIOR = 0.01
"""How probable the fresh decoder holds it that a span is an entity."""
INVALID = -100
"""Marks cells that are no span: below the diagonal or beyond the sentence."""


class NerDecoder(nn.Module):
    """A biaffine score for every span i <= j and every label, NULL being label 0 (Yu et al., equations 1 to 3).

    Attributes:
        nested: entities may lie within one another; only crossing ones exclude each other.
    """

    def __init__(self, hidden: int, types: list[str], nested: bool = False) -> None:
        super().__init__()
        self.types = types
        self.index = {label: number for number, label in enumerate(types, start=1)}
        self.nested = nested
        self.start = MLP(hidden, SIZE, DROPOUT)
        self.end = MLP(hidden, SIZE, DROPOUT)
        self.biaffine = Biaffine(SIZE, len(types) + 1)
        assert self.biaffine.constant is not None
        # Hardly any span is an entity. A decoder that does not know so from the start (Lin et al. 2017, "Focal Loss",
        # section 3.3) spends its first updates on NULL and finds few entities for long.
        odds = (1 - ENTITY_PRIOR) / ENTITY_PRIOR * max(1, len(types))
        nn.init.constant_(self.biaffine.constant[:1], math.log(odds))

    def target(self, example: Example) -> Target:
        """``spans``: (start, end, label number) of each entity, [entities, 3], and ``length``: the words, [].

        An entity of a type that training never saw is left out: its cell is NULL. Of several labels on the same
        words the first stands, since a cell has one label.
        """
        cells = {(s.start, s.end): self.index[s.label] for s in reversed(example.gold) if s.label in self.index}
        spans = [(start, end, label) for (start, end), label in cells.items()]
        return {
            "spans": torch.tensor(spans, dtype=torch.long).view(-1, 3),
            "length": torch.tensor(len(example.words)),
        }

    def counts(self, target: Target) -> tuple[float, ...]:
        """Valid cells: n (n + 1) / 2."""
        length = int(target["length"])
        return (length * (length + 1) / 2,)

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Cross-entropy summed over the valid cells, [1], float32."""
        scores = self._scores(encoded)
        gold = torch.where(_valid(encoded), 0, INVALID)
        sentences = [number for number, target in enumerate(targets) for _ in target["spans"]]
        starts, ends, labels = torch.cat([target["spans"] for target in targets]).to(gold.device).unbind(1)
        gold[torch.tensor(sentences, dtype=torch.long, device=gold.device), starts, ends] = labels
        return functional.cross_entropy(scores, gold, ignore_index=INVALID, reduction="sum")[None]

    def decode(self, encoded: Encoded) -> list[tuple[Span, ...]]:
        """Labelled spans taken by score, highest first, unless one overlaps (or crosses, if nested) an earlier one."""
        best, labels = self._scores(encoded).max(1)
        found = (_valid(encoded) & (labels > 0)).nonzero()
        sentences, starts, ends = found.unbind(1)
        scores = best[sentences, starts, ends]
        # Only these few cells leave the device; equal scores keep the order of start and end.
        order = scores.argsort(descending=True, stable=True)
        cells = torch.cat([found, labels[sentences, starts, ends][:, None]], 1)[order].tolist()
        ranked: list[list[Span]] = [[] for _ in encoded.lengths]
        for sentence, start, end, label in cells:
            ranked[sentence].append(Span(start, end, self.types[label - 1]))
        return [tuple(sorted(select(spans, self.nested))) for spans in ranked]

    def _scores(self, encoded: Encoded) -> Tensor:
        """[batch, labels, starts, ends], float32."""
        scores = self.biaffine(self.start(encoded.vectors), self.end(encoded.vectors)).float()
        # Without any type NULL is the only label, and the biaffine leaves a single label's dimension out.
        return scores if self.types else scores[:, None]


def _valid(encoded: Encoded) -> Tensor:
    """True at cells start <= end within the sentence, [batch, longest, longest]."""
    mask = encoded.mask()
    return mask[:, None, :].expand(-1, mask.shape[1], -1).triu()
