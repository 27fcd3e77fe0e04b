"""Deep biaffine dependency parsing (Dozat and Manning 2017): a head for each word, then the relation to it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from stemcell.corpora.layers import Arcs, Example
from stemcell.encoders.encoded import Encoded
from stemcell.structures import arborescence, eisner
from stemcell.tasks.modules import MLP, Biaffine
from stemcell.tasks.protocol import Target

ARC_SIZE, RELATION_SIZE, DROPOUT = 500, 100, 0.33
UNSEEN = -100
"""Stands for a relation that training never saw: such a word has no relation loss."""


class DepDecoder(nn.Module):
    """Biaffine scores of arcs and relations; the first special token is the root.

    Attributes:
        projective: decode the best projective tree (Eisner) instead of the best tree (arborescence).
    """

    def __init__(self, hidden: int, relations: list[str], projective: bool = False) -> None:
        super().__init__()
        self.relations = relations
        self.index = {relation: number for number, relation in enumerate(relations)}
        self.projective = projective
        self.arc_dependent = MLP(hidden, ARC_SIZE, DROPOUT)
        self.arc_head = MLP(hidden, ARC_SIZE, DROPOUT)
        self.relation_dependent = MLP(hidden, RELATION_SIZE, DROPOUT)
        self.relation_head = MLP(hidden, RELATION_SIZE, DROPOUT)
        # A head may be likelier than others whatever the dependent; that a word has a head at all needs no bias.
        self.arc = Biaffine(ARC_SIZE, 1, bias_right=False)
        self.relation = Biaffine(RELATION_SIZE, len(relations))

    def target(self, example: Example) -> Target:
        """``heads`` and ``relations`` of the words, [n] each; :data:`UNSEEN` where training never saw the relation."""
        relations = [self.index.get(relation, UNSEEN) for relation in example.gold.relations]
        return {"heads": torch.tensor(example.gold.heads), "relations": torch.tensor(relations)}

    def counts(self, target: Target) -> tuple[float, ...]:
        """Words, for the arcs, and words with a known relation."""
        return (float(len(target["heads"])), float((target["relations"] != UNSEEN).sum()))

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Cross-entropy of the heads and of the relations at the gold heads, summed over the words, [2], float32."""
        nodes = encoded.states[:, :-1]
        heads, relations = (
            torch.cat([target[name] for target in targets]).to(nodes.device) for name in ("heads", "relations")
        )
        sentence, word = _words(encoded)
        beyond = functional.pad(~encoded.mask(), (1, 0))
        arcs = self._arc_scores(nodes).masked_fill(beyond[:, None], float("-inf"))[sentence, word + 1]
        scores = self._relation_scores(nodes, sentence, word + 1, heads)
        return torch.stack(
            [
                functional.cross_entropy(arcs, heads, reduction="sum"),
                functional.cross_entropy(scores, relations, ignore_index=UNSEEN, reduction="sum"),
            ]
        )

    def decode(self, encoded: Encoded) -> list[Arcs]:
        """The best single-root tree of each sentence, and the best relation on each of its arcs."""
        structure = eisner if self.projective else arborescence
        nodes = encoded.states[:, :-1]
        trees = [heads.tolist() for heads in structure.decode(self._arc_scores(nodes), encoded.lengths)]
        sentence, word = _words(encoded)
        heads = torch.tensor([head for tree in trees for head in tree], device=nodes.device)
        relations = iter(self._relation_scores(nodes, sentence, word + 1, heads).argmax(-1).tolist())
        return [Arcs(tuple(tree), tuple(self.relations[next(relations)] for _ in tree)) for tree in trees]

    def _arc_scores(self, nodes: Tensor) -> Tensor:
        """[batch, longest + 1, longest + 1], float32: dependents by heads, the root first in both."""
        return self.arc(self.arc_dependent(nodes), self.arc_head(nodes)).float()

    def _relation_scores(self, nodes: Tensor, sentence: Tensor, dependent: Tensor, head: Tensor) -> Tensor:
        """[arcs, relations], float32."""
        dependents, heads = self.relation_dependent(nodes), self.relation_head(nodes)
        return self.relation.at(dependents, heads, sentence, dependent, head).float()


def _words(encoded: Encoded) -> tuple[Tensor, Tensor]:
    """Sentence and position of every word of the batch; made of the lengths, so that nobody waits for the device."""
    sentence = torch.tensor([number for number, length in enumerate(encoded.lengths) for _ in range(length)])
    word = torch.tensor([position for length in encoded.lengths for position in range(length)])
    return sentence.to(encoded.states.device), word.to(encoded.states.device)
