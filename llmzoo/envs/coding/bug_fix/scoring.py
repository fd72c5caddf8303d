"""Reads a named location, puts a fix into a program, and scores both."""

from __future__ import annotations

import json
import re
from collections.abc import Collection
from dataclasses import dataclass

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.programs import NoProgram

WEIGHTS = {"tests": 0.75, "location": 0.2, "parses": 0.05}
NOTHING = dict.fromkeys(WEIGHTS, 0.0)

_NEAR = 1  # a line this far off
_NEAR_SHARE = 0.5
_FUNCTION_SHARE = 0.1
_BEGUN = 0.25  # of "parses": a function of the program is begun, and does not parse

_OBJECT = re.compile(r"\{[^{}]{1,4000}\}")
_WORDS = re.compile(
    r"\bfunction\W{1,8}([A-Za-z_]\w{0,99})\W{1,12}lines?[^\w+-]{1,8}([0-9]{1,6})\b(?:\W{1,12}reason\W{1,4}([^\n]*))?",
    re.IGNORECASE,
)


class NoLocation(ValueError):
    """An answer that names no function and line; its text tells the agent why."""


@dataclass(frozen=True, slots=True)
class Location:
    """Where a mistake is said to be, and why."""

    function: str
    line: int
    reason: str


def parse_location(text: str) -> Location:
    """The last location in an answer: a JSON object with ``function``, ``line`` and ``reason``, or
    the same as ``function: f, line: 7, reason: ...``. Raises :class:`NoLocation`."""
    if len(text) > MAX_ACTION_CHARS:
        raise NoLocation(f"answer longer than {MAX_ACTION_CHARS} characters")
    for written in reversed(_OBJECT.findall(text)):
        location = _of_object(written)
        if location is not None:
            return location
    worded = _WORDS.findall(text)
    if not worded:
        raise NoLocation('no {"function": ..., "line": ..., "reason": ...} in it')
    function, line, reason = worded[-1]
    return Location(function, int(line), reason.strip())


def apply_fix(broken: str, text: str) -> str:
    """The program with the functions of an answer in place of its own; raises ``NoProgram``."""
    known = programs.functions(broken)
    answer = programs.extract(text, known)
    if not set(programs.functions(answer)) & set(known):
        raise NoProgram(f"none of the program's functions ({', '.join(known)}) in it")
    return programs.merge(broken, answer)


def parse_share(broken: str, text: str) -> float:
    """The share of "parses" for an answer without a readable fix: a little if one is begun."""
    return _BEGUN * programs.begins_definition(text, programs.functions(broken))


def location_share(known: Collection[tuple[str, int]], named: Location) -> float:
    """1 for the right function and line, 1/2 for a line next to it, 1/10 for the function alone, else 0.
    With two mistakes either counts."""
    away = [abs(line - named.line) for function, line in known if function == named.function]
    if not away:
        return 0.0
    if min(away) > _NEAR:
        return _FUNCTION_SHARE
    return _NEAR_SHARE if min(away) else 1.0


def tests_share(before: float, after: float) -> float:
    """The share of the failed hidden tests that the fix gains, from the shares of tests passed
    ``before`` (below 1) and ``after``; 0 if it gains none.

    >>> tests_share(0.5, 0.75)
    0.5
    """
    return max(0.0, (after - before) / (1.0 - before))


def _of_object(text: str) -> Location | None:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    function, line = fields.get("function"), fields.get("line")
    if isinstance(line, str) and re.fullmatch("[0-9]{1,6}", line):
        line = int(line)
    if not isinstance(function, str) or type(line) is not int or not 0 <= line < 1_000_000:
        return None
    return Location(function.removesuffix("()"), line, str(fields.get("reason", "")))
