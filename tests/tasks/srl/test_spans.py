from __future__ import annotations

import torch

from stemcell.tasks.srl.spans import WIDEST, best, candidates, column, first_layer


def test_candidates_are_all_spans_up_to_thirty_words():
    lengths = [33, 1, 4]
    options = candidates(lengths, torch.device("cpu"))
    expected = [
        (sentence, start, end)
        for sentence, length in enumerate(lengths)
        for start in range(length)
        for end in range(start, min(start + WIDEST, length))
    ]
    spans = options.spans
    assert list(zip(spans.sentences.tolist(), spans.starts.tolist(), spans.ends.tolist(), strict=True)) == expected
    for row, length in enumerate(lengths):
        places = options.table[row][options.inside[row]].tolist()
        assert [expected[place][0] for place in places] == [row] * len(places)
        assert [column(length, *expected[place][1:]) for place in places] == list(range(len(places)))


def test_the_best_are_kept_and_equal_scores_go_left():
    scores = torch.tensor([[1.0, 3.0, 3.0, 1.0, 9.0], [2.0, 2.0, 2.0, 2.0, 5.0]])
    inside = torch.tensor([[True, True, True, True, False], [True] * 5])
    columns, mask = best(scores, inside, [3, 4])
    assert columns[0][mask[0]].tolist() == [1, 2, 0]
    assert columns[1][mask[1]].tolist() == [4, 0, 1, 2]


def test_factored_first_layer_equals_the_dense_one():
    generator = torch.Generator().manual_seed(0)
    lengths, hidden, size = [35, 2, 1], 8, 5
    vectors = torch.randn(3, 37, hidden, generator=generator)
    weight, bias = torch.randn(size, 3 * hidden + 4, generator=generator), torch.randn(size, generator=generator)
    widths = torch.randn(WIDEST, 4, generator=generator)
    spans = candidates(lengths, torch.device("cpu")).spans
    found = first_layer(weight, bias, widths, vectors)(spans)
    dense = [
        weight @ torch.cat([vectors[b, i], vectors[b, j], widths[j - i], vectors[b, i : j + 1].mean(0)]) + bias
        for b, i, j in zip(spans.sentences, spans.starts.tolist(), spans.ends.tolist(), strict=True)
    ]
    torch.testing.assert_close(found, torch.stack(dense), rtol=1e-5, atol=2e-5)
