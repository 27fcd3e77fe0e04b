from __future__ import annotations

import pytest
import torch

from stemcell.corpora.formats import brackets
from stemcell.corpora.layers import Constituents, Example
from stemcell.tasks.con import TASK
from stemcell.tasks.con.decoder import _fenceposts
from tests.structures.enumeration import bracketings
from tests.tasks.dep.test_decoder import encoded, randomised

EXAMPLES = [
    Example(name, *brackets.parse(text))
    for name, text in {
        "a": "(TOP (S (NP (DT a) (NN man)) (VP (VBZ sleeps)) (. .)))",
        "b": "(TOP (UH Yes))",
        "c": "(TOP (NP (NN a)) (: -) (NP (NP (NN b) (NN c)) (S (VP (VB d)))))",
    }.items()
]


def test_targets_and_counts_leave_unseen_labels_out():
    decoder = TASK.decoder(16, {"labels": ["NP", "NP|<>", "S", "S|<>"]})
    target = decoder.target(EXAMPLES[0])
    found = {(i, j): label for i, j, label in target["cells"].tolist()}
    assert found == {(0, 4): 2, (0, 3): 3, (0, 2): 0, (0, 1): 1, (1, 2): 1, (2, 3): -100, (3, 4): 3}
    assert decoder.counts(target) == (4, 6)


def test_fenceposts_take_half_of_either_side():
    posts = _fenceposts(encoded(EXAMPLES[1:2]))
    states = encoded(EXAMPLES[1:2]).states
    assert posts.shape == (1, 2, 16)
    assert torch.equal(posts[0, 1], torch.cat([states[0, 1, :8], states[0, 2, 8:]]))


def test_loss_is_likelihood_of_the_tree_and_cross_entropy_of_its_labels():
    labels = TASK.labels(EXAMPLES[::2])
    decoder = randomised(TASK.decoder(16, labels), 0.1)
    targets = [decoder.target(example) for example in EXAMPLES]
    expected = torch.zeros(2)
    for example, target in zip(EXAMPLES, targets, strict=True):
        posts = _fenceposts(encoded([example]))
        scores = decoder.span(decoder.span_left(posts), decoder.span_right(posts))[0]
        cube = decoder.label(decoder.label_left(posts), decoder.label_right(posts))[0].log_softmax(0)
        totals = [sum(scores[i, j] for i, j in spans) for spans in bracketings(0, len(example.words))]
        cells = target["cells"].tolist()
        expected[0] += torch.stack(totals).logsumexp(0) - sum(scores[i, j] for i, j, _ in cells)
        expected[1] -= sum(cube[label, i, j] for i, j, label in cells if label >= 0)
    torch.testing.assert_close(decoder.loss(encoded(EXAMPLES), targets), expected, rtol=1e-4, atol=1e-3)


def test_loss_is_float32_under_bfloat16():
    decoder = TASK.decoder(16, TASK.labels(EXAMPLES))
    with torch.autocast("cpu", torch.bfloat16):
        loss = decoder.loss(encoded(EXAMPLES), [decoder.target(example) for example in EXAMPLES])
    assert loss.dtype == torch.float32
    loss.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())


@pytest.mark.parametrize("scale", [0, 1e-2, 1e2])
def test_decode_gives_a_tree_whatever_the_scores(scale):
    decoder = randomised(TASK.decoder(16, TASK.labels(EXAMPLES)), scale)
    with torch.no_grad():
        trees = decoder.decode(encoded(EXAMPLES))
    for example, tree in zip(EXAMPLES, trees, strict=True):
        assert tree.tags == ("_",) * len(example.words)
        assert tree.brackets[0] == (0, len(example.words) - 1, "TOP")
        # The writer refuses brackets that cross or are out of order.
        assert brackets.parse(brackets.format_tree(example.words, tree))[1] == tree


def test_learns_its_examples_and_returns_them():
    torch.manual_seed(0)
    decoder = TASK.decoder(16, TASK.labels(EXAMPLES))
    targets, batch = [decoder.target(example) for example in EXAMPLES], encoded(EXAMPLES)
    optimiser = torch.optim.Adam(decoder.parameters(), 5e-3)
    for _ in range(60):
        optimiser.zero_grad()
        decoder.loss(batch, targets).sum().backward()
        optimiser.step()
    expected = [Constituents(("_",) * len(e.words), e.gold.brackets) for e in EXAMPLES]
    assert decoder.eval().decode(batch) == expected
