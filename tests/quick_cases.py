"""Cases of a parametrized test of which ``make test`` takes a few, and ``make test-all`` every one."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def slow_but(quick: Collection[Any], cases: Iterable[Any]) -> list[Any]:
    """``cases``, a value or a tuple of values each, with the mark slow unless they are in ``quick``."""
    cases = list(cases)
    missing = [case for case in quick if case not in cases]
    assert not missing, f"no such case: {missing}"
    return [case if case in quick else _slow(case) for case in cases]


def _slow(case: Any) -> Any:
    values = case if isinstance(case, tuple) else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)
