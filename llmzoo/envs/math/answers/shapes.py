"""What kind of answer a clean text is: a value, a list, a set, an interval, a relation, words."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from llmzoo.envs.math.answers.cleaning import NEW_ROW
from llmzoo.envs.math.answers.units import CHANGING, MULTIPLES, NO_UNITS, known

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
_CONDITION = re.compile(r"\s*[A-Za-z]\s*(?:∈[^|:]{1,40})?[|:]")  # as of {x | x > 3}
_FUNCTION = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)")  # of an angle in degrees
_TIME = re.compile(r"(\d{1,2}):(\d\d)(?::(\d\d))?(?: ?«([ap])m»)?")
_LETTERS = re.compile(r"[A-Za-z ]+")
_CURRENCIES = ("$", "€", "£", "¥", "₹")
# what is asked for by its letters, such as m + n
_OF_LETTERS = re.compile(r"[A-Za-z](?:\s*[-+*]?\s*[A-Za-z](?:_\w)?)*")


@dataclass(frozen=True, slots=True)
class Value:
    """An expression, with its percent sign and what unit was written after it."""

    text: str
    percent: bool = False
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    text: str


@dataclass(frozen=True, slots=True)
class Many:
    """Several answers. ``kind``: "list" (as enumerated in a text), "set", "union", "ratio" or, for
    a pair of brackets, those brackets such as "()" or "[)"."""

    kind: str
    items: tuple[Shape, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """``sides[0] operators[0] sides[1] ...``"""

    sides: tuple[str, ...]
    operators: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Matrix:
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Time:
    """A time of day as it is written; ``half`` is "a", "p" or ""."""

    hour: int
    minute: int
    second: int
    half: str


Shape = Value | Words | Many | Relation | Matrix | Time


class NoShape(ValueError):
    """An answer in too many brackets, of too many parts, or with an empty one."""


def read(text: str, depth: int = 0) -> Shape:
    """The shape of a clean text. Raises :class:`NoShape`."""
    text = text.strip().strip(",;").strip()
    if depth > _DEEPEST or not text:
        raise NoShape
    matrix = _MATRIX.fullmatch(text)
    if matrix:
        rows = matrix[2].split(NEW_ROW)
        return Matrix(tuple(tuple(c.strip() for c in r.split("&")) for r in rows if r.strip()))
    if "∓" in text:
        return _both_signs(text, depth)
    groups = split(text, ";")
    if len(groups) > 1:
        return _grouped(tuple(read(part, depth + 1) for part in groups))
    parts = split(text, ",")
    if len(parts) > 1:
        return Many("list", _flat(_unnamed(tuple(read(part, depth + 1) for part in parts))))
    if "±" in text and not text.startswith(r"\{"):
        return _both_signs(text, depth)
    relation = _relation(text, depth)
    if relation is not None:
        return relation
    pieces = split(text, "∪")
    if len(pieces) > 1:
        return Many("union", tuple(read(part, depth + 1) for part in pieces))
    time = _TIME.fullmatch(text)
    if time and int(time[1]) < 24 and max(int(time[2]), int(time[3] or 0)) < 60:
        return Time(int(time[1]), int(time[2]), int(time[3] or 0), time[4] or "")
    ratio = split(text, ":")
    if len(ratio) > 1:
        return Many("ratio", tuple(_leaf(part) for part in ratio))
    return _bracketed(text, depth) or _leaf(text)


def _both_signs(text: str, depth: int) -> Many:
    both = (text.replace("±", "+").replace("∓", "-"), text.replace("±", "-").replace("∓", "+"))
    return Many("list", _flat(tuple(read(part, depth + 1) for part in both)))


def split(text: str, separator: str) -> list[str]:
    """The parts of ``text`` between separators outside all brackets."""
    if separator not in text:
        return [text]
    parts, start = [], 0
    for place, sign in _outside(text):
        if sign == separator:
            parts.append(text[start:place])
            start = place + 1
    parts = [part.strip() for part in (*parts, text[start:])]
    if len(parts) > _MOST_ITEMS:
        raise NoShape
    return parts


def _outside(text: str) -> Iterator[tuple[int, str]]:
    """The characters of ``text`` outside all brackets, each with its place."""
    depth = 0
    for found in _SIGNS.finditer(text):
        sign = found[0][-1]  # of a bracket with a backslash too
        if sign in _OPENING:
            depth += 1
        elif sign in _CLOSING:
            depth -= 1
        elif depth <= 0:
            yield found.start(), sign


def is_name(text: str) -> bool:
    """Whether what stands before ``=`` only says what is given: ``x``, ``f(x)``, ``|AB|``, ``a_n``."""
    if any(word[:1].lower() + word[1:] in CHANGING for word in re.findall(r"\w+", text)):
        return False
    return any(c.isalpha() for c in text) and _NAME.fullmatch(_CALL.sub("x", text)) is not None


def bare(shape: Shape) -> Shape:
    """A relation such as ``x = 5`` as what it gives, ``5``; other shapes as they are."""
    if isinstance(shape, Relation) and is_assignment(shape):
        return read(shape.sides[-1], _DEEPEST - 2)
    return shape


def is_asked_for(side: str) -> bool:
    """Whether the left side of an equation may be what is asked for: a name, or ``m + n``."""
    return is_name(side) or _OF_LETTERS.fullmatch(side) is not None


def is_assignment(shape: Shape) -> bool:
    return isinstance(shape, Relation) and set(shape.operators) == {"="} and is_name(shape.sides[0])


def _flat(items: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """Lists within lists, as of ``±1, ±2``, become one."""
    flat: list[Shape] = []
    for item in items:
        flat += item.items if isinstance(item, Many) and item.kind == "list" else (item,)
    return tuple(flat)


def _unnamed(items: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """``n = 1, 2, 3`` without the name, which stands for all."""
    if is_assignment(items[0]) and not any(isinstance(item, Relation) for item in items[1:]):
        return (bare(items[0]), *items[1:])
    return items


def _grouped(groups: tuple[Shape, ...]) -> Many:
    """``x = 1, y = 2; x = 3, y = 4`` is a list of tuples; ``1, 2; 3`` a list."""
    lists = [g for g in groups if isinstance(g, Many) and g.kind == "list"]
    names = {tuple(_name(item) for item in g.items) for g in lists}
    if len(lists) == len(groups) and len(names) == 1 and len(set(*names)) > 1:
        return Many("list", tuple(Many("()", tuple(map(bare, g.items))) for g in lists))
    return Many("list", _unnamed(_flat(groups)))


def _name(shape: Shape) -> str:
    return name_of(shape) if isinstance(shape, Relation) and is_assignment(shape) else ""


def name_of(relation: Relation) -> str:
    return re.sub(r"[\s{}]", "", relation.sides[0])


def _relation(text: str, depth: int) -> Shape | None:
    sides, operators, start = [], [], 0
    for place, sign in _outside(text):
        if sign in "=≠≤≥<>≈∈":
            sides.append(text[start:place].strip())
            operators.append(sign)
            start = place + 1
    if not operators:
        return None
    sides.append(text[start:].strip())
    if not sides[0] and operators[0] in "=≈":
        sides, operators = sides[1:], operators[1:]
        if not operators:
            return read(sides[0], depth + 1)
    if "∈" in operators:
        if operators != ["∈"]:
            raise NoShape
        return Relation(tuple(sides), ("∈",)) if sides[0] else read(sides[1], depth + 1)
    if "≈" in operators:  # what stands before it is exact
        first = operators.index("≈")
        exact = 1 if first == 0 and is_name(sides[0]) else 0
        sides = sides[: first + 1] + sides[first + 1 : first + 2] * exact
        operators = operators[:first] + ["="] * exact
        if not operators:
            return read(sides[0], depth + 1)
    if not all(sides):
        raise NoShape
    return Relation(tuple(sides), tuple(operators))


def _bracketed(text: str, depth: int) -> Shape | None:
    """A text that one pair of brackets holds."""
    is_set = text.startswith(r"\{") and text.endswith(r"\}")
    inner = text[2:-2] if is_set else text[1:-1]
    if not is_set and not (text[:1] in tuple(_OPENING) and text[-1:] in tuple(_CLOSING)):
        return None
    level = 0
    for found in _SIGNS.finditer(text):
        sign = found[0][-1]
        level += (sign in _OPENING) - (sign in _CLOSING)
        if level == 0 and found.end() < len(text):
            return None  # closed before the end: (a)(b)
    condition = _CONDITION.match(inner) if is_set else None
    if condition is not None:
        return read(inner[condition.end() :], depth + 1)
    parts = split(inner, ",")
    if len(parts) == 1:
        parts = split(inner, ";")
    if is_set and inner.strip() in ("", r"\emptyset"):
        raise NoShape
    if is_set or (text[0] == "{" and len(parts) > 1):
        return Many("set", _flat(tuple(read(part, depth + 1) for part in parts)))
    if len(parts) > 1:
        return Many(text[0] + text[-1], tuple(read(part, depth + 1) for part in parts))
    if text[0] == "[" or text[-1] == "]":
        return Value(text)
    return read(inner, depth + 1) if inner.strip() else None


def _leaf(text: str) -> Shape:
    if not text or not _WORD.sub("", text).strip(" .,:!?'\"-()"):
        return Words(text)
    text = text.removeprefix("+").strip()
    percent = text.endswith("%")
    text = text.removesuffix("%").strip()
    unit = ""
    first = next((i for i, c in enumerate(text) if c in "«°"), -1)
    degrees_of = first > 0 and text[first] == "°" and _FUNCTION.search(text)
    if first > 0 and not degrees_of and _UNIT_TAIL.fullmatch(text, first):
        words = re.findall(r"\w+", text[first:].lower())
        if words[:1] in (["squared"], ["cubed"]) or NO_UNITS.intersection(words):
            return Words(text)
        if any(word in MULTIPLES for word in words[1:]):
            return Words(text)
        amount, unit = text[:first].strip(), text[first:].strip()
        if _LETTERS.fullmatch(amount) and known(unit) is None:
            return Words(text)  # a circle
        if words and words[0] in MULTIPLES:
            amount, unit = f"({amount})*{MULTIPLES[words[0]]}", ""
        text = amount
    for sign in _CURRENCIES:
        if text.startswith((sign, f"-{sign}")):
            text, unit = text.replace(sign, "", 1).strip(), sign
        elif text.endswith(sign):
            text, unit = text.removesuffix(sign).strip(), sign
    return Value(text, percent, unit)
