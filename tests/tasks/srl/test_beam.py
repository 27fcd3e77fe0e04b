from __future__ import annotations

from itertools import chain, combinations, pairwise

import pytest
import torch

from stemcell.corpora.layers import Argument, Frames
from stemcell.tasks.srl import TASK
from stemcell.tasks.srl.spans import WIDEST
from tests.tasks import sentences
from tests.tasks.sentences import HIDDEN, encoded, example, randomised

LABELS = {"roles": ["ARG0", "ARG1", "R-ARG0"]}


def frames(*arguments):
    found = tuple(Argument(*argument) for argument in arguments)
    return Frames(tuple(sorted({argument.predicate for argument in found})), found)


EXAMPLES = [
    example(5, frames((1, 0, 0, "ARG0"), (1, 2, 4, "ARG1"), (3, 4, 4, "ARG1"))),
    example(1, Frames((), ())),
    example(2, frames((1, 0, 0, "ARG1"))),
    example(6, frames((2, 0, 1, "ARGM-XYZ"), (2, 3, 5, "ARG1"), (2, 3, 5, "ARG0"))),
    example(41, frames((3, 4, 40, "ARG1"), (3, 5, 34, "ARG0"), (30, 28, 29, "R-ARG0"))),
]


def dense(decoder, length):
    """Kept spans, kept predicates and their role scores by the formula as it stands, a span and a pair at a time."""
    vectors = encoded([length]).vectors[0]
    spans = [(i, j) for i in range(length) for j in range(i, min(length, i + WIDEST))]
    represented = {
        (i, j): torch.cat([vectors[i], vectors[j], decoder.widths.weight[j - i], vectors[i : j + 1].mean(0)])
        for i, j in spans
    }

    def network(scorer, vector):
        second = scorer.second(scorer.first(vector).relu()).relu()
        return scorer.last(second)

    argument = {span: network(decoder.argument, represented[span]).item() for span in spans}
    predicate = {word: network(decoder.predicate, vectors[word]).item() for word in range(length)}
    arguments = sorted(spans, key=lambda span: (-argument[span], span))[: max(1, int(0.8 * length))]
    predicates = sorted(predicate, key=lambda word: (-predicate[word], word))[: max(1, int(0.4 * length))]
    scores = {
        (span, word): network(decoder.pair, torch.cat([represented[span], vectors[word]]))
        + argument[span]
        + predicate[word]
        for span in arguments
        for word in predicates
    }
    return arguments, predicates, scores


def test_labels_are_sorted():
    assert TASK.labels(EXAMPLES) == {"roles": ["ARG0", "ARG1", "ARGM-XYZ", "R-ARG0"]}


@pytest.mark.parametrize("length", [1, 2, 6, 41])
def test_beam_equals_the_dense_formula(length):
    decoder = randomised(TASK.decoder(HIDDEN, LABELS, paper=True))
    arguments, predicates, scores = dense(decoder, length)
    # In a batch of other lengths, where its sentence stands second.
    beam = decoder.beam(encoded([9, length]))
    mask = beam.argument_mask[1]
    found = zip(beam.arguments.starts[1][mask].tolist(), beam.arguments.ends[1][mask].tolist(), strict=True)
    assert list(found) == arguments
    assert beam.predicates[1][beam.predicate_mask[1]].tolist() == predicates
    expected = torch.stack([torch.stack([scores[span, word] for word in predicates]) for span in arguments])
    kept = beam.scores[1, : len(arguments), : len(predicates)]
    assert torch.equal(kept[..., 0], torch.zeros(len(arguments), len(predicates)))
    torch.testing.assert_close(kept[..., 1:], expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("which", range(len(EXAMPLES)))
def test_loss_is_cross_entropy_over_all_kept_pairs(which):
    decoder = randomised(TASK.decoder(HIDDEN, LABELS, paper=True))
    sentence = EXAMPLES[which]
    target = decoder.target(sentence)
    arguments, predicates, scores = dense(decoder, len(sentence.words))
    expected = 0.0
    for span in arguments:
        for word in predicates:
            roles = [a.role for a in sentence.gold.arguments if (a.start, a.end) == span and a.predicate == word]
            role = next((LABELS["roles"].index(role) + 1 for role in roles if role in LABELS["roles"]), 0)
            logits = torch.cat([torch.zeros(1), scores[span, word]])
            expected -= logits.log_softmax(0)[role].item()
    assert decoder.counts(target) == (len(arguments) * len(predicates),)
    assert decoder.loss(encoded([len(sentence.words)]), [target]).item() == pytest.approx(expected, rel=1e-4)


def test_gold_pairs_reach_the_loss():
    decoder = randomised(TASK.decoder(HIDDEN, LABELS, paper=True))
    beam = decoder.beam(encoded([6]))
    start, end, word = int(beam.arguments.starts[0, 2]), int(beam.arguments.ends[0, 2]), int(beam.predicates[0, 1])
    none, one = (decoder.target(example(6, gold)) for gold in (Frames((), ()), frames((word, start, end, "ARG1"))))
    difference = decoder.loss(encoded([6]), [one]) - decoder.loss(encoded([6]), [none])
    assert difference.item() == pytest.approx(-beam.scores[0, 2, 1, 2].item(), abs=1e-4)


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 6])
def test_decode_equals_enumeration(length):
    for shift in (0.0, 1.0, 3.0):
        decoder = randomised(TASK.decoder(HIDDEN, LABELS, paper=True), 0.5)
        with torch.no_grad():
            decoder.argument.last.bias += shift
        arguments, predicates, scores = dense(decoder, length)
        (found,) = decoder.decode(encoded([length]))
        assert found.predicates == tuple(sorted({argument.predicate for argument in found.arguments}))
        assert list(found.arguments) == sorted(found.arguments, key=lambda a: a[:3])
        for word in predicates:
            options = [
                (span, float(scores[span, word].max()), LABELS["roles"][int(scores[span, word].argmax())])
                for span in arguments
                if not span[0] <= word <= span[1]
            ]
            subsets = chain.from_iterable(combinations(options, size) for size in range(len(options) + 1))
            allowed = [subset for subset in subsets if disjoint([span for span, _, _ in subset])]
            heaviest = max(allowed, key=lambda subset: sum(score for _, score, _ in subset))
            expected = sorted((word, *span, role) for span, score, role in heaviest if score > 0)
            assert [tuple(a) for a in found.arguments if a.predicate == word] == expected


def disjoint(spans):
    ordered = sorted(spans)
    return all(a[1] < b[0] for a, b in pairwise(ordered))


def test_sums_do_not_depend_on_the_batch():
    sentences.check_sums_do_not_depend_on_the_batch(randomised(TASK.decoder(HIDDEN, LABELS, paper=True), 0.4), EXAMPLES)


def test_trains():
    torch.manual_seed(0)
    decoder = TASK.decoder(HIDDEN, LABELS, paper=True)
    # Without its prior, with which the loss is small before anything is learnt.
    torch.nn.init.zeros_(decoder.pair.last.bias)
    sentences.check_trains(decoder, EXAMPLES[:4])


def test_a_fresh_decoder_finds_roles_as_rare_as_they_are():
    torch.manual_seed(0)
    decoder = TASK.decoder(HIDDEN, LABELS, paper=True).eval()
    scores = decoder.beam(encoded([12])).scores
    some = 1 - scores.softmax(-1)[..., 0]
    assert 0.02 < some.mean() < 0.1


def test_bfloat16():
    sentences.check_bfloat16(randomised(TASK.decoder(HIDDEN, LABELS, paper=True), 0.2), EXAMPLES)


def test_a_corpus_without_arguments_works():
    decoder = TASK.decoder(HIDDEN, {"roles": []}, paper=True)
    target = decoder.target(EXAMPLES[0])
    assert torch.equal(decoder.loss(encoded([5]), [target]), torch.zeros(1))
    assert decoder.decode(encoded([5])) == [Frames((), ())]
