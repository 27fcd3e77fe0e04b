"""Structured algorithms, batched, against the plain loop over sentences and cells in the same process.

Times are reported, never asserted: ``extra_info`` holds the loop's milliseconds and how many times faster we are.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import pytest
import torch
from ufal.chu_liu_edmonds import chu_liu_edmonds

from stemcell.structures import arborescence, cky, eisner

pytestmark = pytest.mark.benchmark

BATCH, WORDS = 32, 40
LENGTHS = [WORDS] * BATCH


@pytest.fixture
def scores() -> torch.Tensor:
    return torch.randn(BATCH, WORDS + 1, WORDS + 1, generator=torch.Generator().manual_seed(0))


def compare(benchmark, ours: Callable, plain: Callable) -> tuple:
    """Both results; notes the ratio of their times."""
    started = time.perf_counter()
    expected = plain()
    plain_ms = 1000 * (time.perf_counter() - started)
    result = benchmark.pedantic(ours, rounds=15, warmup_rounds=2)
    benchmark.extra_info["plain_loop_ms"] = round(plain_ms, 2)
    benchmark.extra_info["times_faster"] = round(plain_ms / (1000 * benchmark.stats.stats.median), 1)
    return result, expected


def test_inside_and_backward(benchmark, scores):
    def ours() -> torch.Tensor:
        leaf = scores.clone().requires_grad_()
        cky.inside(leaf, LENGTHS).sum().backward()
        return leaf.grad

    def plain() -> torch.Tensor:
        leaf = scores.clone().requires_grad_()
        for table in leaf:
            chart = {(i, i + 1): table[i, i + 1] for i in range(WORDS)}
            for width in range(2, WORDS + 1):
                for i in range(WORDS - width + 1):
                    j = i + width
                    splits = torch.stack([chart[i, k] + chart[k, j] for k in range(i + 1, j)])
                    chart[i, j] = table[i, j] + splits.logsumexp(0)
            chart[0, WORDS].backward()
        return leaf.grad

    torch.testing.assert_close(*compare(benchmark, ours, plain), rtol=0, atol=1e-3)


def test_cky(benchmark, scores):
    def plain() -> list[float]:
        best = []
        for table in scores.numpy():
            chart = np.zeros((WORDS + 1, WORDS + 1))
            for width in range(1, WORDS + 1):
                for i in range(WORDS - width + 1):
                    j = i + width
                    splits = chart[i, i + 1 : j] + chart[i + 1 : j, j]
                    chart[i, j] = table[i, j] + (splits.max() if width > 1 else 0)
            best.append(chart[0, WORDS])
        return best

    trees, best = compare(benchmark, lambda: cky.decode(scores, LENGTHS), plain)
    totals = [float(table[spans[:, 0], spans[:, 1]].sum()) for table, spans in zip(scores, trees, strict=True)]
    assert totals == pytest.approx(best, rel=1e-4)


def total(scores: torch.Tensor, trees: list[np.ndarray]) -> list[float]:
    words = np.arange(1, WORDS + 1)
    return [float(table[words, heads].sum()) for table, heads in zip(scores.numpy(), trees, strict=True)]


def test_eisner(benchmark, scores):
    def plain() -> list[float]:
        best = []
        for table in scores.numpy():
            right, left, open_right, open_left = np.zeros((4, WORDS + 1, WORDS + 1))
            for width in range(1, WORDS):
                for i in range(1, WORDS - width + 1):
                    j = i + width
                    arc = (right[i, i:j] + left[i + 1 : j + 1, j]).max()
                    open_right[i, j], open_left[i, j] = arc + table[j, i], arc + table[i, j]
                    right[i, j] = (open_right[i, i + 1 : j + 1] + right[i + 1 : j + 1, j]).max()
                    left[i, j] = (left[i, i:j] + open_left[i:j, j]).max()
            best.append((table[1:, 0] + left[1, 1:] + right[1:, WORDS]).max())
        return best

    trees, best = compare(benchmark, lambda: eisner.decode(scores, LENGTHS), plain)
    assert total(scores, trees) == pytest.approx(best, rel=1e-4)


def test_arborescence(benchmark, scores):
    def plain() -> list[float]:
        """Every word tried as the root."""
        best = []
        for table in scores.double().numpy():
            totals = []
            for root in range(1, WORDS + 1):
                allowed = table.copy()
                allowed[np.arange(WORDS + 1) != root, 0] = np.nan
                totals.append(chu_liu_edmonds(allowed)[1])
            best.append(max(totals))
        return best

    trees, best = compare(benchmark, lambda: arborescence.decode(scores, LENGTHS), plain)
    assert total(scores, trees) == pytest.approx(best, rel=1e-4)
