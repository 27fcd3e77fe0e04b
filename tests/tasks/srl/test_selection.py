from __future__ import annotations

from itertools import chain, combinations, pairwise

from hypothesis import given
from hypothesis import strategies as st

from stemcell.tasks.srl.selection import heaviest

SPANS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 3), st.integers(1, 9)).map(lambda t: (t[0], t[0] + t[1], t[2] / 4)),
    max_size=9,
)


def disjoint(spans):
    ordered = sorted(spans)
    return all(a[1] < b[0] for a, b in pairwise(ordered))


@given(SPANS)
def test_no_set_weighs_more(spans):
    chosen = [spans[index] for index in heaviest(spans)]
    assert disjoint(chosen)
    assert chosen == sorted(chosen)
    subsets = chain.from_iterable(combinations(spans, size) for size in range(len(spans) + 1))
    assert sum(s[2] for s in chosen) == max(sum(s[2] for s in subset) for subset in subsets if disjoint(subset))


def test_neighbours_may_stand_together_and_a_shared_word_excludes():
    assert heaviest([(0, 1, 1.0), (2, 3, 1.0), (1, 2, 1.5)]) == [0, 1]
    assert heaviest([(0, 1, 1.0), (1, 3, 1.0), (1, 2, 1.5)]) == [2]
    assert heaviest([]) == []
