from __future__ import annotations

import pytest
import torch

from stemcell.structures import cky
from tests.structures.enumeration import LENGTHS, bracketings


def random_scores(seed: int, kind: str, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    """[8, 8, 8] for LENGTHS; what must not be read is NaN."""
    generator = torch.Generator().manual_seed(seed)
    scores = torch.randn(8, 8, 8, generator=generator, dtype=dtype)
    if kind == "ties":
        scores = scores.round()
    elif kind == "large":
        scores = scores * 1e4
    elif kind == "negative":
        scores = scores * 10 - 500
    allowed = torch.ones(8, 8, dtype=torch.bool).triu(1)
    return scores.masked_fill(~allowed, float("nan"))


def totals(scores: torch.Tensor, length: int) -> torch.Tensor:
    """Scores of all bracketings of one sentence, [bracketings], in enumeration order."""
    return torch.stack([sum(scores[i, j] for i, j in spans) for spans in bracketings(0, length)])


KINDS = ["plain", "ties", "large", "negative"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_inside_is_log_sum_over_all_bracketings(seed, kind):
    scores = random_scores(seed, kind)
    expected = torch.stack([totals(table, n).logsumexp(0) for table, n in zip(scores, LENGTHS, strict=True)])
    torch.testing.assert_close(cky.inside(scores, LENGTHS), expected, rtol=1e-12, atol=1e-9)
    torch.testing.assert_close(cky.inside(scores.float(), LENGTHS).double(), expected, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_marginals_and_gradient_are_expected_brackets(kind):
    scores = random_scores(7, kind).requires_grad_()
    expected = torch.zeros_like(scores)
    for table, n, out in zip(scores.detach(), LENGTHS, expected, strict=True):
        for spans, probability in zip(bracketings(0, n), totals(table, n).softmax(0), strict=True):
            for i, j in spans:
                out[i, j] += probability
    torch.testing.assert_close(cky.marginals(scores, LENGTHS), expected, rtol=0, atol=1e-10)
    weights = torch.arange(1.0, 9.0, dtype=torch.float64)
    (gradient,) = torch.autograd.grad(cky.inside(scores, LENGTHS) @ weights, scores)
    torch.testing.assert_close(gradient, expected * weights[:, None, None], rtol=0, atol=1e-9)


def test_gradient_by_finite_differences():
    scores = torch.randn(3, 6, 6, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda table: cky.inside(table, [5, 1, 4]), scores)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_decode_is_the_best_bracketing_in_preorder(seed, kind):
    scores = random_scores(seed, kind)
    for table, n, spans in zip(scores, LENGTHS, cky.decode(scores, LENGTHS), strict=True):
        found = tuple(map(tuple, spans.tolist()))
        every = totals(table, n)
        assert every[bracketings(0, n).index(found)] == pytest.approx(every.max().item(), rel=1e-12)


def test_of_equal_trees_the_one_that_splits_leftmost():
    spans = cky.decode(torch.zeros(1, 5, 5), [4])[0]
    assert spans.tolist() == [[0, 4], [0, 1], [1, 4], [1, 2], [2, 4], [2, 3], [3, 4]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_any_scores_give_a_bracketing(value):
    scores = random_scores(0, "plain").nan_to_num()
    scores[torch.rand(8, 8, 8, generator=torch.Generator().manual_seed(1)) < 0.4] = value
    for n, spans in zip(LENGTHS, cky.decode(scores, LENGTHS), strict=True):
        assert tuple(map(tuple, spans.tolist())) in bracketings(0, n)


def test_long_sentences_keep_their_mass_in_float32():
    lengths = [150, 1, 70]
    scores = torch.randn(3, 151, 151, generator=torch.Generator().manual_seed(0)) * 5
    mass = cky.marginals(scores, lengths).sum((1, 2))
    torch.testing.assert_close(mass, torch.tensor([2.0 * n - 1 for n in lengths]), rtol=1e-2, atol=0)
