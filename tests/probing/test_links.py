"""Ties, words in different windows and degenerate cases of links, by hand."""

from __future__ import annotations

import pytest
import torch

from stemcell.probing.centroids import Centroids
from stemcell.probing.items import BatchItems
from stemcell.probing.links import agreement, favourites, most_attended, offset_heads, outcomes
from stemcell.probing.words import word_map
from tests.encoders.small import SENTENCES, small
from tests.probing import texts


def words_of(sentences):
    encoder = small("tiny-bert", "eager")
    subtokens = encoder.tokenize_all(sentences)
    batch = encoder.collate(subtokens, sentences)
    return batch, subtokens, word_map(batch, subtokens, torch.device("cpu"))


def test_ties_go_to_the_lowest_position_the_root_first() -> None:
    _, _, words = words_of([("Stop", "!", "Stop")])
    attention = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    attention[0, 0, 3] = torch.tensor([0.1, 0.2, 0.35, 0.35])
    most, from_root = most_attended(favourites(attention), words, root=True)
    assert most[0, 0, 1:].tolist() == [0, 0, 2]
    assert not from_root[0, 0, 1:].any()
    assert most_attended(favourites(attention), words, root=False)[0][0, 0, 1:].tolist() == [1, 1, 2]


def test_a_link_without_alternative_has_no_control() -> None:
    _, _, words = words_of([("Stop", "!"), ("Stop",)])
    either = torch.ones(2, 1, 3, 3, dtype=torch.bool)
    # An arc between two words, a root arc beside another word, a root arc alone, a span of the whole sentence.
    columns = torch.tensor([[0, 1, 2, 2, 0], [0, 0, 1, 1, 0], [1, 0, 1, 1, 0], [0, 1, 1, 2, 0]]).T
    right, control, controlled = outcomes(either, BatchItems(*columns), words)
    assert right[:, 0].tolist() == [1, 1, 1, 1]
    assert controlled.tolist() == [0, 1, 0, 0]
    assert control[:, 0].tolist() == [0, 1, 0, 0]


def test_fixed_offsets() -> None:
    _, _, words = words_of([("a", "b", "c", "d"), ("a", "b")])
    for root in (True, False):
        either = agreement(*offset_heads(3, words, root), words)
        for sentence, n in ((0, 4), (1, 2)):
            for offset in range(3):
                for a in range(0 if root else 1, n + 1):
                    for b in range(max(a, 1), n + 1):
                        assert either[sentence, offset, a, b] == (b - a == offset), (root, offset, a, b)


def test_attention_between_words_sums_up_to_what_a_window_has() -> None:
    sentences = [*SENTENCES, texts.WORDS[-1]]
    batch, subtokens, words = words_of(sentences)
    assert max(len(own.windows) for own in subtokens) > 1
    assert min(len(own.windows) for own in subtokens) == 1
    weights = torch.rand(len(batch.ids), 2, *[batch.ids.shape[1]] * 2) * batch.mask[:, None, None]
    attention = words.attention(weights / weights.sum(-1, keepdim=True))
    # Every word is read in exactly one window, and there it sees the others whose subtokens the window has.
    read = attention.sum((1, 3)) > 0
    row = 0
    for sentence, own in zip(sentences, subtokens, strict=True):
        windows = read[row : row + len(own.windows)]
        assert (windows[:, 1 : len(sentence) + 1].sum(0) == 1).all()
        assert windows[:, 0].all()
        assert not windows[:, len(sentence) + 1 :].any()
        row += len(own.windows)


def test_vectors_that_are_zero_are_near_to_nothing_and_equal_centroids_give_the_first_label() -> None:
    centroids = Centroids([1], 2, 4, torch.device("cpu"), torch.float64)
    label = torch.tensor([0, 1, 3])
    vectors = torch.tensor([[[0.0, 0.0]], [[1.0, 0.0]], [[2.0, 0.0]]], dtype=torch.float64)
    centroids.add(0, vectors, label)
    centroids.finish()
    assert centroids.right(0, vectors, label)[:, 0].tolist() == [False, True, False]
    # However far: label 2 has no centroid, and label 0 has one without direction.
    away = -vectors[1:2]
    assert [centroids.right(0, away, torch.tensor([y])).item() for y in range(4)] == [False, True, False, False]
    empty = Centroids([1], 2, 2, torch.device("cpu"), torch.float64)
    empty.finish()
    assert not empty.right(0, vectors, torch.tensor([0, 0, 1])).any()


@pytest.mark.parametrize("root", [True, False])
def test_the_test_is_of_either_direction(root: bool) -> None:
    _, _, words = words_of([("a", "b", "c")])
    attention = torch.zeros(1, 1, 4, 4, dtype=torch.float64)
    attention[0, 0, 0, 2] = attention[0, 0, 1, 3] = attention[0, 0, 2, 2] = attention[0, 0, 3, 2] = 1
    either = agreement(*most_attended(favourites(attention), words, root), words)[0, 0]
    pairs = {(a, b) for a in range(1, 4) for b in range(1, 4) if either[a, b]}
    assert pairs == {(1, 3), (3, 1), (2, 2), (3, 2), (2, 3)}
    if root:
        assert either[0, 1:].tolist() == [False, True, False]
