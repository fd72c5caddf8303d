"""Reads a clean text as a value, several answers, a time, a relation or words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from llmzoo.envs.math.answers.cleaning import NEW_ROW
from llmzoo.envs.math.answers.units import MULTIPLES, NO_UNITS, VALUE_CHANGING_WORDS, parse_unit

_DEEPEST = 6
_MOST_ITEMS = 60
_OPENING, _CLOSING = "([{", ")]}"
_SIGNS = re.compile(r"\\[{}]|[=≠≤≥<>≈∈]|.", re.DOTALL)
_MATRIX = re.compile(
    r"\\begin\s*\{([bpvBV]?matrix|array)\}(?:\s*\{[lcr|]+\})?((?:(?!\\begin).)*?)\\end\s*\{\1\}"
)
_WORD = re.compile(r"«([^«»]*)»")
_UNIT_TAIL = re.compile(r"\s*(?:(?:«[^«»]*»|°)\s*(?:\^\s*\{?\s*[23]\s*\}?)?[\s./*]*)+")
_CALL = re.compile(
    r"«[^«»]*»|[A-Za-zα-ωΑ-Ω]\s?\([^()=]{0,40}\)|_\s?(?:\{[^{}]{1,40}\}|\w)|\^\{-1\}"
)
_NAME = re.compile(r"[\sA-Za-zα-ωΑ-Ω\\|{}():,'/]+")
_VARIABLE = re.compile(r"(?:[A-Za-z]|\\[A-Za-z]+)\s?(?:_\s?(?:\{\w{1,10}\}|\w))?'*")
_CONDITION = re.compile(r"\s*[A-Za-z]\s*(?:∈[^|:]{1,40})?[|:]")  # as of {x | x > 3}
_FUNCTION = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)")  # of an angle in degrees
_TIME = re.compile(r"(\d{1,2}):([0-5]\d)(?::00)?(?: ?«([apAP])m»)?")
_LETTERS = re.compile(r"[A-Za-z ]+")
_CURRENCIES = ("$", "€", "£", "¥", "₹")
FLIPPED_OPERATORS = {"<": ">", ">": "<", "≤": "≥", "≥": "≤", "=": "=", "≠": "≠", "∈": "∈"}


@dataclass(frozen=True, slots=True)
class Value:
    """An expression, with its percent sign and the unit written after it."""

    text: str
    percent: bool = False
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    text: str


@dataclass(frozen=True, slots=True)
class CompoundAnswer:
    """Several answers.

    kind: "list" (without brackets), "set", "union", "difference" (of sets), "ratio", "matrix" (of rows),
        or a pair of brackets such as "()" or "[)".
    name: the variable in ``x ∈ ...``.
    """

    kind: str
    items: tuple[Answer, ...]
    name: str = ""


@dataclass(frozen=True, slots=True)
class Relation:
    """``sides[0] operators[0] sides[1] ...``"""

    sides: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day as written; ``half`` is "a", "p" or ""."""

    hour: int
    minute: int
    half: str


Answer = Value | Words | CompoundAnswer | Relation | Time


class AnswerParseError(ValueError):
    """A text of too many brackets or parts, or with an empty one."""


def parse_answer(text: str, depth: int = 0) -> Answer:
    """The answer in a clean text. Raises :class:`AnswerParseError`."""
    text = text.strip().strip(",;").strip()
    if depth > _DEEPEST or not text:
        raise AnswerParseError
    matrix = _MATRIX.fullmatch(text)
    if matrix:
        rows = [row.split("&") for row in matrix[2].split(NEW_ROW) if row.strip()]
        return _matrix(tuple(_parse_items(row, "[]", depth) for row in rows))
    if "∓" not in text:
        groups = split_outside_brackets(text, ";")
        if len(groups) > 1:
            return _group_assignments(_parse_items(groups, "list", depth).items)
        parts = split_outside_brackets(text, ",")
        if len(parts) > 1:
            return CompoundAnswer(
                "list", _flatten(_drop_shared_name(_parse_items(parts, "list", depth).items))
            )
    if "∓" in text or ("±" in text and not text.startswith(r"\{")):
        both = text.replace("±", "+").replace("∓", "-"), text.replace("±", "-").replace("∓", "+")
        return CompoundAnswer("list", _flatten(_parse_items(both, "list", depth).items))
    relation = _parse_relation(text, depth)
    if relation is not None:
        return relation
    for sign, kind in (("∖", "difference"), ("∪", "union")):
        pieces = split_outside_brackets(text, sign)
        if len(pieces) > 1:
            return _parse_items(pieces, kind, depth)
    time = _TIME.fullmatch(text)
    if time and int(time[1]) < 24:
        return Time(int(time[1]), int(time[2]), (time[3] or "").lower())
    ratio = split_outside_brackets(text, ":")
    if len(ratio) > 1:
        return CompoundAnswer("ratio", tuple(_parse_leaf(part) for part in ratio))
    return _parse_bracket(text, depth) or _parse_leaf(text)


def _parse_items(texts: list[str] | tuple[str, ...], kind: str, depth: int) -> CompoundAnswer:
    return CompoundAnswer(kind, tuple(parse_answer(text, depth + 1) for text in texts))


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """The parts of ``text`` between separators outside all brackets."""
    if separator not in text:
        return [text]
    parts, start = [], 0
    for at, sign in _chars_outside_brackets(text):
        if sign == separator:
            parts.append(text[start:at])
            start = at + 1
    parts = [part.strip() for part in (*parts, text[start:])]
    if len(parts) > _MOST_ITEMS:
        raise AnswerParseError
    return parts


def _chars_outside_brackets(text: str) -> Iterator[tuple[int, str]]:
    """The characters of ``text`` outside all brackets, each with its position."""
    depth = 0
    for match in _SIGNS.finditer(text):
        sign = match[0][-1]  # of a bracket with a backslash too
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif depth <= 0:
            yield match.start(), sign


def is_name(text: str) -> bool:
    """Whether the left side of an equation only names a quantity: ``x``, ``f(x)``, ``|AB|``, ``a_n``."""
    if any(
        word[:1].lower() + word[1:] in VALUE_CHANGING_WORDS for word in re.findall(r"\w+", text)
    ):
        return False
    return any(c.isalpha() for c in text) and _NAME.fullmatch(_CALL.sub("x", text)) is not None


def name_of(answer: Answer) -> str:
    """The left side of an assignment such as ``x = 5``; "" for other answers."""
    if isinstance(answer, Relation) and set(answer.operators) == {"="} and is_name(answer.sides[0]):
        return re.sub(r"[\s{}]", "", answer.sides[0])
    return ""


def strip_name(answer: Answer) -> Answer:
    """The value of an assignment such as ``x = 5``; other answers unchanged."""
    if isinstance(answer, Relation) and name_of(answer):
        return parse_answer(answer.sides[-1], _DEEPEST - 2)
    return answer


def as_interval(answer: Answer) -> Answer:
    """An inequality with a lone variable on one side or in the middle as an interval; other answers
    unchanged."""
    if not isinstance(answer, Relation):
        return answer
    sides, operators = answer.sides, answer.operators
    if len(sides) == 2 and _VARIABLE.fullmatch(sides[1]) and operators[0] in FLIPPED_OPERATORS:
        sides, operators = sides[::-1], (FLIPPED_OPERATORS[operators[0]],)
    if len(sides) == 3 and set(operators) <= {">", "≥"}:
        sides, operators = (
            sides[::-1],
            tuple(FLIPPED_OPERATORS[operator] for operator in operators[::-1]),
        )
    if len(sides) == 3 and _VARIABLE.fullmatch(sides[1]) and set(operators) <= {"<", "≤"}:
        ends, name = (sides[0], sides[2]), sides[1]
        kind = ("(" if operators[0] == "<" else "[") + (")" if operators[1] == "<" else "]")
    elif len(sides) == 2 and _VARIABLE.fullmatch(sides[0]) and not _VARIABLE.fullmatch(sides[1]):
        kinds = {"<": "()", "≤": "(]", ">": "()", "≥": "[)"}
        if operators[0] not in kinds:
            return answer
        kind, name = kinds[operators[0]], sides[0]
        ends = ("-∞", sides[1]) if operators[0] in "<≤" else (sides[1], "∞")
    else:
        return answer
    return CompoundAnswer(kind, tuple(parse_answer(end, _DEEPEST - 2) for end in ends), name)


def _flatten(items: tuple[Answer, ...]) -> tuple[Answer, ...]:
    """Lists within lists, as of ``±1, ±2``, become one."""
    flat: list[Answer] = []
    for item in items:
        flat += item.items if isinstance(item, CompoundAnswer) and item.kind == "list" else (item,)
    return tuple(flat)


def _drop_shared_name(items: tuple[Answer, ...]) -> tuple[Answer, ...]:
    """``n = 1, 2, 3`` without the name, which all values share."""
    if name_of(items[0]) and not any(isinstance(item, Relation) for item in items[1:]):
        return (strip_name(items[0]), *items[1:])
    return items


def _group_assignments(groups: tuple[Answer, ...]) -> CompoundAnswer:
    """``x = 1, y = 2; x = 3, y = 4`` is a list of tuples; ``1, 2; 3`` a list."""
    lists = [
        group for group in groups if isinstance(group, CompoundAnswer) and group.kind == "list"
    ]
    names = {tuple(map(name_of, group.items)) for group in lists}
    if len(lists) == len(groups) and len(names) == 1 and len(set(*names)) > 1:
        return CompoundAnswer(
            "list",
            tuple(CompoundAnswer("()", tuple(map(strip_name, group.items))) for group in lists),
        )
    return CompoundAnswer("list", _drop_shared_name(_flatten(groups)))


def _matrix(rows: tuple[CompoundAnswer, ...]) -> CompoundAnswer:
    """Rows as a matrix; a single column is a tuple."""
    if len(rows) > 1 and all(len(row.items) == 1 for row in rows):
        return CompoundAnswer("()", tuple(row.items[0] for row in rows))
    return CompoundAnswer("matrix", rows)


def _parse_relation(text: str, depth: int) -> Answer | None:
    sides, operators, start = [], [], 0
    for at, sign in _chars_outside_brackets(text):
        if sign in "=≠≤≥<>≈∈":
            sides.append(text[start:at].strip())
            operators.append(sign)
            start = at + 1
    if not operators:
        return None
    sides.append(text[start:].strip())
    if not sides[0] and operators[0] in "=≈∈":
        sides, operators = sides[1:], operators[1:]
    if operators == ["∈"]:
        inner = parse_answer(sides[1], depth + 1)
        if (
            is_name(sides[0])
            and isinstance(inner, CompoundAnswer)
            and inner.kind not in ("list", "ratio")
        ):
            return replace(inner, name=re.sub(r"\s", "", sides[0]))
        return Relation(tuple(sides), ("∈",))
    if "≈" in operators:  # what is left of it is exact
        first = operators.index("≈")
        exact = 1 if first == 0 and is_name(sides[0]) else 0
        sides = sides[: first + 1] + sides[first + 1 : first + 2] * exact
        operators = operators[:first] + ["="] * exact
    if not operators:
        return parse_answer(sides[0], depth + 1)
    if not all(sides) or "∈" in operators:
        raise AnswerParseError
    return Relation(tuple(sides), tuple(operators))


def _parse_bracket(text: str, depth: int) -> Answer | None:
    """A text in one pair of brackets."""
    is_set = text.startswith(r"\{") and text.endswith(r"\}")
    inner = text[2:-2] if is_set else text[1:-1]
    if not is_set and not (text[:1] in tuple(_OPENING) and text[-1:] in tuple(_CLOSING)):
        return None
    level = 0
    for match in _SIGNS.finditer(text):
        sign = match[0][-1]
        level += (sign in _OPENING) - (sign in _CLOSING)
        if level == 0 and match.end() < len(text):
            return None  # closed before the end: (a)(b)
    if is_set and inner.strip() in ("", r"\emptyset"):
        raise AnswerParseError
    condition = _CONDITION.match(inner) if is_set else None
    if condition is not None:
        return parse_answer(inner[condition.end() :], depth + 1)
    parts = split_outside_brackets(
        inner, "," if len(split_outside_brackets(inner, ",")) > 1 else ";"
    )
    if is_set or (text[0] == "{" and len(parts) > 1):
        return CompoundAnswer("set", _flatten(_parse_items(parts, "set", depth).items))
    if len(parts) > 1:
        rows = _parse_items(parts, text[0] + text[-1], depth)
        if all(
            isinstance(row, CompoundAnswer) and row.kind == rows.kind == "[]" for row in rows.items
        ):
            return _matrix(tuple(row for row in rows.items if isinstance(row, CompoundAnswer)))
        return rows
    if text[0] == "[" or text[-1] == "]":
        return Value(text)
    return parse_answer(inner, depth + 1) if inner.strip() else None


def _parse_leaf(text: str) -> Answer:
    if not text or not _WORD.sub("", text).strip(" .,:!?'\"-()"):
        return Words(text)
    text = text.removeprefix("+").strip()
    percent = text.endswith("%")
    text = text.removesuffix("%").strip()
    first = next((i for i, c in enumerate(text) if c in "«°"), -1)
    degrees_of = first > 0 and text[first] == "°" and _FUNCTION.search(text)
    if first > 0 and not degrees_of and _UNIT_TAIL.fullmatch(text, first):
        return _parse_measure(text[:first].strip(), text[first:].strip(), percent) or Words(text)
    for sign in _CURRENCIES:
        if text.startswith((sign, f"-{sign}")):
            return Value(text.replace(sign, "", 1).strip(), percent, sign)
        if text.endswith(sign):
            return Value(text.removesuffix(sign).strip(), percent, sign)
    return Value(text, percent)


def _parse_measure(amount: str, unit: str, percent: bool) -> Value | None:
    """An amount and the words after it; None where these are no unit."""
    words = re.findall(r"\w+", unit.lower())
    if words[:1] in (["squared"], ["cubed"]) or NO_UNITS.intersection(words):
        return None
    if any(word in MULTIPLES for word in words[1:]):
        return None
    if _LETTERS.fullmatch(amount) and parse_unit(unit) is None:
        return None  # a circle
    if words and words[0] in MULTIPLES:
        return Value(f"({amount})*{MULTIPLES[words[0]]}", percent)
    amount = amount.strip("".join(_CURRENCIES)).strip() if amount[:1] in _CURRENCIES else amount
    return Value(amount, percent, unit)
