"""Intervals, as brackets or as inequalities of one variable."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from llmzoo.envs.math.answers.shapes import Many, Relation, Shape, Value, read

_VARIABLE = re.compile(r"(?:[A-Za-z]|\\[A-Za-z]+)\s?(?:_\s?(?:\{\w{1,10}\}|\w))?'*")
_TURNED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤"}


@dataclass(frozen=True, slots=True)
class Interval:
    """Ends as clean texts, such as ``1/2`` and ``∞``; ``variable`` is empty for brackets."""

    left: str
    right: str
    left_open: bool
    right_open: bool
    variable: str = ""


def interval(shape: Shape) -> Interval | None:
    """The interval that brackets or inequalities with the variable alone between them say."""
    if isinstance(shape, Relation) and shape.operators == ("∈",):
        inner = interval(read(shape.sides[1]))
        is_variable = _VARIABLE.fullmatch(shape.sides[0]) is not None
        return replace(inner, variable=shape.sides[0]) if inner and is_variable else None
    if isinstance(shape, Relation):
        return _of_relation(shape)
    if isinstance(shape, Many) and len(shape.items) == 2 and shape.kind[0] in "([":
        left, right = shape.items
        if isinstance(left, Value) and isinstance(right, Value):
            return Interval(left.text, right.text, shape.kind[0] == "(", shape.kind[1] == ")")
    return None


def _of_relation(relation: Relation) -> Interval | None:
    sides, operators = relation.sides, relation.operators
    if len(operators) == 1 and operators[0] in _TURNED:
        if _VARIABLE.fullmatch(sides[0]):
            variable, operator, end = sides[0], operators[0], sides[1]
        elif _VARIABLE.fullmatch(sides[1]):
            variable, operator, end = sides[1], _TURNED[operators[0]], sides[0]
        else:
            return None
        if _VARIABLE.fullmatch(end):
            return None
        if operator in "<≤":
            return Interval("-∞", end, True, operator == "<", variable)
        return Interval(end, "∞", operator == ">", True, variable)
    if len(operators) == 2 and _VARIABLE.fullmatch(sides[1]):
        if set(operators) <= {"<", "≤"}:
            left, right = (sides[0], operators[0]), (sides[2], operators[1])
        elif set(operators) <= {">", "≥"}:
            left, right = (sides[2], operators[1]), (sides[0], operators[0])
        else:
            return None
        return Interval(left[0], right[0], left[1] in "<>", right[1] in "<>", sides[1])
    return None
