r"""Writes an interval without some of its points as a union: ``(0,36)\setminus\{9\}`` is
``(0,9)\cup(9,36)``."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from llmzoo.envs.math.answers import expressions
from llmzoo.envs.math.answers.reading import Answer, CompoundAnswer, Value

_INTERVALS = ("()", "(]", "[)", "[]")
_ENDLESS = {"∞": math.inf, "+∞": math.inf, "-∞": -math.inf}


def subtract_points(answer: Answer) -> Answer:
    """A difference of intervals and a set of numbers as the intervals that remain; all other answers
    unchanged."""
    if not isinstance(answer, CompoundAnswer) or answer.kind != "difference":
        return answer
    first, *taken = answer.items
    pieces = (
        list(first.items)
        if isinstance(first, CompoundAnswer) and first.kind == "union"
        else [first]
    )
    points = [point for part in taken for point in _points(part)]
    if not points or not all(map(_is_interval, pieces)):
        return answer
    for point in points:
        pieces = [part for piece in pieces for part in _remove_point(piece, point)]
    if not pieces:
        return answer
    name = first.name if isinstance(first, CompoundAnswer) else ""
    if len(pieces) == 1 and isinstance(pieces[0], CompoundAnswer):
        return replace(pieces[0], name=answer.name or name)
    return CompoundAnswer("union", tuple(pieces), answer.name or name)


def _points(answer: Answer) -> tuple[Answer, ...]:
    """The numbers of a set; none where a member is no real number."""
    if not isinstance(answer, CompoundAnswer) or answer.kind != "set":
        return ()
    return answer.items if all(_number(item) is not None for item in answer.items) else ()


def _is_interval(answer: Answer) -> bool:
    return (
        isinstance(answer, CompoundAnswer)
        and answer.kind in _INTERVALS
        and len(answer.items) == 2
        and None not in map(_number, answer.items)
    )


def _number(answer: Answer) -> Any:
    """The real number that an answer spells, or an infinity; else None."""
    if not isinstance(answer, Value) or answer.percent or answer.unit:
        return None
    text = answer.text.replace(" ", "")
    if text in _ENDLESS:
        return _ENDLESS[text]
    number = expressions.evaluate(answer.text)
    return number.real if number is not None and expressions.is_real(number) else None


def _remove_point(piece: Answer, point: Answer) -> list[Answer]:
    """What remains of an interval without a point."""
    assert isinstance(piece, CompoundAnswer)
    opening, closing = piece.kind[0], piece.kind[1]
    low, high = piece.items
    at, start, end = map(_number, (point, low, high))
    at_start, at_end = _same(at, start), _same(at, end)
    if at_start or at_end:
        kind = ("(" if at_start else opening) + (")" if at_end else closing)
        return [replace(piece, kind=kind)]
    if not start < at < end:
        return [piece]
    return [
        CompoundAnswer(f"{opening})", (low, point)),
        CompoundAnswer(f"({closing}", (point, high)),
    ]


def _same(one: Any, other: Any) -> bool:
    return not math.isinf(other) and expressions.is_close(one, other)
