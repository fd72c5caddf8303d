"""Whether two equations or inequalities say the same."""

from __future__ import annotations

from llmzoo.envs.math.answers.amounts import read
from llmzoo.envs.math.answers.polynomials import Beyond, Quotient, equal, number
from llmzoo.envs.math.answers.shapes import Relation

_TURNED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≠": "≠"}


def same_sides(gold: Relation, given: Relation) -> bool | None:
    """Whether two relations of two sides are one, up to a factor and the order of the sides; None
    where that does not decide."""
    ours, theirs = _difference(gold), _difference(given)
    if ours is None or theirs is None or not ours.top or not theirs.top:
        return None
    try:
        factor = (ours / theirs).rational()
    except Beyond:
        return None
    if factor is None:
        term = next(iter(theirs.top))
        if ours.bottom == theirs.bottom and term in ours.top:
            factor = ours.top[term] / theirs.top[term]
            if equal(ours, theirs * number(factor)) is not True:
                factor = None
    if factor is None:
        certain = ours.is_certain() and theirs.is_certain()
        return False if certain and _is_linear(ours) and _is_linear(theirs) else None
    wanted = gold.operators[0]
    return given.operators[0] == (wanted if factor > 0 else _TURNED[wanted])


def _is_linear(side: Quotient) -> bool:
    """Whether every variable stands alone in its term, to the first power."""
    variables = side.variables()
    if len(side.bottom) != 1 or () not in side.bottom:
        return False
    for term in side.top:
        powers = [e for a, e in term if a in variables]
        if len(powers) > 1 or any(e != 1 for e in powers):
            return False
    return True


def _difference(relation: Relation) -> Quotient | None:
    left, right = read(relation.sides[0]), read(relation.sides[1])
    if left is None or right is None:
        return None
    try:
        return left - right
    except Beyond:
        return None
