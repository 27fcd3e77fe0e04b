"""Faster float32 linear layers on processors.

PyTorch multiplies float32 matrices with MKL, which is slow on AMD's processors (on an EPYC of 2024, 215 GFLOP/s on two
cores), while the oneDNN that it ships with uses their widest instructions (480 GFLOP/s there). The result is the same
up to rounding. Other processors (on an Intel Xeon of 2024 MKL is the faster one by a tenth), devices and precisions are
left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.overrides import TorchFunctionMode


def fast_linear(device: torch.device | str) -> AbstractContextManager[Any]:
    """A context in which ``torch.nn.functional.linear`` on float32 tensors on the CPU is oneDNN's, gradients included.

    It does nothing on other devices, on processors that MKL is fast on, under autocast, or where PyTorch was built
    without oneDNN.
    """
    if torch.device(device).type != "cpu" or not torch.backends.mkldnn.is_available() or _product is None:
        return nullcontext()
    return _FastLinear() if vendor() == "AuthenticAMD" else nullcontext()


@cache
def vendor() -> str:
    """Who made the processor, as it calls itself; empty where the system does not tell."""
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^vendor_id\s*:\s*(\w+)", text, re.MULTILINE)
    return found[1] if found else ""


try:
    _operator = torch.ops.mkldnn._linear_pointwise
    _operator(torch.ones(1, 1), torch.ones(1, 1), None, "none", [], "")
except (AttributeError, RuntimeError):
    _product: Callable[..., Tensor] | None = None
else:

    def _product(left: Tensor, right: Tensor, bias: Tensor | None = None) -> Tensor:
        """``left @ right.T + bias``, [m, k] and [n, k] -> [m, n]."""
        return _operator(_dense(left), _dense(right), bias, "none", [], "")


def _dense(matrix: Tensor) -> Tensor:
    """The matrix without gaps between its rows or columns, which send oneDNN into a plain loop."""
    return matrix if matrix.is_contiguous() or matrix.T.is_contiguous() else matrix.contiguous()


class _FastLinear(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Iterable[type], args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is functional.linear and _suits(*(given := _given(*args, **(kwargs or {})))):
            input, weight, bias = given
            # Reshaped out here: what a custom function returns as a view must not be changed in place, as DeBERTa does.
            rows = _Linear.apply(input.reshape(-1, input.shape[-1]), weight, bias)
            return rows.view(*input.shape[:-1], len(weight))
        return func(*args, **(kwargs or {}))


def _given(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor | None]:
    return input, weight, bias


def _suits(input: Tensor, weight: Tensor, bias: Tensor | None) -> bool:
    # All of one type: a half-precision input is somebody else's affair.
    wanted = input.dtype == weight.dtype == torch.float32 and input.device.type == "cpu"
    return wanted and input.numel() > 0 and weight.ndim == 2 and not torch.is_autocast_enabled("cpu")


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        assert _product is not None
        ctx.save_for_backward(input, weight)
        return _product(input, weight, bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        assert _product is not None
        input, weight = ctx.saved_tensors
        return (
            _product(gradient, weight.T) if ctx.needs_input_grad[0] else None,
            _product(gradient.T, input.T) if ctx.needs_input_grad[1] else None,
            gradient.sum(0) if ctx.needs_input_grad[2] else None,
        )
