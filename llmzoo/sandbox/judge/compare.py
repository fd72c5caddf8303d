"""Compares values and output of a program, which are of builtin types, with the expected ones."""

from __future__ import annotations

import cmath
import math
import re
from typing import Any

TOLERANCE = 1e-6  # of floats: relative, and absolute near zero

_MAX_NUMBER_CHARS = 400
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_FRACTION = re.compile(r"\.|[eE]-")  # in a number
_ZEROS = re.compile(r"(-?\d+)\.0*", re.ASCII)  # a whole number with a point


def values_equal(expected: Any, got: Any, *, tolerance: float = TOLERANCE) -> bool:
    """Whether two plain values are equal.

    As Python's ``==``, except that numbers may differ by ``tolerance`` if a float is expected, also in
    containers, and that NaN equals NaN. A list is not a tuple, and ``True == 1``.
    """
    if isinstance(expected, float) and isinstance(got, (int, float)):
        return _close(expected, got, tolerance)
    if isinstance(expected, complex) and isinstance(got, (int, float, complex)):
        return _close_complex(expected, got, tolerance)
    if isinstance(expected, (list, tuple)):
        return (
            type(expected) is type(got)
            and len(expected) == len(got)
            and all(
                values_equal(e, g, tolerance=tolerance) for e, g in zip(expected, got, strict=True)
            )
        )
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and expected.keys() == got.keys()
            and all(
                values_equal(value, got[key], tolerance=tolerance)
                for key, value in expected.items()
            )
        )
    return bool(expected == got)


def outputs_equal(expected: str, got: str, mode: str) -> bool:
    """Whether a printed output is right.

    ``"tokens"``: the same words, with any space between them; a number with a fraction matches any
    decimal number within 1e-6, and ``20.0`` matches ``20``. ``"lines"``: the same lines, without
    trailing space. ``"exact"``: the same text. Raises ``ValueError`` for another mode.
    """
    if mode == "exact":
        return expected == got
    if mode == "lines":
        return _lines(expected) == _lines(got)
    if mode != "tokens":
        raise ValueError(f"compare must be 'tokens', 'lines' or 'exact', got {mode!r}")
    wanted, printed = expected.split(), got.split()
    return len(wanted) == len(printed) and all(map(_same_token, wanted, printed))


def _close(expected: float, got: float, tolerance: float) -> bool:
    try:
        if math.isnan(expected):
            return math.isnan(got)
        return math.isclose(expected, got, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # an integer beyond the range of floats
        return expected == got


def _close_complex(expected: complex, got: complex, tolerance: float) -> bool:
    """Whether the distance is small. Infinities and NaN have none, so each part is compared."""
    if not cmath.isfinite(expected):
        parts = ((expected.real, got.real), (expected.imag, got.imag))
        return all(_close(*pair, tolerance) for pair in parts)
    try:
        return abs(expected - got) <= tolerance * max(1.0, abs(expected))
    except OverflowError:  # a distance, or an integer, beyond the range of floats
        return expected == got


def _same_token(expected: str, got: str) -> bool:
    if expected == got:
        return True
    zeros = _ZEROS.fullmatch(got) if len(got) <= _MAX_NUMBER_CHARS else None
    if zeros and expected in (zeros[1], zeros[1].replace("-0", "0")):
        return True
    if not (_is_number(expected) and _FRACTION.search(expected) and _is_number(got)):
        return False
    wanted, printed = float(expected), float(got)
    finite = math.isfinite(wanted) and math.isfinite(printed)
    return finite and _close(wanted, printed, TOLERANCE)


def _is_number(token: str) -> bool:
    """Whether a token is a decimal number in ASCII digits."""
    return len(token) <= _MAX_NUMBER_CHARS and _NUMBER.fullmatch(token) is not None


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines
