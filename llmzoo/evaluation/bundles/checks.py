"""The outcome of a check of a bundle."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ok", "wrong", "not checked"]
TOLERANCE = 1e-6  # relative, of numbers that are computed again: processors round differently


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """``evaluation``: its name; "" for the whole bundle. ``reason``: what was found, in one sentence."""

    name: str
    evaluation: str = ""
    status: Status
    reason: str


Finding = tuple[Status, str]


def ok(reason: str) -> Finding:
    return "ok", reason


def wrong(reason: str) -> Finding:
    return "wrong", reason


def not_checked(reason: str) -> Finding:
    return "not checked", reason


def differences(claimed: Any, computed: Any, path: str = "") -> Iterator[str]:
    """Where two JSON values differ by more than rounding: ``success: 0.9 is claimed, 0.5 computed``."""
    if isinstance(claimed, dict) and isinstance(computed, dict):
        for key in dict.fromkeys([*claimed, *computed]):
            where = f"{path}.{key}" if path else str(key)
            if key not in claimed:
                yield f"{where} is missing"
            elif key not in computed:
                yield f"{where} is not computed by this llmzoo"
            else:
                yield from differences(claimed[key], computed[key], where)
    elif isinstance(claimed, list) and isinstance(computed, list):
        if len(claimed) != len(computed):
            yield f"{path}: {len(claimed)} values are claimed, {len(computed)} computed"
        for index, (one, other) in enumerate(zip(claimed, computed, strict=False)):
            yield from differences(one, other, f"{path}[{index}]")
    elif not _are_equal(claimed, computed):
        yield f"{path}: {claimed!r:.120} is claimed, {computed!r:.120} computed"


def _are_equal(one: Any, other: Any) -> bool:
    numbers = (int, float)
    if type(one) in numbers and type(other) in numbers:
        return math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(one) is type(other) and bool(one == other)


def name_some(items: Iterable[object], limit: int = 3) -> str:
    """The first items, and how many more there are."""
    every = [*map(str, items)]
    more = f" and {len(every) - limit} more" if len(every) > limit else ""
    return ", ".join(every[:limit]) + more
