"""Windows against a plain search over all of them."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stemcell.encoders.windows import cut

COUNTS = st.lists(st.one_of(st.integers(1, 3), st.integers(1, 30)), max_size=40)


def test_a_sentence_that_fits_is_one_window() -> None:
    windows = cut(np.array([1, 3, 2]), 6)
    assert windows.start.tolist() == [0]
    assert windows.size == 6
    assert windows.window.tolist() == [0, 0, 0]
    assert windows.first.tolist() == [0, 1, 4]
    assert windows.last.tolist() == [0, 3, 5]


def test_one_subtoken_too_many_makes_two_full_windows() -> None:
    windows = cut(np.array([1] * 7), 6)
    assert windows.start.tolist() == [0, 1]
    assert windows.size == 6
    # Halfway the distances to the edges are equal; the first of equals is taken.
    assert windows.window.tolist() == [0, 0, 0, 0, 1, 1, 1]


def test_a_word_larger_than_a_window_is_read_in_part() -> None:
    windows = cut(np.array([1, 20, 1]), 8)
    assert windows.last[1] - windows.first[1] + 1 == 8
    # The window before the last one lies within the word, that is where it is read; its neighbours are read too.
    assert 0 < windows.window[1] < len(windows.start) - 1
    assert windows.window[0] == 0
    assert windows.window[2] == len(windows.start) - 1


@given(COUNTS, st.integers(1, 12))
def test_windows_cover_the_sentence_and_words_are_farthest_from_an_edge(counts: list[int], capacity: int) -> None:
    windows = cut(np.array(counts, np.int64), capacity)
    total = sum(counts)
    starts = windows.start.tolist()
    assert starts[0] == 0
    assert starts[-1] + windows.size == total
    assert windows.size == min(total, capacity)
    steps = np.diff(starts)
    assert all(1 <= step <= max(1, capacity // 2) for step in steps)

    begin = 0
    for word, count in enumerate(counts):
        candidates = []
        for number, start in enumerate(starts):
            first, last = max(begin, start), min(begin + count, start + windows.size) - 1
            if first <= last:
                edge = min(first - start, start + windows.size - 1 - last)
                candidates.append((last - first + 1, edge, -number, first - start, last - start))
        _, _, number, first, last = max(candidates)
        assert (windows.window[word], windows.first[word], windows.last[word]) == (-number, first, last)
        begin += count
