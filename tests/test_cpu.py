import pytest
import torch
from torch.nn import functional

from stemcell import cpu
from stemcell.cpu import fast_linear


@pytest.fixture(autouse=True)
def _amd(monkeypatch):
    monkeypatch.setattr(cpu, "vendor", lambda: "AuthenticAMD")


shapes = [((7, 5), 3), ((2, 4, 5), 3), ((1, 5), 1), ((64, 40, 384), 150)]


@pytest.mark.parametrize(("shape", "size"), shapes)
@pytest.mark.parametrize("bias", [True, False])
def test_results_and_gradients_are_those_of_torch(shape, size, bias):
    torch.manual_seed(0)
    parts = [torch.randn(shape), torch.randn(size, shape[-1])] + [torch.randn(size)] * bias
    found = []
    for context in (fast_linear("cpu"), fast_linear("meta")):
        leaves = [part.clone().requires_grad_() for part in parts]
        with context:
            output = functional.linear(*leaves)
        (output * torch.arange(output.numel()).view_as(output).cos()).sum().backward()
        found.append([output.detach(), *(leaf.grad for leaf in leaves)])
    for fast, plain in zip(*found, strict=True):
        torch.testing.assert_close(fast, plain, rtol=1e-4, atol=1e-4)


def test_it_is_really_used_and_only_where_it_fits(monkeypatch):
    if cpu._product is None:
        pytest.skip("PyTorch without oneDNN")
    calls = []
    monkeypatch.setattr(cpu, "_product", lambda *a: calls.append(a) or functional.linear(*a))
    layer, vectors = torch.nn.Linear(4, 2), torch.ones(3, 4)
    with torch.no_grad():
        layer(vectors)
        with fast_linear("cpu"):
            layer(vectors)
            assert len(calls) == 1
            layer.double()(vectors.double())
            with torch.autocast("cpu", dtype=torch.bfloat16):
                assert layer.float()(vectors).dtype == torch.bfloat16
            assert layer(torch.ones(0, 4)).shape == (0, 2)
    assert len(calls) == 1


def test_frozen_weights_get_no_gradient():
    layer = torch.nn.Linear(4, 2).requires_grad_(False)
    vectors = torch.ones(3, 4, requires_grad=True)
    with fast_linear("cpu"):
        layer(vectors).sum().backward()
    assert layer.weight.grad is None
    assert vectors.grad is not None


def test_processors_that_mkl_is_fast_on_keep_it(monkeypatch):
    monkeypatch.setattr(cpu, "vendor", lambda: "GenuineIntel")
    monkeypatch.setattr(cpu, "_product", lambda *a: pytest.fail("used"))
    with fast_linear("cpu"):
        assert torch.nn.Linear(4, 2)(torch.ones(3, 4)).shape == (3, 2)


def test_slices_of_weights_reach_onednn_without_gaps(monkeypatch):
    if cpu._product is None:
        pytest.skip("PyTorch without oneDNN")
    seen = []
    monkeypatch.setattr(cpu, "_operator", lambda a, b, *rest: seen.extend((a, b)) or functional.linear(a, b))
    weight = torch.randn(6, 20, requires_grad=True)
    vectors = torch.randn(5, 16, requires_grad=True)
    with fast_linear("cpu"):
        functional.linear(vectors[:, 3:11], weight[:, 12:]).sum().backward()
    assert len(seen) == 6
    assert all(matrix.is_contiguous() or matrix.T.is_contiguous() for matrix in seen)
    torch.testing.assert_close(vectors.grad[:, 3:11], weight[:, 12:].sum(0).expand(5, 8))
