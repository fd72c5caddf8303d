"""Float64 in place of float32, so that two ways to compute one number agree to nearly 16 digits.

Rounding depends on the order of the operations, and so on the processor, the number of threads and
the shapes of the batches. In float64 it is 5e8 times smaller than in float32. A mistake is as large
as ever, so one limit holds everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import torch
from torch.overrides import TorchFunctionMode

# what a comparison of two ways to one number allows, relative to the size of the numbers: float64
# rounds by 1.1e-16, so this leaves room for errors of 4 million roundings that all add up
LIMIT = 1e-9


class Widened(TorchFunctionMode):
    """Every call that asks for float32 gets float64.

    Models ask for it in places (norms, softmaxes, rotary positions, losses), ours and others'.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if func is torch.Tensor.view:  # its format says how bytes are read
            return func(*args, **(kwargs or {}))
        if func is torch.Tensor.float:
            func = torch.Tensor.double
        return func(*map(_wide, args), **{k: _wide(v) for k, v in (kwargs or {}).items()})


def _wide(value: Any) -> Any:
    return torch.float64 if value is torch.float32 else value


_engine = torch.autograd._engine_run_backward


def _backward(*args: Any, **kwargs: Any) -> Any:
    """A backward pass. It is itself a call that the mode sees, inside of which the mode is off."""
    with Widened():
        return _engine(*args, **kwargs)


@contextmanager
def in_float64() -> Iterator[None]:
    """Models that are made here have float64 weights, and all that is computed is in float64."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        with mock.patch.object(torch.autograd, "_engine_run_backward", _backward), Widened():
            yield
    finally:
        torch.set_default_dtype(before)


def assert_equal(found: torch.Tensor, wanted: torch.Tensor, name: str = "") -> None:
    """Two ways to one tensor agree, to :data:`LIMIT` of each number or of 1."""
    assert found.dtype == torch.float64, f"{found.dtype}: compared outside of in_float64()"
    torch.testing.assert_close(
        found, wanted, rtol=LIMIT, atol=LIMIT, msg=lambda text: f"{name}: {text}"
    )
