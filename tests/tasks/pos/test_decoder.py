from __future__ import annotations

import pytest
import torch

from stemcell.corpora.layers import BLANK
from stemcell.tasks.pos import TASK
from tests.tasks import sentences
from tests.tasks.sentences import HIDDEN, encoded, example, randomised

LABELS = {"tags": ["DT", "NN", "VB"]}
EXAMPLES = [example(3, ("DT", "NN", "VB")), example(1, ("NN",)), example(5, ("VB", "DT", "NN", "FW", "NN"))]


def test_labels_are_sorted():
    assert TASK.labels(EXAMPLES) == {"tags": ["DT", "FW", "NN", "VB"]}


def test_an_unseen_tag_has_no_loss_and_is_not_counted():
    decoder = randomised(TASK.decoder(HIDDEN, LABELS))
    targets = [decoder.target(example) for example in EXAMPLES]
    assert [decoder.counts(target) for target in targets] == [(3.0,), (1.0,), (4.0,)]
    scores = decoder.scores(encoded([5]).vectors)[0].log_softmax(-1)
    expected = -(scores[0, 2] + scores[1, 0] + scores[2, 1] + scores[4, 1])
    assert decoder.loss(encoded([5]), targets[2:]).item() == pytest.approx(expected.item(), rel=1e-5)


def test_decodes_the_best_tag_of_each_word():
    decoder = randomised(TASK.decoder(HIDDEN, LABELS))
    batch = encoded([3, 1, 5])
    scores = decoder.scores(batch.states)
    expected = [
        tuple(max(LABELS["tags"], key=lambda tag: row[decoder.index[tag]].item()) for row in sentence[1 : n + 1])
        for sentence, n in zip(scores, batch.lengths, strict=True)
    ]
    assert decoder.decode(batch) == expected


def test_sums_do_not_depend_on_the_batch():
    sentences.check_sums_do_not_depend_on_the_batch(randomised(TASK.decoder(HIDDEN, LABELS)), EXAMPLES)


def test_trains():
    sentences.check_trains(TASK.decoder(HIDDEN, LABELS), EXAMPLES)


def test_bfloat16():
    sentences.check_bfloat16(randomised(TASK.decoder(HIDDEN, LABELS)), EXAMPLES)


def test_no_word_with_a_known_tag_gives_zero():
    decoder = TASK.decoder(HIDDEN, LABELS)
    target = decoder.target(example(1, ("FW",)))
    assert decoder.counts(target) == (0.0,)
    assert torch.equal(decoder.loss(encoded([1]), [target]), torch.zeros(1))


def test_a_blank_is_no_label_and_has_no_loss():
    blank = example(3, ("DT", BLANK, "VB"))
    assert TASK.labels([blank]) == {"tags": ["DT", "VB"]}
    # Not even to a model that once took it for one.
    decoder = randomised(TASK.decoder(HIDDEN, {"tags": [*LABELS["tags"], BLANK]}))
    target = decoder.target(blank)
    assert decoder.counts(target) == (2.0,)
    scores = decoder.scores(encoded([3]).vectors)[0].log_softmax(-1)
    assert decoder.loss(encoded([3]), [target]).item() == pytest.approx(-(scores[0, 0] + scores[2, 2]).item(), rel=1e-5)
    assert [(span.start, span.label) for span in TASK.probe.items(blank.gold)] == [(0, "DT"), (2, "VB")]
