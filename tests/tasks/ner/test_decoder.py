from __future__ import annotations

import random
from itertools import combinations

import pytest
import torch

from stemcell.corpora.layers import Span
from stemcell.tasks.ner import TASK
from stemcell.tasks.ner.selection import select
from tests.tasks import sentences
from tests.tasks.sentences import HIDDEN, encoded, example, randomised

LABELS = {"types": ["LOC", "ORG", "PER"]}
EXAMPLES = [
    example(4, (Span(0, 1, "PER"), Span(3, 3, "LOC"))),
    example(1, (Span(0, 0, "ORG"),)),
    example(6, ()),
    example(7, (Span(0, 6, "ORG"), Span(2, 3, "LAW"), Span(4, 5, "PER"), Span(4, 5, "LOC"))),
]


def test_labels_are_sorted():
    assert TASK.labels(EXAMPLES) == {"types": ["LAW", "LOC", "ORG", "PER"]}


@pytest.mark.parametrize("which", range(len(EXAMPLES)))
def test_loss_is_cross_entropy_over_all_spans(which):
    decoder = randomised(TASK.decoder(HIDDEN, LABELS))
    sentence = EXAMPLES[which]
    target = decoder.target(sentence)
    batch = encoded([len(sentence.words)])
    starts, ends = decoder.start(batch.vectors)[0], decoder.end(batch.vectors)[0]
    labels = ["NULL", *LABELS["types"]]
    expected = cells = 0
    for i in range(len(sentence.words)):
        for j in range(i, len(sentence.words)):
            scores = decoder.biaffine(starts[None, i : i + 1], ends[None, j : j + 1])[0, :, 0, 0]
            # LAW was never seen; of two labels on the same words the first stands.
            gold = next((s.label for s in sentence.gold if s[:2] == (i, j) and s.label in labels), "NULL")
            expected -= scores.log_softmax(0)[labels.index(gold)].item()
            cells += 1
    assert decoder.counts(target) == (cells,)
    assert decoder.loss(batch, [target]).item() == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("nested", [False, True])
def test_decode_equals_a_plain_loop(nested):
    decoder = randomised(TASK.decoder(HIDDEN, LABELS, nested=nested), 0.5)
    lengths = [1, 2, 5, 6, 9]
    found = decoder.decode(encoded(lengths))
    assert sum(map(len, found)) > 8
    for length, spans in zip(lengths, found, strict=True):
        batch = encoded([length])
        scores = decoder.biaffine(decoder.start(batch.vectors), decoder.end(batch.vectors))[0]
        cells = []
        for i in range(length):
            for j in range(i, length):
                value, label = scores[:, i, j].max(0)
                if label > 0:
                    cells.append((float(value), Span(i, j, LABELS["types"][label - 1])))
        chosen: list[Span] = []
        for _, span in sorted(cells, key=lambda cell: -cell[0]):
            words = set(range(span.start, span.end + 1))
            others = [set(range(other.start, other.end + 1)) for other in chosen]
            if all(not words & o or (nested and (words <= o or o <= words)) for o in others):
                chosen.append(span)
        assert spans == tuple(sorted(chosen))


@pytest.mark.parametrize("nested", [False, True])
def test_selection_never_clashes_and_is_maximal(nested):
    generator = random.Random(0)
    for _ in range(100):
        ranked = [Span(i, j, "X") for i in range(6) for j in range(i, 6)]
        generator.shuffle(ranked)
        words = {span: set(range(span.start, span.end + 1)) for span in ranked}

        def clash(a, b, words=words):
            shared = words[a] & words[b]
            return bool(shared) and not (nested and (shared == words[a] or shared == words[b]))

        chosen = select(ranked, nested)
        assert chosen[0] == ranked[0]
        assert not any(clash(a, b) for a, b in combinations(chosen, 2))
        assert all(any(clash(span, other) for other in chosen) for span in ranked if span not in chosen)


def test_sums_do_not_depend_on_the_batch():
    sentences.check_sums_do_not_depend_on_the_batch(randomised(TASK.decoder(HIDDEN, LABELS), 0.5), EXAMPLES)


def test_trains():
    sentences.check_trains(TASK.decoder(HIDDEN, LABELS), EXAMPLES)


def test_bfloat16():
    sentences.check_bfloat16(randomised(TASK.decoder(HIDDEN, LABELS)), EXAMPLES)


def test_a_corpus_without_entities_works():
    decoder = TASK.decoder(HIDDEN, TASK.labels([example(3, ())]))
    target = decoder.target(EXAMPLES[0])
    assert torch.equal(decoder.loss(encoded([4]), [target]), torch.zeros(1))
    assert decoder.decode(encoded([4])) == [()]
