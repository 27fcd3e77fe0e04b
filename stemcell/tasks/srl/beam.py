"""Predicates, arguments and roles at once (He, Lee, Levy and Zettlemoyer 2018, "Jointly Predicting Predicates and
Arguments in Neural Semantic Role Labeling")."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from stemcell.corpora.layers import Argument, Example, Frames
from stemcell.encoders.encoded import Encoded
from stemcell.tasks.protocol import Target
from stemcell.tasks.srl.selection import heaviest
from stemcell.tasks.srl.spans import WIDEST, Spans, best, candidates, column, first_layer

SIZE = 150
WIDTH_SIZE = 20
DROPOUT = 0.2
LEXICAL_DROPOUT = 0.5
ROLE_PRIOR = 0.05
"""Probability that a fresh decoder gives a pair some role: rare as they are. Left to be learnt, it would be learnt
first by all arguments' and predicates' own scores together, which then tell nothing apart."""
NO_PAIR = -100
"""Marks pairs that only pad the batch."""


def kept_arguments(length: int) -> int:
    """Arguments that the beam keeps of an n-word sentence: max(1, floor(0.8 n))."""
    return max(1, length * 8 // 10)


def kept_predicates(length: int) -> int:
    """Predicates that the beam keeps: max(1, floor(0.4 n))."""
    return max(1, length * 4 // 10)


class Scorer(nn.Module):
    """A feed-forward network of two hidden layers, whose first, being affine, the decoder applies piecewise."""

    def __init__(self, size_in: int, size_out: int) -> None:
        super().__init__()
        self.first = nn.Linear(size_in, SIZE)
        self.second = nn.Linear(SIZE, SIZE)
        self.last = nn.Linear(SIZE, size_out)
        self.dropout = nn.Dropout(DROPOUT)

    def forward(self, first: Tensor) -> Tensor:
        """What the first layer gives, before its ReLU, [..., SIZE] -> [..., size_out]."""
        second = self.second(self.dropout(functional.relu(first)))
        return self.last(self.dropout(functional.relu(second)))


@dataclass(frozen=True, slots=True)
class Beam:
    """The kept arguments and predicates of a batch and the scores of their pairs.

    Attributes:
        columns: places of the kept arguments among their sentence's candidates, [batch, arguments].
        arguments: their spans, fields [batch, arguments].
        predicates: words, [batch, predicates].
        argument_mask, predicate_mask: False where a sentence keeps fewer than others do.
        scores: [batch, arguments, predicates, 1 + roles], float32; number 0 is "no role" and its score 0.
    """

    columns: Tensor
    arguments: Spans
    predicates: Tensor
    argument_mask: Tensor
    predicate_mask: Tensor
    scores: Tensor

    @property
    def mask(self) -> Tensor:
        """True at pairs, [batch, arguments, predicates]."""
        return self.argument_mask[:, :, None] & self.predicate_mask[:, None, :]


class SpanDecoder(nn.Module):
    """Scores phi(p, a, r) = phi_a(a) + phi_p(p) + phi_r(a, p), 0 for no role (He et al. 2018, section 3).

    A span's vector is [first word; last word; width embedding; mean of words], a predicate's its word's.
    """

    def __init__(self, hidden: int, roles: list[str]) -> None:
        super().__init__()
        self.hidden = hidden
        self.roles = roles
        self.index = {role: number for number, role in enumerate(roles, start=1)}
        span = 3 * hidden + WIDTH_SIZE
        self.widths = nn.Embedding(WIDEST, WIDTH_SIZE)
        self.argument = Scorer(span, 1)
        self.predicate = Scorer(hidden, 1)
        self.pair = Scorer(span + hidden, len(roles))
        self.lexical = nn.Dropout(LEXICAL_DROPOUT)
        nn.init.constant_(self.pair.last.bias, math.log(ROLE_PRIOR / (1 - ROLE_PRIOR) / max(len(roles), 1)))

    def target(self, example: Example) -> Target:
        """``arguments``: (candidate, predicate, role number) of each, [arguments, 3], and ``length``: words, [].

        Arguments wider than a candidate may be, or of a role that training never saw, are left out: they cost recall.
        Of several roles of one span for one predicate the first stands, since a pair has one role.
        """
        length = len(example.words)
        pairs = {
            (column(length, a.start, a.end), a.predicate): self.index[a.role]
            for a in reversed(example.gold.arguments)
            if a.role in self.index and a.end - a.start < WIDEST
        }
        return {
            "arguments": torch.tensor([(*pair, role) for pair, role in pairs.items()], dtype=torch.long).view(-1, 3),
            "length": torch.tensor(length),
        }

    def counts(self, target: Target) -> tuple[float, ...]:
        """Kept pairs."""
        length = int(target["length"])
        return (float(kept_arguments(length) * kept_predicates(length)),)

    def loss(self, encoded: Encoded, targets: Sequence[Target]) -> Tensor:
        """Cross-entropy over roles and no role, summed over the kept pairs, [1], float32."""
        beam = self.beam(encoded)
        gold = _gold(beam, targets)
        return functional.cross_entropy(
            beam.scores.flatten(0, 2), gold.flatten(), ignore_index=NO_PAIR, reduction="sum"
        )[None]

    def decode(self, encoded: Encoded) -> list[Frames]:
        """For each predicate the non-overlapping arguments of greatest total score; none of them covers its word."""
        beam = self.beam(encoded)
        score, role = beam.scores.max(-1)
        own = (beam.arguments.starts[:, :, None] <= beam.predicates[:, None]) & (
            beam.predicates[:, None] <= beam.arguments.ends[:, :, None]
        )
        # Only pairs whose best role beats no role can be in the best set, and only they leave the device.
        sentence, place, rank = (beam.mask & ~own & (score > 0)).nonzero().unbind(1)
        spans = beam.arguments.at(sentence, place)
        predicates, roles = beam.predicates[sentence, rank], role[sentence, place, rank]
        facts = torch.stack([sentence, predicates, spans.starts, spans.ends, roles], 1).tolist()
        scores = score[sentence, place, rank].tolist()
        owned: list[dict[int, list]] = [defaultdict(list) for _ in encoded.lengths]
        for (number, predicate, start, end, label), value in zip(facts, scores, strict=True):
            owned[number][predicate].append((start, end, value, self.roles[label - 1]))
        return [_frames(arguments) for arguments in owned]

    def beam(self, encoded: Encoded) -> Beam:
        """Scores all candidates, keeps the best and scores their pairs."""
        vectors = self.lexical(encoded.vectors)
        options = candidates(encoded.lengths, vectors.device)

        first = self.argument.first
        layer = first_layer(first.weight, first.bias, self.widths.weight, vectors)
        argument_scores = self.argument(layer(options.spans))[:, 0].float()
        keep = [kept_arguments(length) for length in encoded.lengths]
        columns, argument_mask = best(argument_scores.detach()[options.table], options.inside, keep)
        kept = options.table.gather(1, columns)
        arguments = options.spans.at(kept)

        predicate_scores = self.predicate(self.predicate.first(vectors))[..., 0].float()
        keep = [kept_predicates(length) for length in encoded.lengths]
        predicates, predicate_mask = best(predicate_scores, encoded.mask(), keep)

        weight, own = self.pair.first.weight.split([self.argument.first.in_features, self.hidden], dim=1)
        layer = first_layer(weight, self.pair.first.bias, self.widths.weight, vectors)
        chosen = vectors.gather(1, predicates[:, :, None].expand(-1, -1, self.hidden))
        pairs = layer(arguments)[:, :, None] + functional.linear(chosen, own)[:, None]
        roles = (
            self.pair(pairs).float()
            + argument_scores[kept][:, :, None, None]
            + predicate_scores.gather(1, predicates)[:, None, :, None]
        )
        scores = functional.pad(roles, (1, 0))
        return Beam(columns, arguments, predicates, argument_mask, predicate_mask, scores)


def _gold(beam: Beam, targets: Sequence[Target]) -> Tensor:
    """The role number of each kept pair, 0 for none, NO_PAIR where there is no pair, [batch, arguments, predicates]."""
    mask = beam.mask
    batch, arguments, predicates = mask.shape
    numbers = [number for number, target in enumerate(targets) for _ in target["arguments"]]
    sentences = torch.tensor(numbers, dtype=torch.long, device=mask.device)
    columns, words, roles = torch.cat([target["arguments"] for target in targets]).to(mask.device).unbind(1)
    # What the beam dropped goes to one more row or column, cut off afterwards, so that no size depends on the scores.
    gold = torch.zeros(batch, arguments + 1, predicates + 1, dtype=torch.long, device=mask.device)
    row = _rank(beam.columns[sentences], beam.argument_mask[sentences], columns)
    rank = _rank(beam.predicates[sentences], beam.predicate_mask[sentences], words)
    gold[sentences, row, rank] = roles
    return gold[:, :-1, :-1].masked_fill(~mask, NO_PAIR)


def _rank(kept: Tensor, mask: Tensor, wanted: Tensor) -> Tensor:
    """Where each of ``wanted`` [items] stands in its row of ``kept`` [items, k]; k if it does not."""
    found = (kept == wanted[:, None]) & mask
    return torch.where(found.any(1), found.int().argmax(1), kept.shape[1])


def _frames(owned: dict[int, list[tuple[int, int, float, str]]]) -> Frames:
    """Frames of the best arguments of each predicate, from its (first word, last word, score, role)."""
    arguments = []
    for predicate, spans in sorted(owned.items()):
        chosen = heaviest([span[:3] for span in spans])
        arguments += [Argument(predicate, spans[index][0], spans[index][1], spans[index][3]) for index in chosen]
    return Frames(tuple(sorted(owned)), tuple(arguments))
