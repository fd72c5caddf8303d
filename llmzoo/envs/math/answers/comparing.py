"""Whether two answers that were read are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmzoo.envs.math.answers import expressions, units
from llmzoo.envs.math.answers.differences import subtract_points
from llmzoo.envs.math.answers.reading import (
    FLIPPED_OPERATORS,
    Answer,
    CompoundAnswer,
    Relation,
    Time,
    Value,
    Words,
    as_interval,
    is_name,
    name_of,
    parse_answer,
    strip_name,
)

_UNCOMPUTED = re.compile(r"\\(?:sum|prod|int|iint|lim|max|min|gcd|lcm|det|lfloor|lceil)|[«$]")
_FUNCTION_NAMES = ({"y", "f(x)"}, {"y", "g(x)"})  # two ways to name one function
_NUMERAL = re.compile(r"-?[\d.,]+")
_WORDED = re.compile(r"[A-Za-z]{2,}|(?=.*«)[\w\s«»:.,'-]+")
# sums of letters, which problems ask for: m + n
_OF_LETTERS = re.compile(r"[A-Za-z](?:\s*[-+*]?\s*[A-Za-z](?:_\w)?)*")
_DECIMAL = re.compile(r"-?\d*\.(\d{6,50})")
_MOST_PLACES = 50  # of a number that counts as a decimal
_BASED = re.compile(r"\(?([0-9A-Fa-f]+)\)?\s*_\s*\{?\s*«?(\d{1,2}|[a-z]{3,8})»?\s*\}?")
_BASES = {"two": "2", "three": "3", "four": "4", "five": "5", "six": "6", "seven": "7"}
_BASES |= {"eight": "8", "nine": "9", "ten": "10", "twelve": "12", "sixteen": "16"}
_SINGLE = re.compile(r"(.*\d\S{0,3})\s{1,6}([A-Za-z](?: ?\^ ?\{?[23]\}?| ?/ ?[a-z])?)")
_CAPITALS = re.compile(r"[A-Z]{2,}")


def same_answer(gold: Answer, given: Answer) -> bool:
    """Whether ``given`` is the answer ``gold``. Raises ``AnswerParseError``."""
    if _words(gold) and _words(gold) == _words(given):
        return True
    if isinstance(gold, Time) and isinstance(given, Time):
        return _same_time(gold, given)
    gold, given = subtract_points(gold), subtract_points(given)
    ours, theirs = as_interval(gold), as_interval(given)
    if (
        isinstance(gold, Relation)
        and isinstance(given, Relation)
        and Relation in (type(ours), type(theirs))
    ):
        return _same_relation(gold, given)
    gold, given = ours, theirs
    if isinstance(given, Relation):
        return _states_answer(given) and same_answer(gold, parse_answer(given.sides[-1]))
    if isinstance(gold, Relation):  # an assignment, or a chain, which ends in its answer
        gives = set(gold.operators) == {"="} and (len(gold.operators) > 1 or name_of(gold))
        return bool(gives) and same_answer(parse_answer(gold.sides[-1]), given)
    if isinstance(gold, CompoundAnswer) and isinstance(given, CompoundAnswer):
        return _same_compound(gold, given)
    if isinstance(gold, CompoundAnswer) and gold.kind in (
        "set",
        "list",
    ):  # one value, spelled twice
        return isinstance(given, Value) and all(same_answer(item, given) for item in gold.items)
    if isinstance(given, CompoundAnswer) and given.kind == "set":
        return len(given.items) == 1 and same_answer(gold, given.items[0])
    gold, given = _quotient(gold), _quotient(given)
    return isinstance(gold, Value) and isinstance(given, Value) and _same_value(gold, given)


def _words(answer: Answer) -> str:
    """The letters and digits of an answer in words, such as ``June 20``; "" for others."""
    text = answer.text if isinstance(answer, Words) else ""
    if isinstance(answer, Value) and _WORDED.fullmatch(answer.text):
        text = answer.text + answer.unit
    return "".join(c for c in text.casefold() if c.isalnum())


def _quotient(answer: Answer) -> Answer:
    """A ratio of two numbers as a quotient; other answers unchanged."""
    if isinstance(answer, CompoundAnswer) and answer.kind == "ratio" and len(answer.items) == 2:
        return Value("/".join(f"({_text(item)})" for item in answer.items))
    return answer


def _text(item: Answer) -> str:
    assert isinstance(item, (Value, Words))  # the parts of a ratio
    return item.text


def _same_time(gold: Time, given: Time) -> bool:
    """Whether two times of day are the same. If one has no half of the day, they are compared as written."""
    ours, theirs = _minutes(gold), _minutes(given)
    if ours is None or theirs is None:
        return (gold.hour, gold.minute) == (given.hour, given.minute)
    return ours == theirs


def _minutes(time: Time) -> int | None:
    """Minutes since midnight; None if the half of the day is unknown."""
    if time.half and 0 < time.hour < 13:
        return (time.hour % 12 + 12 * (time.half == "p")) * 60 + time.minute
    return time.hour * 60 + time.minute if time.hour > 12 else None


# Values


def is_number(answer: Answer) -> bool:
    """Whether an answer is a number, with or without a unit."""
    return isinstance(answer, Value) and expressions.evaluate(_with_unit(answer).text) is not None


def _same_value(gold: Value, given: Value) -> bool:
    if gold.unit or given.unit:
        gold = _with_unit(gold)
    if "∞" in gold.text + given.text:
        return gold.text.replace(" ", "") == given.text.replace(" ", "")
    number = expressions.evaluate(gold.text)
    if number is not None:
        given = _with_unit(given)
    if _units_conflict(gold, given):
        return False
    if gold.text == given.text and gold.percent == given.percent:
        return True
    if _CAPITALS.fullmatch(gold.text):
        return False  # a word, or points in their order
    based = _BASED.fullmatch(gold.text)
    if based and not based[1].isalpha():
        return _same_digits(based, given.text)
    if given.unit == "°" and not gold.unit and "π" in gold.text:
        given = Value(f"({given.text})*π/180")
    other = expressions.evaluate(given.text)
    if gold.percent != given.percent and number is not None and other is not None:
        ours = number / 100 if gold.percent else number
        theirs = other / 100 if given.percent else other
        if expressions.is_close(ours, theirs):
            return True
    return (
        expressions.same_value(gold.text, given.text)
        or _is_approximation(gold.text, given.text)
        or _is_approximation(given.text, gold.text)
    )


def _units_conflict(gold: Value, given: Value) -> bool:
    """Whether both have units that differ. Other words after a number name what is counted."""
    ours = units.parse_unit(gold.unit)
    return ours is not None and bool(given.unit) and ours != units.parse_unit(given.unit)


def _with_unit(value: Value) -> Value:
    """``5 m`` as five metres, not as a product."""
    match = _SINGLE.fullmatch(value.text)
    if match is None or value.unit or match[2][0] not in units.SINGLE_LETTERS:
        return value
    return Value(match[1], value.percent, match[2])


def _same_digits(gold: re.Match[str], given: str) -> bool:
    """Whether digits in another base than ten, such as ``531_8``, are the same; ``given`` may omit the base."""
    based = _BASED.fullmatch(given)
    if based is None:
        return given.casefold() == gold[1].casefold()
    one, other = (_BASES.get(match[2], match[2]) for match in (gold, based))
    return one == other and gold[1].casefold() == based[1].casefold()


def _is_approximation(decimal: str, exact: str) -> bool:
    """Whether ``decimal`` rounds or truncates ``exact`` to six digits or more after the point. An exact
    number that is a decimal itself has no approximations."""
    match = _DECIMAL.fullmatch(decimal)
    number = expressions.evaluate(exact) if match else None
    if match is None or number is None or not expressions.is_real(number):
        return False
    if expressions.is_decimal(number.real, _MOST_PLACES):
        return False
    shown, scaled = int(decimal.replace(".", "")), number.real * 10 ** len(match[1])
    return shown in (int(scaled), int(scaled + (0.5 if shown > 0 else -0.5)))


# Relations


def _states_answer(relation: Relation) -> bool:
    """Whether an equation gives its last side as an answer: it starts with a name, or all of its sides
    are equal.

    Steps that cannot be computed, such as sums, count as equal.
    """
    if set(relation.operators) != {"="}:
        return False
    first, *steps, last = relation.sides
    if is_name(first) or _OF_LETTERS.fullmatch(first):
        # work on the way may be wrong, the last side counts
        is_work = not all(map(_NUMERAL.fullmatch, steps))
        return all(
            (is_work and expressions.evaluate(step) is not None)
            or expressions.same_value(step, last)
            for step in steps
        )
    return expressions.is_expression(last) and all(
        expressions.same_value(step, last) or _UNCOMPUTED.search(step) for step in (first, *steps)
    )


def _same_relation(gold: Relation, given: Relation) -> bool:
    if gold == given:
        return True
    if name_of(gold) and name_of(given):
        names = {name_of(gold), name_of(given)}
        if len(names) == 1 or names in _FUNCTION_NAMES:
            return _states_answer(given) and same_answer(strip_name(gold), strip_name(given))
    if len(gold.operators) > 1 or len(given.operators) > 1:
        return False
    sides, other_sides = (gold.sides[0], gold.sides[1]), (given.sides[0], given.sides[1])
    factor = expressions.factor_between(sides, other_sides)
    operator = gold.operators[0] if factor > 0 else FLIPPED_OPERATORS[gold.operators[0]]
    return factor != 0 and given.operators[0] == operator


# Several answers


def _same_compound(gold: CompoundAnswer, given: CompoundAnswer) -> bool:
    ours, theirs = gold.items, given.items
    kinds = {gold.kind, given.kind}
    names = {gold.name, given.name} - {""}
    if len(ours) != len(theirs) or len(names) > 1 or (names and len(kinds) > 1):
        return False
    if "ratio" in kinds:
        return kinds == {"ratio"} and _are_proportional(ours, theirs)
    if gold.kind == "list" and given.kind == "[]":
        return _match_in_any_order(ours, theirs)  # as programs print lists
    brackets = kinds - {"list", "set", "union"}
    if len(brackets) == 2 or (brackets and kinds - {"()", "list"} and len(kinds) == 2):
        return False  # (0, 1) and [0, 1], a pair and a set
    if brackets:
        return _match_in_order(ours, theirs)
    assigned, others = list(map(name_of, ours)), list(map(name_of, theirs))
    if all(assigned) and len(set(assigned)) == len(assigned):
        if not any(others):
            return _match_in_order(ours, theirs)
        if all(others):
            return sorted(assigned) == sorted(others) and _match_in_order(
                sorted(ours, key=name_of), sorted(theirs, key=name_of)
            )
    return _match_in_any_order(ours, theirs)


def _match_in_order(gold: Sequence[Answer], given: Sequence[Answer]) -> bool:
    return all(same_answer(strip_name(g), strip_name(a)) for g, a in zip(gold, given, strict=True))


def _match_in_any_order(gold: Sequence[Answer], given: Sequence[Answer]) -> bool:
    left = list(given)
    for item in gold:
        match = next((i for i, other in enumerate(left) if same_answer(item, other)), None)
        if match is None:
            return False
        del left[match]
    return True


def _are_proportional(gold: Sequence[Answer], given: Sequence[Answer]) -> bool:
    for a, b in zip(gold, given, strict=True):
        if isinstance(a, Value) and isinstance(b, Value) and _units_conflict(a, b):
            return False
    ours, theirs = ([expressions.evaluate(_text(item)) for item in many] for many in (gold, given))
    if None in ours or None in theirs or 0 in ours or 0 in theirs:
        return False
    first, other = ours[0], theirs[0]
    return all(
        expressions.is_close(a * other, b * first) for a, b in zip(ours, theirs, strict=True)
    )
