"""Products of float32 matrices on a CPU, by the faster of the two libraries that PyTorch contains.

PyTorch multiplies them by MKL, which does without AVX-512 on AMD's processors. oneDNN uses it there and is
2 to 4 times as fast once a product is large enough to outweigh its overhead (docs/performance.md). On other
processors, and with ``torch.backends.mkldnn.enabled = False``, everything here is PyTorch's own product.

oneDNN compiles code for each number of rows and keeps it, about a megabyte each. So rows are multiplied in blocks,
and padded to one of 47 numbers.

Shapes: N rows, I inputs, O outputs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn import functional as F
from torch.overrides import TorchFunctionMode

# multiplications from which oneDNN is faster: in an update, which reorders the weights each time and needs new
# code for each number of rows, and with packed weights
_MIN_PRODUCT, _MIN_PACKED_PRODUCT = 2**24, 2**20
_MIN_SIDE = 16  # inputs and outputs; oneDNN is slow for narrower matrices
_MIN_GRADIENT = 2**15  # weights; its operands are copied, which costs more than it gains below
_BLOCK = 2048  # rows that are multiplied at once

_CPUINFO = Path("/proc/cpuinfo")


def linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias, [..., O], of ``input`` [..., I] and ``weight`` [O, I]; differentiable once by oneDNN."""
    if not _product_is_faster(input, weight, bias):
        return F.linear(input, weight, bias)
    x = input.reshape(-1, input.shape[-1])
    if torch.is_grad_enabled():
        product: Tensor = _Linear.apply(x, weight, bias)
    else:
        product = _multiply_in_blocks(x, weight, bias)
    return product.view(*input.shape[:-1], -1)


def weight_gradient(grad: Tensor, x: Tensor) -> Tensor:
    """grad.T @ x, [O, I], for ``grad`` [N, O] and ``x`` [N, I]."""
    if grad.shape[1] * x.shape[1] < _MIN_GRADIENT or not _product_is_faster(grad.T, x.T):
        return grad.T @ x
    # oneDNN copies transposed operands. Copying the first one costs more, so the narrower one is first
    narrow, wide = (x, grad) if grad.shape[1] > x.shape[1] else (grad, x)
    block_end = len(x) - len(x) % _BLOCK
    total = narrow[block_end:].T @ wide[block_end:]
    for begin in range(0, block_end, _BLOCK):
        rows = slice(begin, begin + _BLOCK)
        total += _multiply(narrow[rows].T, wide[rows].T)
    return total.T if narrow is x else total


class FastLinear(TorchFunctionMode):
    """Within this context ``torch.nn.functional.linear``, and so every linear layer, is :func:`linear`."""

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return (linear if func is F.linear else func)(*args, **(kwargs or {}))

    def __enter__(self) -> FastLinear:
        _ACTIVE.depth = active_depth() + 1
        super().__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        _ACTIVE.depth -= 1
        super().__exit__(*error)


_ACTIVE = threading.local()


def active_depth() -> int:
    """How many :class:`FastLinear` contexts this thread is in."""
    depth: int = getattr(_ACTIVE, "depth", 0)
    return depth


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
        return _multiply(_pad_rows(h), self._packed, self._bias)[: len(h)]

    def add_to(self, x: Tensor, h: Tensor) -> Tensor:
        """``x`` [N, O] and the product, without the bias."""
        if self._plain is not None and len(h) < self._least_rows:
            return torch.addmm(x, h, self._plain.T)
        add = torch.ops.mkldnn._linear_pointwise.binary
        total: Tensor = add(_pad_rows(h), _pad_rows(x), self._packed, None, "add")
        return total[: len(h)]


def can_pack(layer: nn.Module) -> bool:
    """Whether a layer is multiplied faster as a :class:`PackedLinear`, which no hook of the layer would see."""
    hooked = layer._forward_hooks or layer._forward_pre_hooks or "forward" in layer.__dict__
    return type(layer) is nn.Linear and not hooked and can_pack_weight(layer.weight)


def can_pack_weight(weight: Tensor) -> bool:
    """Whether a matrix [O, I] is multiplied faster from packed weights."""
    return (
        weight.ndim == 2
        and min(weight.shape) >= _MIN_SIDE
        and _is_plain(weight)
        and prefers_onednn()
    )


def is_faster_with_onednn(model: nn.Module, tokens: int) -> bool:
    """Whether a pass of this many tokens through a model has a product that is faster by oneDNN."""
    return (
        prefers_onednn()
        and not torch.compiler.is_compiling()
        and tokens * _largest_weight(model) >= _MIN_PRODUCT
    )


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


def _largest_weight(model: nn.Module) -> int:
    """The size of the largest matrix of a model's layers, if they are on a CPU; the embedding is not multiplied."""
    if next(model.parameters()).device.type != "cpu":
        return 0
    config: Any = model.config
    return int(config.hidden_size * max(config.hidden_size, config.intermediate_size))


def _product_is_faster(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> bool:
    return (
        not torch.compiler.is_compiling()
        and x.ndim >= 2
        and weight.ndim == 2
        and min(weight.shape) >= _MIN_SIDE
        and x.numel() // weight.shape[1] * weight.numel() >= _MIN_PRODUCT
        and x.shape[-1] == weight.shape[1]
        and prefers_onednn()
        and _is_plain(x)
        and _is_plain(weight)
        and (bias is None or (_is_plain(bias) and bias.shape == weight.shape[:1]))
        and not (torch.is_inference_mode_enabled() and torch.is_grad_enabled())
    )


def _is_plain(tensor: Tensor) -> bool:
    """Whether this is a plain float32 tensor in CPU memory, to which no autocast applies."""
    return (
        type(tensor) in (Tensor, nn.Parameter)
        and tensor.dtype == torch.float32
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not torch.is_autocast_enabled("cpu")
    )


def _multiply_in_blocks(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if len(x) <= _BLOCK:
        return _multiply(_pad_rows(x), weight, bias)[: len(x)]
    out = x.new_empty(len(x), len(weight))
    for begin in range(0, len(x), _BLOCK):
        block = x[begin : begin + _BLOCK]
        out[begin : begin + _BLOCK] = _multiply(_pad_rows(block), weight, bias)[: len(block)]
    return out


def _pad_rows(x: Tensor) -> Tensor:
    """``x`` [N, I] with zeros up to the next number of rows that oneDNN has code for."""
    n = len(x)
    grid = 1 if n <= 8 else 8 if n <= 64 else 16 if n <= 256 else 64 if n <= 1024 else 128
    missing = -n % grid
    return F.pad(x, (0, 0, 0, missing)) if missing else x


def _multiply(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    bias = None if bias is None else bias.contiguous()  # oneDNN ignores a bias's strides
    product: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, "none", [], "")
    return product


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        needs_x, needs_weight, _ = ctx.needs_input_grad
        ctx.save_for_backward(x if needs_weight else None, weight if needs_x else None)
        return _multiply_in_blocks(x, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = _multiply_in_blocks(grad, weight.T.contiguous())
        if ctx.needs_input_grad[1]:
            grad_weight = weight_gradient(grad, x)
        if ctx.needs_input_grad[2]:
            grad_bias = grad.sum(dim=0)
        return grad_x, grad_weight, grad_bias
