"""Whether what came out of a program is what was expected: decided here, on builtin types only."""

from __future__ import annotations

import math
from typing import Any

TOLERANCE = 1e-6  # of floats: relative, and absolute near zero


def same(expected: Any, got: Any, *, tolerance: float = TOLERANCE) -> bool:
    """Equal as Python's ``==``, except that floats may differ by ``tolerance``, nested ones too.

    Both are plain data. A list is not a tuple; ``True == 1`` as in Python; NaN equals NaN.
    """
    if isinstance(expected, float) and isinstance(got, (int, float)):
        return _close(expected, got, tolerance)
    if isinstance(got, float) and isinstance(expected, int):
        return _close(expected, got, tolerance)
    if isinstance(expected, complex) and isinstance(got, (int, float, complex)):
        return abs(expected - got) <= tolerance * max(1.0, abs(expected))
    if isinstance(expected, (list, tuple)):
        return (
            type(expected) is type(got)
            and len(expected) == len(got)
            and all(same(e, g, tolerance=tolerance) for e, g in zip(expected, got, strict=True))
        )
    if isinstance(expected, dict):
        return (
            isinstance(got, dict)
            and expected.keys() == got.keys()
            and all(same(value, got[key], tolerance=tolerance) for key, value in expected.items())
        )
    return bool(expected == got)


def same_output(expected: str, got: str, mode: str) -> bool:
    """Whether a printed output is right.

    ``"tokens"``: the same words, whatever space lies between them; where both are numbers and one
    has a point or an exponent, within 1e-6. ``"lines"``: the same lines, trailing space aside.
    ``"exact"``: the same text. Raises ``ValueError`` for another mode.
    """
    if mode == "exact":
        return expected == got
    if mode == "lines":
        return _lines(expected) == _lines(got)
    if mode != "tokens":
        raise ValueError(f"compare must be 'tokens', 'lines' or 'exact', got {mode!r}")
    wanted, found = expected.split(), got.split()
    return len(wanted) == len(found) and all(map(_same_token, wanted, found))


def _close(expected: float, got: float, tolerance: float) -> bool:
    try:
        if math.isnan(expected):
            return math.isnan(got)
        return math.isclose(expected, got, rel_tol=tolerance, abs_tol=tolerance)
    except OverflowError:  # an integer beyond the range of floats
        return expected == got


def _same_token(expected: str, got: str) -> bool:
    if expected == got:
        return True
    if not (_has_fraction(expected) or _has_fraction(got)) or len(got) > 400:
        return False
    try:
        return _close(float(expected), float(got), TOLERANCE)
    except ValueError:
        return False


def _has_fraction(token: str) -> bool:
    return "." in token or "e" in token or "E" in token


def _lines(text: str) -> list[str]:
    lines = [line.rstrip() for line in text.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    return lines
