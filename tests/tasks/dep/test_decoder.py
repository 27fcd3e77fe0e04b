from __future__ import annotations

import pytest
import torch

from stemcell.corpora.layers import Arcs, Example
from stemcell.encoders.encoded import Encoded
from stemcell.tasks.dep import TASK
from tests.structures.enumeration import is_single_root_tree, projective_trees

EXAMPLES = [
    Example("a", ("a", "man", "sleeps"), Arcs((2, 3, 0), ("det", "nsubj", "root"))),
    Example("b", ("Stop",), Arcs((0,), ("root",))),
    # Two arcs cross.
    Example("c", ("a", "man", "came", "in", "black"), Arcs((2, 3, 0, 5, 2), ("det", "nsubj", "root", "case", "nmod"))),
]


def encoded(examples: list[Example], seed: int = 0) -> Encoded:
    """Random vectors, the same for a sentence whatever its batch."""
    lengths = [len(example.words) for example in examples]
    states = torch.zeros(len(examples), max(lengths) + 2, 16)
    for example, row in zip(examples, states, strict=True):
        generator = torch.Generator().manual_seed(seed + ord(example.id))
        row[: len(example.words) + 2] = torch.randn(len(example.words) + 2, 16, generator=generator)
    return Encoded(states, lengths, [example.words for example in examples])


def randomised(decoder, scale: float):
    generator = torch.Generator().manual_seed(1)
    for parameter in decoder.parameters():
        parameter.data = torch.randn(parameter.shape, generator=generator) * scale
    return decoder.eval()


def test_targets_and_counts_leave_unseen_relations_out():
    decoder = TASK.decoder(16, {"relations": ["det", "root"]})
    target = decoder.target(EXAMPLES[0])
    assert target["heads"].tolist() == [2, 3, 0]
    assert target["relations"].tolist() == [0, -100, 1]
    assert decoder.counts(target) == (3, 2)


def test_loss_is_cross_entropy_of_heads_and_of_relations_at_gold_heads():
    decoder = randomised(TASK.decoder(16, {"relations": ["det", "nsubj", "root"]}), 0.05)
    targets = [decoder.target(example) for example in EXAMPLES]
    expected = torch.zeros(2)
    for example, target in zip(EXAMPLES, targets, strict=True):
        nodes = encoded([example]).states[:, :-1]
        arcs = decoder.arc(decoder.arc_dependent(nodes), decoder.arc_head(nodes))[0].log_softmax(-1)
        cube = decoder.relation(decoder.relation_dependent(nodes), decoder.relation_head(nodes))[0].log_softmax(0)
        pairs = zip(target["heads"].tolist(), target["relations"].tolist(), strict=True)
        for word, (head, relation) in enumerate(pairs, 1):
            expected[0] -= arcs[word, head]
            expected[1] -= cube[relation, word, head] if relation >= 0 else 0
    torch.testing.assert_close(decoder.loss(encoded(EXAMPLES), targets), expected)


def test_loss_is_float32_under_bfloat16():
    decoder = TASK.decoder(16, TASK.labels(EXAMPLES))
    with torch.autocast("cpu", torch.bfloat16):
        loss = decoder.loss(encoded(EXAMPLES), [decoder.target(example) for example in EXAMPLES])
    assert loss.dtype == torch.float32
    loss.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in decoder.parameters())


@pytest.mark.parametrize("scale", [0, 1e-3, 1e3])
@pytest.mark.parametrize("projective", [False, True])
def test_decode_gives_one_root_whatever_the_scores(scale, projective):
    decoder = randomised(TASK.decoder(16, TASK.labels(EXAMPLES), projective=projective), scale)
    for seed in range(5):
        with torch.no_grad():
            trees = decoder.decode(encoded(EXAMPLES, seed))
        for example, tree in zip(EXAMPLES, trees, strict=True):
            assert len(tree.heads) == len(tree.relations) == len(example.words)
            assert is_single_root_tree(tree.heads)
            assert not projective or tree.heads in projective_trees(len(example.words))


def test_learns_its_examples_and_returns_them():
    torch.manual_seed(0)
    decoder = TASK.decoder(16, TASK.labels(EXAMPLES))
    targets, batch = [decoder.target(example) for example in EXAMPLES], encoded(EXAMPLES)
    optimiser = torch.optim.Adam(decoder.parameters(), 5e-3)
    for _ in range(60):
        optimiser.zero_grad()
        decoder.loss(batch, targets).sum().backward()
        optimiser.step()
    assert decoder.eval().decode(batch) == [example.gold for example in EXAMPLES]
    decoder.projective = True
    assert [tree == example.gold for tree, example in zip(decoder.decode(batch), EXAMPLES, strict=True)] == [
        True,
        True,
        False,
    ]
