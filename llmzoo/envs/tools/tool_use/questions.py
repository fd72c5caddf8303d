"""A question, the answers that are right, and the calls that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Target:
    """What is right: one of ``values``. ``within``: how far a number may be off; None where the
    values are text. ``path``: the file that must hold it, where the answer is a file."""

    values: tuple[str, ...]
    within: float | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class NeededCall:
    """A call that a question needs: of one of ``tools``, with a result that holds ``shows``, a number
    (``within`` is how far it may be off) or a text; where that is empty, any result will do.
    ``arguments``: the expert's, of the first tool."""

    tools: tuple[str, ...]
    shows: str = ""
    within: float = 0.0
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A task. ``content``: what it is about, whatever the wording; questions alike in it are in one
    split. ``files``: what the file tools find at the start, path and text."""

    text: str
    target: Target
    steps: tuple[NeededCall, ...]
    family: str
    content: str
    files: tuple[tuple[str, str], ...] = ()


def number(value: float, within: float = 0.0) -> Target:
    """A number; ``within`` is how far an answer may be off."""
    return Target((plain(value),), within)


def plain(value: float) -> str:
    """A number as it is written: digits, no exponent, no superfluous zeros."""
    return str(value) if isinstance(value, int) else f"{value:.10f}".rstrip("0").rstrip(".")
