"""Whether two shapes are the same answer: yes, no, or not decided here.

A question that is left open goes to ``ask(gold, given)``, two clean texts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmzoo.envs.math.answers import arithmetic, expressions, shapes
from llmzoo.envs.math.answers.amounts import Ask, conflict, same_value
from llmzoo.envs.math.answers.intervals import Interval, interval
from llmzoo.envs.math.answers.shapes import Many, Matrix, Relation, Shape, Time, Value, Words
from llmzoo.envs.math.answers.spelling import spelled

_SET = re.compile(r"\\(?:setminus|emptyset|mathbb|cap)|^[A-Z]$|[<>≤≥≠|]")
_UNCOMPUTED = re.compile(r"\\(?:sum|prod|int|iint|lim|max|min|gcd|lcm|det|lfloor|lceil)|[«$]")
_TURNED = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≠": "≠"}
_FUNCTION_NAMES = ({"y", "f(x)"}, {"y", "g(x)"})  # two ways to name one function
_NUMERAL = re.compile(r"-?[\d.,]+")
_WORDED = re.compile(r"[A-Za-z]{2,}|(?=.*«)[\w\s«»:.,'-]+")


def same_shape(gold: Shape, given: Shape, ask: Ask) -> bool:
    """Whether ``given`` is the answer ``gold``. Raises ``TooLarge`` and ``NoShape``."""
    if _words(gold) and _words(gold) == _words(given):
        return True
    if isinstance(gold, Value) and isinstance(given, Value):
        return same_value(gold, given, ask)
    if isinstance(gold, Time) and isinstance(given, Time):
        return _same_time(gold, given)
    if isinstance(gold, Matrix) or isinstance(given, Matrix):
        return _same_matrix(gold, given, ask)
    ours, theirs = interval(gold), interval(given)
    if ours is not None and theirs is not None:
        return _same_interval(ours, theirs, ask)
    if _is_member(gold) or _is_member(given):
        return _same_membership(gold, given, ask)
    if isinstance(gold, Relation) and isinstance(given, Relation):
        return _same_relation(gold, given, ask)
    if (_is_composed(gold) and _is_region(given)) or (_is_composed(given) and _is_region(gold)):
        if isinstance(gold, Many) and isinstance(given, Many) and _same_many(gold, given, ask):
            return True
        return ask(spelled(gold), spelled(given))
    if isinstance(given, Relation) and set(given.operators) == {"="}:
        return _gives(given) and same_shape(gold, shapes.read(given.sides[-1]), ask)
    if isinstance(gold, Relation) and (shapes.is_assignment(gold) or _is_chain(gold)):
        return same_shape(shapes.read(gold.sides[-1]), given, ask)
    if isinstance(gold, Many) and isinstance(given, Many):
        return _same_many(gold, given, ask)
    if isinstance(gold, Many) and _is_fraction(gold) and isinstance(given, Value):
        return same_value(_as_fraction(gold), given, _never)
    if isinstance(given, Many) and _is_fraction(given) and isinstance(gold, Value):
        return same_value(gold, _as_fraction(given), _never)
    if isinstance(gold, Many) and gold.kind in ("set", "list") and isinstance(given, Value):
        return all(same_shape(item, given, ask) for item in gold.items)  # one value, spelled twice
    if isinstance(given, Many) and given.kind == "set" and isinstance(gold, Value):
        return len(given.items) == 1 and same_shape(gold, given.items[0], ask)
    inequality, other = (gold, theirs) if isinstance(gold, Relation) else (given, ours)
    if isinstance(inequality, Relation) and other is not None:  # such as |x| < 2
        return ask(spelled(gold), spelled(given))
    return False


def _is_member(shape: Shape) -> bool:
    return isinstance(shape, Relation) and shape.operators == ("∈",)


def _same_membership(gold: Shape, given: Shape, ask: Ask) -> bool:
    """``x ∈ A`` and the set ``A``, whose elements must have one name where both name them."""
    names: list[str] = []
    sets: list[Shape] = []
    for shape in (gold, given):
        if isinstance(shape, Relation) and _is_member(shape):
            if not shapes.is_name(shape.sides[0]):
                return spelled(gold) == spelled(given)
            names.append(shapes.name_of(shape))
            shape = shapes.read(shape.sides[1])
        sets.append(shape)
    if not all(map(_is_set, sets)):
        return False
    return len(set(names)) == 1 and same_shape(sets[0], sets[1], ask)


def _is_set(shape: Shape) -> bool:
    if isinstance(shape, Many):
        return shape.kind not in ("list", "ratio")
    return isinstance(shape, (Value, Relation)) and _SET.search(spelled(shape)) is not None


def _gives(relation: Relation) -> bool:
    """Whether an equation says what its last side is: of a name, or by steps that are all right.

    A step that is not computed here, such as a sum or an amount of men, counts as right.
    """
    first, *steps, last = relation.sides
    if shapes.is_asked_for(first):  # work on the way may be wrong, the last side counts
        is_work = not all(map(_NUMERAL.fullmatch, steps))
        return all(
            (is_work and expressions.value(step) is not None) or expressions.same_value(step, last)
            for step in steps
        )
    steps = [first, *steps]
    return expressions.at_points(last) is not None and all(
        expressions.same_value(step, last)
        or (_UNCOMPUTED.search(step) and expressions.at_points(step) is None)
        for step in steps
    )


def _same_time(gold: Time, given: Time) -> bool:
    """Whether times of day are one; where the half of the day is left out, as they are written."""
    ours, theirs = _minutes(gold), _minutes(given)
    if gold.second != given.second:
        return False
    if ours is None or theirs is None:
        return (gold.hour, gold.minute) == (given.hour, given.minute)
    return ours == theirs


def _minutes(time: Time) -> int | None:
    """Since midnight; None where that is not said."""
    if time.half and 0 < time.hour < 13:
        return (time.hour % 12 + 12 * (time.half == "p")) * 60 + time.minute
    return time.hour * 60 + time.minute if time.hour > 12 else None


def _is_composed(shape: Shape) -> bool:
    r"""A union, or a difference such as ``[0, 2] \setminus \{1\}``."""
    if isinstance(shape, Many):
        return shape.kind == "union"
    return isinstance(shape, Value) and r"\setminus" in shape.text


def _is_region(shape: Shape) -> bool:
    return isinstance(shape, (Many, Relation)) or _is_composed(shape)


def _is_chain(relation: Relation) -> bool:
    """``a = b = c``, which ends in its answer."""
    return len(relation.operators) > 1 and set(relation.operators) == {"="}


def _words(shape: Shape) -> str:
    """The letters and digits of an answer in words, such as ``June 20``; "" for others."""
    if isinstance(shape, Words):
        text = shape.text
    elif isinstance(shape, Value) and _WORDED.fullmatch(shape.text):
        text = shape.text + shape.unit
    else:
        return ""
    return "".join(c for c in text.casefold() if c.isalnum())


def _is_fraction(many: Many) -> bool:
    return many.kind == "ratio" and len(many.items) == 2


def _as_fraction(ratio: Many) -> Value:
    sides = [spelled(item) for item in ratio.items]
    return Value("/".join(f"({side})" for side in sides))


def _same_many(gold: Many, given: Many, ask: Ask) -> bool:
    ours, theirs = gold.items, given.items
    kinds = {gold.kind, given.kind}
    if "ratio" in kinds:
        return kinds == {"ratio"} and _same_ratio(gold, given)
    if len(ours) != len(theirs):
        return False
    brackets = kinds - {"list", "set", "union"}
    if gold.kind == "list" and given.kind == "[]":
        return _in_any_order(ours, theirs, ask)  # as programs print lists
    if len(brackets) == 2 or (brackets and kinds - {"()", "list"} and len(kinds) == 2):
        return False  # (0, 1) and [0, 1], a pair and a set
    if brackets:
        return _in_order(tuple(map(shapes.bare, ours)), tuple(map(shapes.bare, theirs)), ask)
    names, other_names = _names(ours), _names(theirs)
    if names and other_names and len(set(names)) == len(names):
        return sorted(names) == sorted(other_names) and _in_order(
            _sorted(ours), _sorted(theirs), ask
        )
    if names and len(set(names)) == len(names) and not other_names:
        return _in_order(tuple(map(shapes.bare, ours)), theirs, ask)
    return _in_any_order(ours, theirs, ask)


def _names(items: Sequence[Shape]) -> list[str]:
    """The names before the equality signs, where all items have one."""
    if not all(shapes.is_assignment(item) for item in items):
        return []
    return [shapes.name_of(item) for item in items if isinstance(item, Relation)]


def _sorted(items: Sequence[Shape]) -> tuple[Shape, ...]:
    return tuple(sorted(items, key=lambda i: shapes.name_of(i) if isinstance(i, Relation) else ""))


def _in_order(gold: Sequence[Shape], given: Sequence[Shape], ask: Ask) -> bool:
    return all(same_shape(g, a, ask) for g, a in zip(gold, given, strict=True))


def _in_any_order(gold: Sequence[Shape], given: Sequence[Shape], ask: Ask) -> bool:
    left = list(given)
    for item in gold:
        found = next((i for i, other in enumerate(left) if same_shape(item, other, _never)), None)
        if found is None:
            found = next((i for i, other in enumerate(left) if same_shape(item, other, ask)), None)
        if found is None:
            return False
        del left[found]
    return True


def _never(gold: str, given: str) -> bool:
    return False


def _same_ratio(gold: Many, given: Many) -> bool:
    """Whether the parts are proportional."""
    if len(gold.items) != len(given.items):
        return False
    for a, b in zip(gold.items, given.items, strict=True):
        if isinstance(a, Value) and isinstance(b, Value) and conflict(a, b):
            return False
    ours, theirs = (
        [expressions.value(spelled(item)) for item in many.items] for many in (gold, given)
    )
    if any(part is None or arithmetic.is_zero(part) for part in (*ours, *theirs)):
        return False
    return all(
        arithmetic.close(arithmetic.times(a, theirs[0]), arithmetic.times(b, ours[0]))
        for a, b in zip(ours, theirs, strict=True)
    )


def _same_matrix(gold: Shape, given: Shape, ask: Ask) -> bool:
    gold, given = _as_matrix(shapes.bare(gold)), _as_matrix(shapes.bare(given))
    if not isinstance(gold, Matrix) or not isinstance(given, Matrix):
        # such as a sum of matrices
        return (
            isinstance(given, Value) and "\\" in given.text and ask(spelled(gold), spelled(given))
        )
    if [len(row) for row in gold.rows] != [len(row) for row in given.rows]:
        return False
    ours = [shapes.read(cell) for row in gold.rows for cell in row]
    theirs = [shapes.read(cell) for row in given.rows for cell in row]
    return _in_order(ours, theirs, ask)


def _as_matrix(shape: Shape) -> Shape:
    """A list of lists, as programs print it, as a matrix, and a tuple as its only column."""
    if isinstance(shape, Many) and shape.kind == "()":
        return Matrix(tuple((spelled(item),) for item in shape.items))
    if not isinstance(shape, Many) or shape.kind != "[]":
        return shape
    rows = [i.items for i in shape.items if isinstance(i, Many) and i.kind == "[]"]
    if len(rows) != len(shape.items):
        return shape
    return Matrix(tuple(tuple(map(spelled, row)) for row in rows))


def _same_relation(gold: Relation, given: Relation, ask: Ask) -> bool:
    if shapes.is_assignment(gold) and shapes.is_assignment(given):
        names = {shapes.name_of(gold), shapes.name_of(given)}
        if len(names) == 1 or names in _FUNCTION_NAMES:
            return _gives(given) and same_shape(shapes.bare(gold), shapes.bare(given), ask)
    if len(gold.operators) == len(given.operators) == 1:
        factor = expressions.same_equation(_sides(gold), _sides(given))
        if factor is not None:
            wanted = gold.operators[0]
            operator = wanted if factor > 0 else _TURNED[wanted]
            return factor != 0 and given.operators[0] == operator
    return ask(spelled(gold), spelled(given))


def _sides(relation: Relation) -> tuple[str, str]:
    return relation.sides[0], relation.sides[1]


def _same_interval(gold: Interval, given: Interval, ask: Ask) -> bool:
    if gold.variable and given.variable and gold.variable != given.variable:
        return False
    return (
        gold.left_open == given.left_open
        and gold.right_open == given.right_open
        and _same_end(gold.left, given.left, ask)
        and _same_end(gold.right, given.right, ask)
    )


def _same_end(gold: str, given: str, ask: Ask) -> bool:
    if "∞" in gold or "∞" in given:
        return gold.replace("+", "").replace(" ", "") == given.replace("+", "").replace(" ", "")
    return same_shape(shapes.read(gold), shapes.read(given), ask)
