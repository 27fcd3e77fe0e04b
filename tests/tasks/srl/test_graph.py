from __future__ import annotations

from itertools import product

import pytest
import torch
from torch.nn import functional

from stemcell.corpora.layers import Argument, Frames
from stemcell.tasks.srl import TASK, graph
from stemcell.tasks.srl.bio import spans
from tests.tasks import sentences
from tests.tasks.sentences import HIDDEN, encoded, example, randomised
from tests.tasks.srl.test_bio import valid

LABELS = {"roles": ["ARG0", "ARG1", "R-ARG0"]}


def frames(*arguments, predicates=None):
    found = tuple(Argument(*argument) for argument in arguments)
    return Frames(predicates or tuple(sorted({argument.predicate for argument in found})), found)


EXAMPLES = [
    example(5, frames((1, 0, 0, "ARG0"), (1, 2, 4, "ARG1"), (3, 4, 4, "ARG1"))),
    example(1, Frames((), ())),
    example(1, Frames((0,), ())),
    example(2, frames((1, 0, 0, "ARG1"), predicates=(0, 1))),
    example(6, frames((2, 0, 1, "ARGM-XYZ"), (2, 3, 5, "ARG1"), (2, 3, 5, "ARG0"))),
    example(41, frames((3, 4, 40, "ARG1"), (30, 28, 29, "R-ARG0"))),
]


def dense(decoder, length):
    """Log odds of predicates, [n], and scores of tags, [n, n, tags], by the formula, a pair at a time."""
    vectors = encoded([length]).vectors[0]
    first = {
        (p, w): decoder.owner(vectors[p]) + decoder.word(vectors[w]) + decoder.distance.weight[graph.REACH + w - p]
        for p, w in product(range(length), repeat=2)
    }
    pairs = {pair: functional.gelu(vector) for pair, vector in first.items()}
    for convolution in decoder.convolutions:
        before, after = ({(p, w - by): pairs[p, w] for p, w in pairs} for by in (-1, 1))
        none = torch.zeros(graph.SIZE)
        left, middle, right = convolution.weight.unbind(2)
        pairs = {
            pair: vector
            + functional.gelu(
                left @ before.get(pair, none) + middle @ vector + right @ after.get(pair, none) + convolution.bias
            )
            for pair, vector in pairs.items()
        }
    predicates = decoder.head(vectors[None])[0] @ decoder.predicate.weight[0] + decoder.predicate.bias
    scores = torch.stack([torch.stack([decoder.tags(pairs[p, w]) for w in range(length)]) for p in range(length)])
    scores[range(length), range(length), 1:] = -torch.inf
    return predicates, scores.detach()


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(graph, "SIZE", 6)
    monkeypatch.setattr(graph, "PREDICATE_SIZE", 5)


@pytest.mark.parametrize("which", range(5))
def test_loss_is_cross_entropy_of_predicates_and_of_their_tags(which):
    decoder = randomised(TASK.decoder(HIDDEN, LABELS))
    sentence = EXAMPLES[which]
    length, gold = len(sentence.words), sentence.gold
    odds, scores = dense(decoder, length)
    words = sum(-(odds[w] if w in gold.predicates else -odds[w]).sigmoid().log().item() for w in range(length))
    pairs = 0.0
    for predicate in gold.predicates:
        tags = [0] * length
        for owner, start, end, role in gold.arguments:
            if owner == predicate and role in LABELS["roles"] and not tags[start]:
                begin = 1 + 2 * LABELS["roles"].index(role)
                tags[start : end + 1] = [begin] + [begin + 1] * (end - start)
        pairs -= sum(scores[predicate, w].log_softmax(0)[tag].item() for w, tag in enumerate(tags))
    target = decoder.target(sentence)
    assert decoder.counts(target) == (length, length * len(gold.predicates))
    assert decoder.loss(encoded([length]), [target]).tolist() == pytest.approx([words, pairs], rel=1e-4)


def test_an_argument_that_covers_its_predicate_has_no_tags():
    target = TASK.decoder(HIDDEN, LABELS).target(example(4, frames((1, 0, 2, "ARG0"), (1, 3, 3, "ARG1"))))
    assert target["tags"].tolist() == [[0, 0, 0, 3]]


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("cells", [1, 2**16])
def test_decode_equals_enumeration(length, cells, monkeypatch):
    monkeypatch.setattr(graph, "CELLS", cells)
    labels = {"roles": LABELS["roles"][:2]}
    options = [tags for tags in product(range(5), repeat=length) if valid(tags)]
    seen = 0
    for scale in (0.3, 0.6, 0.9):
        decoder = randomised(TASK.decoder(HIDDEN, labels), scale)
        with torch.no_grad():
            decoder.predicate.bias += 2.0
            decoder.tags.bias[0] -= 1.5
        odds, scores = dense(decoder, length)
        # In a batch of other lengths, where its sentence stands second.
        found = decoder.decode(encoded([7, length]))[1]
        assert found.predicates == tuple(w for w in range(length) if odds[w] > 0)
        for predicate in found.predicates:
            best = max(options, key=lambda tags: sum(scores[predicate, w, tag].item() for w, tag in enumerate(tags)))
            expected = [(predicate, start, end, labels["roles"][role]) for start, end, role in spans(list(best))]
            assert [tuple(a) for a in found.arguments if a.predicate == predicate] == expected
            seen += len(expected)
    assert seen or length == 1


def test_sums_do_not_depend_on_the_batch():
    sentences.check_sums_do_not_depend_on_the_batch(randomised(TASK.decoder(HIDDEN, LABELS), 0.4), EXAMPLES)


def test_trains():
    torch.manual_seed(0)
    sentences.check_trains(TASK.decoder(HIDDEN, LABELS), EXAMPLES[:5])


def test_bfloat16():
    sentences.check_bfloat16(randomised(TASK.decoder(HIDDEN, LABELS), 0.2), EXAMPLES)


def test_a_batch_without_predicates_works():
    decoder = TASK.decoder(HIDDEN, LABELS)
    target = decoder.target(EXAMPLES[1])
    assert decoder.counts(target) == (1.0, 0.0)
    loss = decoder.loss(encoded([1]), [target])
    loss.sum().backward()
    assert loss[1] == 0
    assert all(parameter.grad.isfinite().all() for parameter in decoder.parameters())


def test_a_corpus_without_arguments_works():
    decoder = randomised(TASK.decoder(HIDDEN, {"roles": []}), 0.6)
    target = decoder.target(EXAMPLES[0])
    assert decoder.loss(encoded([5]), [target])[1] == 0
    (found,) = decoder.decode(encoded([5]))
    assert found.arguments == ()
