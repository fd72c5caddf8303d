"""Products of float32 matrices on a CPU, by the faster of the two libraries that PyTorch contains.

PyTorch multiplies them by MKL, which does without AVX-512 on AMD's processors. oneDNN uses it there and is
2 to 4 times as fast once a product is large enough to outweigh its overhead (docs/performance.md). On other
processors, and with ``torch.backends.mkldnn.enabled = False``, everything here is PyTorch's own product.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

# Multiplications from which oneDNN is faster. It prepares for each new N, which takes it a millisecond; the
# rows of a decoding step stay the same for long, those of an update do not.
_MIN_PRODUCT, _MIN_PACKED_PRODUCT = 2**24, 2**19
_MIN_GRADIENT = 2**15  # weights; its operands are copied, which costs more than it gains below

_CPUINFO = Path("/proc/cpuinfo")


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x @ weight.T + bias, [..., O], for ``x`` [..., I] and ``weight`` [O, I]; differentiable once by oneDNN."""
    if not _gains(x, weight):
        return F.linear(x, weight, bias)
    if torch.is_grad_enabled():
        product: Tensor = _Linear.apply(x, weight, bias)
        return product
    return _multiply(x, weight, bias)


def weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """grad.T @ x, [O, I], for ``grad`` [N, O] and ``x`` [N, I]."""
    if grad.shape[1] * x.shape[1] < _MIN_GRADIENT or not _gains(grad, x.T):
        return grad.T @ x
    if (
        grad.shape[1] > x.shape[1]
    ):  # oneDNN copies what it is given transposed; the first operand costs more
        return _multiply(x.T, grad.T).T
    return _multiply(grad.T, x.T)


class FastLinear(TorchFunctionMode):
    """Within this context ``torch.nn.functional.linear``, and so every linear layer, is :func:`linear`."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return (linear if func is F.linear else func)(*args, **(kwargs or {}))


class PackedLinear:
    """h @ weight.T + bias, [N, O], for ``h`` [N, I] and weights that are multiplied many times.

    oneDNN keeps the weights in the order in which it reads them. Few rows of small weights are PyTorch's
    product.
    """

    def __init__(self, weight: Tensor, bias: Tensor | None):
        """``weight`` [O, I] and ``bias`` [O], without gradients; see :func:`can_pack`."""
        self._packed = torch.ops.mkldnn._reorder_linear_weight(weight)
        self._bias = bias
        self._least_rows = -(-_MIN_PACKED_PRODUCT // weight.numel())
        self._plain = weight if self._least_rows > 1 else None

    def __call__(self, h: Tensor) -> Tensor:
        if self._plain is not None and len(h) < self._least_rows:
            return F.linear(h, self._plain, self._bias)
        return _multiply(h, self._packed, self._bias)

    def add_to(self, x: Tensor, h: Tensor) -> Tensor:
        """``x`` [N, O] and the product, without the bias."""
        if self._plain is not None and len(h) < self._least_rows:
            return torch.addmm(x, h, self._plain.T)
        total: Tensor = torch.ops.mkldnn._linear_pointwise.binary(h, x, self._packed, None, "add")
        return total


def can_pack(weight: Tensor) -> bool:
    """Whether a matrix [O, I] is multiplied faster as a :class:`PackedLinear`."""
    return weight.ndim == 2 and _is_plain(weight) and prefers_onednn()


def prefers_onednn() -> bool:
    """Whether oneDNN is this processor's faster library, and not switched off."""
    return _is_amd_with_avx512() and bool(torch.backends.mkldnn.enabled)


@cache
def _is_amd_with_avx512() -> bool:
    return (
        torch.backends.mkl.is_available()
        and torch.backends.mkldnn.is_available()
        and torch.backends.cpu.get_cpu_capability() == "AVX512"
        and _CPUINFO.exists()
        and "AuthenticAMD" in _CPUINFO.read_text()
    )


def _gains(x: Tensor, weight: Tensor) -> bool:
    return (
        x.shape[-1] > 0
        and x.numel() // x.shape[-1] * weight.numel() >= _MIN_PRODUCT
        and prefers_onednn()
        and _is_plain(x)
        and _is_plain(weight)
        and not torch.compiler.is_compiling()
    )


def _is_plain(matrix: Tensor) -> bool:
    """Whether a tensor is in this process's memory, in float32, and computed with as it is."""
    return (
        type(matrix) in (Tensor, nn.Parameter)
        and matrix.dtype == torch.float32
        and matrix.device.type == "cpu"
        and not torch.is_autocast_enabled("cpu")
    )


def _multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs_x, needs_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if needs_weight else None, weight if needs_x else None)
        return _multiply(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        of_x = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_x = _multiply(grad, weight.T.contiguous())
        rows = grad.flatten(0, -2)
        if ctx.needs_input_grad[1]:
            of_weight = weight_gradient(rows, x.flatten(0, -2))
        if ctx.needs_input_grad[2]:
            of_bias = rows.sum(dim=0)
        return of_x, of_weight, of_bias
