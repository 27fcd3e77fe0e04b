"""Roles as a graph of word pairs: which words are predicates, and for each of them a BIO tag on every word.

The edges are those of Zhou et al. 2022 ("Fast and Accurate End-to-End Span-based Semantic Role Labeling as Word-based
Graph Parsing"); a predicate's tags are chosen together, so that they are always spans, none over another.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional

from stemcell.corpora.layers import Argument, Example, Frames
from stemcell.encoders.encoded import Encoded
from stemcell.tasks.modules import MLP
from stemcell.tasks.protocol import Target
from stemcell.tasks.srl.bio import best_tags, spans, tags_of

SIZE, PREDICATE_SIZE, DROPOUT = 300, 150, 0.2
CONVOLUTIONS, WINDOW = 2, 3
REACH = 16
"""Longer distances from a predicate count as this one."""
BEYOND = -100
"""Marks words that only pad the batch."""
CELLS = 2**16
"""Pairs of a predicate and a word that are decoded at once, so that long sentences do not take all memory."""


class GraphDecoder(nn.Module):
    """A score of each word as a predicate, and scores of the tags of each (predicate, word).

    Tags are told by a network over the pair's vectors and distance, whose first layer, being affine, is computed once a
    word, not once a pair. Convolutions then let each word see its neighbours as they stand to the same predicate, for
    which Shi and Lin 2019 ("Simple BERT Models for Relation Extraction and Semantic Role Labeling") encode the sentence
    again for each predicate.
    """

    def __init__(self, hidden: int, roles: list[str]) -> None:
        super().__init__()
        self.roles = roles
        self.index = {role: number for number, role in enumerate(roles)}
        self.head = MLP(hidden, PREDICATE_SIZE, DROPOUT)
        self.predicate = nn.Linear(PREDICATE_SIZE, 1)
        self.owner = nn.Linear(hidden, SIZE)
        self.word = nn.Linear(hidden, SIZE, bias=False)
        self.distance = nn.Embedding(2 * REACH + 1, SIZE)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(SIZE, SIZE, WINDOW, padding=WINDOW // 2) for _ in range(CONVOLUTIONS)
        )
        self.dropout = nn.Dropout(DROPOUT)
        self.tags = nn.Linear(SIZE, 1 + 2 * len(roles))
        nn.init.normal_(self.distance.weight, std=0.3)

    def target(self, example: Example) -> Target:
        """``predicates``: words, [predicates]; ``tags``: theirs, [predicates, n]; ``length``: n, [].

        A role that training never saw is left out. So is an argument that covers its predicate or an earlier argument.
        """
        words, gold = len(example.words), example.gold
        owned: dict[int, list[tuple[int, int, int]]] = {predicate: [] for predicate in gold.predicates}
        for predicate, start, end, role in gold.arguments:
            if role in self.index and not start <= predicate <= end:
                owned[predicate].append((start, end, self.index[role]))
        return {
            "predicates": torch.tensor(gold.predicates, dtype=torch.long),
            "tags": torch.tensor([tags_of(own, words) for own in owned.values()], dtype=torch.long).view(-1, words),
            "length": torch.tensor(words),
        }

    def counts(self, target: Target) -> tuple[float, ...]:
        """Words, for predicates, and pairs of a gold predicate and a word, for tags."""
        return float(target["length"]), float(target["tags"].numel())

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Cross-entropy of predicates over words and of tags over gold predicates' pairs, summed, [2], float32."""
        vectors = encoded.vectors
        longest = vectors.shape[1]
        # Laid out on the host, where all sizes are known.
        numbers = [number for number, target in enumerate(targets) for _ in target["predicates"]]
        sentences, words = torch.tensor(numbers, dtype=torch.long), torch.cat([t["predicates"] for t in targets])
        gold = torch.zeros(len(targets), longest)
        gold[sentences, words] = 1.0
        tags = torch.cat([functional.pad(t["tags"], (0, longest - t["tags"].shape[1]), value=BEYOND) for t in targets])
        sentences, words, gold, tags = (tensor.to(vectors.device) for tensor in (sentences, words, gold, tags))
        predicates = functional.binary_cross_entropy_with_logits(
            self._predicate_scores(vectors), gold, weight=encoded.mask().float(), reduction="sum"
        )
        scores = self._tag_scores(encoded, sentences, words)
        pairs = functional.cross_entropy(scores.flatten(0, 1), tags.flatten(), ignore_index=BEYOND, reduction="sum")
        return torch.stack([predicates, pairs])

    def decode(self, encoded: Encoded) -> list[Frames]:
        """Words likelier predicates than not, each with the arguments of its best valid tags."""
        vectors = encoded.vectors
        places = ((self._predicate_scores(vectors) > 0) & encoded.mask()).nonzero()
        pieces = places.split(max(1, CELLS // vectors.shape[1]))
        tags = torch.cat([best_tags(self._tag_scores(encoded, *piece.unbind(1))) for piece in pieces])
        predicates: list[list[int]] = [[] for _ in encoded.lengths]
        arguments: list[list[Argument]] = [[] for _ in encoded.lengths]
        for (sentence, word), own in zip(places.tolist(), tags.tolist(), strict=True):
            predicates[sentence].append(word)
            arguments[sentence] += [Argument(word, start, end, self.roles[role]) for start, end, role in spans(own)]
        return [Frames(tuple(words), tuple(found)) for words, found in zip(predicates, arguments, strict=True)]

    def _predicate_scores(self, vectors: Tensor) -> Tensor:
        """Log odds, [batch, longest], float32."""
        return self.predicate(self.head(vectors))[..., 0].float()

    def _tag_scores(self, encoded: Encoded, sentences: Tensor, words: Tensor) -> Tensor:
        """Scores of tags of all words for some predicates, [predicates, longest, tags], float32.

        Only O may stand on a predicate's own word and beyond its sentence.
        """
        vectors, mask = encoded.vectors, encoded.mask()[sentences]
        away = torch.arange(vectors.shape[1], device=words.device) - words[:, None]
        first = (
            self.owner(vectors)[sentences, words][:, None]
            + self.word(vectors)[sentences]
            + self.distance(away.clamp(-REACH, REACH) + REACH)
        )
        pairs = self.dropout(functional.gelu(first))
        for convolution in self.convolutions:
            # Beyond a sentence is nothing, however long the others of its batch are.
            around = convolution(pairs.masked_fill(~mask[:, :, None], 0).mT).mT
            pairs = pairs + self.dropout(functional.gelu(around))
        scores = self.tags(pairs).float()
        barred = (away == 0) | ~mask
        argument = torch.arange(scores.shape[2], device=words.device) > 0
        return scores.masked_fill(barred[:, :, None] & argument, -torch.inf)
