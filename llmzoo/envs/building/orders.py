"""Reading orders from an answer: lines such as ``setblock 0 0 0 wood``.

A line is an order if its first word is a verb that the agent may use, after a list sign ("-", "3.") or a
slash. Other lines are ignored, so prose around the orders does not matter. An order with anything wrong
in it is refused as a whole; the others are carried out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.text import MalformedError, strip_markup, truncate

PASS, SAY = "pass", "say"

_LINE = re.compile(r"(?:[-*•][ \t]+|[0-9]{1,3}[.)][ \t]+)?/?([A-Za-z]+)(?![\w-])[ \t]*(.*)")
_NUMBER = re.compile(r"-?[0-9]{1,4}")

Reader = Callable[[str], Any]  # the rest of a line -> the order; raises Refused


class OrderRefused(ValueError):
    """An order that cannot be carried out; its text tells the agent why."""


@dataclass(frozen=True, slots=True)
class Orders:
    """``given``: the orders and their line numbers, from 1. ``refused``: what is wrong with each of the
    others. ``message``: what the agent says, "" for nothing."""

    given: tuple[tuple[int, Any], ...] = ()
    refused: tuple[str, ...] = ()
    message: str = ""


def parse_orders(
    text: str, readers: Mapping[str, Reader], *, most: int, message_chars: int
) -> Orders:
    """The orders of an answer. ``readers``: by verb. ``most``: orders that may be given; the others are
    refused. ``message_chars``: the longest message, 0 for none.

    ``pass`` is an order to do nothing. Raises :class:`MalformedError` for an answer of more than 20,000
    characters and for one without any order. The time is linear in the length of the text.
    """
    if len(text) > MAX_ACTION_CHARS:
        raise MalformedError(f"answer longer than {MAX_ACTION_CHARS} characters")
    given: list[tuple[int, Any]] = []
    refused: list[str] = []
    message, lines = "", 0
    for number, line in enumerate(text.splitlines(), start=1):
        match = _LINE.match(strip_markup(line).strip("`"))
        verb = match[1].lower() if match else ""
        if verb not in readers and verb != PASS and not (verb == SAY and message_chars):
            continue
        assert match is not None
        lines += 1
        rest = match[2].strip()
        try:
            if verb == SAY:
                message = _parse_message(rest, message, message_chars)
            elif verb == PASS:
                _reject_trailing_text(rest)
            elif len(given) >= most:
                raise OrderRefused(f"more than {most} orders")
            else:
                given.append((number, readers[verb](rest)))
        except OrderRefused as reason:
            refused.append(f"line {number}: {reason}")
    if not lines:
        raise MalformedError(f"no order in it; a line begins with {_join_verbs([*readers, PASS])}")
    return Orders(tuple(given), tuple(refused), message)


def parse_numbers(words: Sequence[str]) -> list[int]:
    """Whole numbers of at most four digits; raises :class:`OrderRefused` for anything else."""
    for word in words:
        if not _NUMBER.fullmatch(word):
            raise OrderRefused("a coordinate is a whole number such as 3")
    return [int(word) for word in words]


def check_coordinate(name: str, value: int, size: int) -> int:
    """``value`` if it is a coordinate from 0 to ``size - 1``; raises :class:`OrderRefused` otherwise."""
    if not 0 <= value < size:
        raise OrderRefused(f"{name} is from 0 to {size - 1}")
    return value


def summarize_orders(orders: Orders, most: int = 3) -> str:
    """What became of an answer, in words."""
    count = len(orders.given)
    summary = f"{count} order{'s' * (count != 1)} carried out"
    if not orders.refused:
        return summary
    more = len(orders.refused) - most
    reasons = "; ".join(orders.refused[:most]) + (f"; {more} more" if more > 0 else "")
    return f"{summary}, {len(orders.refused)} refused ({reasons})"


def _parse_message(rest: str, before: str, most: int) -> str:
    if before:
        raise OrderRefused("a second message")
    if not rest:
        raise OrderRefused("an empty message")
    if len(rest) > most:
        raise OrderRefused(f"a message of {len(rest)} characters, {most} are allowed")
    return rest


def _reject_trailing_text(rest: str) -> None:
    if rest:
        raise OrderRefused(f"pass stands alone, not before {truncate(repr(rest), 20)}")


def _join_verbs(verbs: Sequence[str]) -> str:
    return f"{', '.join(verbs[:-1])} or {verbs[-1]}"
