from __future__ import annotations

from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from stemcell.tasks.srl.bio import best_tags, spans, tags_of


def valid(tags):
    return all(tag % 2 or not tag or before in (tag, tag - 1) for before, tag in zip((0, *tags), tags, strict=False))


@pytest.mark.parametrize(("roles", "words"), [(0, 3), (1, 1), (1, 6), (2, 1), (2, 2), (2, 5), (3, 4)])
def test_no_valid_tags_score_more(roles, words):
    scores = torch.randn(40, words, 1 + 2 * roles, generator=torch.Generator().manual_seed(0))
    # Rows in which a word, and rows in which all but the first two words, may have no argument.
    scores[10:20, words // 2, 1:] = -torch.inf
    scores[20:25, 2:, 1:] = -torch.inf
    # Rows that prefer to continue what nothing began.
    scores[25:, :, 2::2] += 2.0
    options = [tags for tags in product(range(1 + 2 * roles), repeat=words) if valid(tags)]
    for row, found in zip(scores.double(), best_tags(scores).tolist(), strict=True):
        assert valid(found)
        totals = [sum(float(row[word, tag]) for word, tag in enumerate(tags)) for tags in options]
        assert sum(float(row[word, tag]) for word, tag in enumerate(found)) == pytest.approx(max(totals), abs=1e-5)


def test_no_rows():
    assert best_tags(torch.zeros(0, 4, 5)).shape == (0, 4)


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3), st.integers(0, 2)), max_size=6))
def test_spans_and_tags_are_inverse(pieces):
    found, word = [], 0
    for gap, more, role in pieces:
        found.append((word + gap, word + gap + more, role))
        word += gap + more + 1
    assert spans(tags_of(found, word + 1)) == found


def test_of_spans_with_a_common_word_the_first_stands():
    assert spans(tags_of([(1, 3, 0), (3, 4, 1), (4, 4, 2)], 5)) == [(1, 3, 0), (4, 4, 2)]
