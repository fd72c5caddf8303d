"""Makes numpy's comparisons fail if an operand is empty, in the process of the tests.

``np.allclose([], 7)`` holds, and so does every comparison with an array of shape (0, 1), to which
others are broadcast. An array without elements is equal only to another one. A tolerance that lets
zeros pass for the second operand, which numpy calls the desired one, is narrowed.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from .vacuous import NOISE, NOTHING

_CLOSE = ("allclose", "isclose")
_TESTING = (
    *("assert_allclose", "assert_almost_equal", "assert_approx_equal", "assert_array_almost_equal"),
    *("assert_array_equal", "assert_array_less", "assert_equal"),
)
_COMPARING = {
    *("subtract", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("logical_and", "logical_xor", "bitwise_xor", "divide", "true_divide"),
}
_PLAIN = (bool, int, float, complex, list, tuple)


def guard_arrays() -> Callable[[Any], Any]:
    """Patch numpy in this process. Returns the function through which arrays of the program must pass."""
    numpy: Any = sys.modules["numpy"]

    class Empty(numpy.ndarray):
        """An array without elements."""

        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
            if ufunc.__name__ in _COMPARING and any(numpy.size(one) for one in inputs):
                raise AssertionError(NOTHING)
            plain = [i.view(numpy.ndarray) if isinstance(i, Empty) else i for i in inputs]
            return mark_empty(getattr(ufunc, method)(*plain, **options))

    def mark_empty(value: Any) -> Any:
        empty = type(value) is numpy.ndarray and value.size == 0
        return value.view(Empty) if empty else value

    def size(value: Any) -> int | None:
        if not isinstance(value, (numpy.ndarray, numpy.generic, *_PLAIN)):
            return None
        try:
            return int(numpy.size(value))
        except ValueError:  # rows of several lengths
            return None

    def guard_comparison(
        compare: Callable[..., Any], tolerance: float | None
    ) -> Callable[..., Any]:
        @functools.wraps(compare)
        def compare_nonempty(one: Any, other: Any, *rest: Any, **options: Any) -> Any:
            sizes = (size(one), size(other))
            if 0 in sizes and sizes[0] != sizes[1]:
                raise AssertionError(NOTHING)
            if tolerance is not None and sizes[1]:
                named = dict(zip(("rtol", "atol"), rest[:2], strict=False)) | options
                _narrow(numpy, other, named, tolerance)
                return compare(one, other, *rest[2:], **named)
            return compare(one, other, *rest, **options)

        return compare_nonempty

    for name in ("array", "asarray"):
        make = getattr(numpy, name)
        setattr(
            numpy,
            name,
            functools.wraps(make)(lambda *a, _make=make, **k: mark_empty(_make(*a, **k))),
        )
    for name in _CLOSE:
        setattr(numpy, name, guard_comparison(getattr(numpy, name), 1e-8))
    numpy.array_equiv = guard_comparison(numpy.array_equiv, None)
    testing = sys.modules.get("numpy.testing")
    for name in _TESTING if testing is not None else ():
        default = 0.0 if name == "assert_allclose" else None
        setattr(testing, name, guard_comparison(getattr(testing, name), default))
    return mark_empty


def _narrow(numpy: Any, desired: Any, options: dict[str, Any], default: float) -> None:
    """Narrow ``rtol`` and ``atol`` if they let zeros pass for ``desired``."""
    try:
        largest = float(numpy.max(numpy.abs(desired)))
        atol, rtol = float(options.get("atol", default)), float(options.get("rtol", 0))
    except (TypeError, ValueError):
        return
    if NOISE < largest <= atol + rtol * largest:
        options["atol"], options["rtol"] = largest / 2, 0.0
