import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from stemcell.training.batches import cut, length_batches, padding_waste

sizes = st.lists(st.integers(1, 120), min_size=1, max_size=80)


@given(sizes, st.integers(1, 9), st.integers(10, 200), st.booleans())
def test_every_sentence_once_within_both_limits(sizes, sentences, tokens, shuffled):
    generator = np.random.default_rng(0) if shuffled else None
    batches = length_batches(sizes, sentences, tokens, generator)
    assert sorted(i for batch in batches for i in batch) == list(range(len(sizes)))
    for batch in batches:
        assert len(batch) <= sentences
        assert sum(sizes[i] for i in batch) <= tokens or len(batch) == 1


@given(sizes, st.integers(1, 7))
def test_a_cut_keeps_every_sentence_and_balances_subtokens(sizes, parts):
    batch = list(range(len(sizes)))
    shards = cut(batch, sizes, parts)
    assert len(shards) == parts
    assert sorted(i for shard in shards for i in shard) == batch
    loads = [sum(sizes[i] for i in shard) for shard in shards]
    assert max(loads) <= sum(sizes) / parts + max(sizes)


def test_batches_of_similar_length_waste_little_and_random_ones_much():
    generator = np.random.default_rng(1)
    sizes = generator.integers(3, 60, 2000).tolist()
    batches = length_batches(sizes, 64, 1600, generator)
    shuffled = generator.permutation(2000).reshape(-1, 40).tolist()
    assert padding_waste(batches, sizes) < 0.08 < padding_waste(shuffled, sizes)


def test_padding_waste_counts_cells():
    assert padding_waste([[0, 1]], [4, 2]) == 0.25
