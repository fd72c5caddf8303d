r"""Answers of generated tasks: numbers, and tuples, sets and intervals of numbers, read exactly.

:mod:`llmzoo.envs.math.answers` reads most notations that people use. This module reads fewer and gives
each text exactly one meaning. A percent is a hundredth, and a rounded number differs from the fraction
that it approximates. An answer must be worked out: it holds no operation, and its fractions are in
lowest terms. A word after a number is its unit.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from llmzoo.envs.math.answers.units import MULTIPLES, NO_UNITS

Number = Fraction | float  # a float is an infinity

_SPACES = re.compile(r"\\[,;:! ]|~|\\(?:left|right|displaystyle)(?![A-Za-z])|\s")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\s?\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dt]?frac ?(?:\{ ?(-?[0-9]+) ?\}|([0-9])) ?(?:\{ ?([0-9]+) ?\}|([0-9]))")
_SAME_AS = {
    "\u2212": "-", "{,}": ",", "\\{": "{", "\\}": "}", "\\%": "%", "\\$": "", "$": "", "€": "",
    "£": "", "\\infty": "inf", "∞": "inf", "infinity": "inf", "\\in": "=", "∈": "=", "²": "^2",
    "\\leq": "<=", "\\le": "<=", "≤": "<=", "\\geq": ">=", "\\ge": ">=", "≥": ">=",
    "\\lt": "<", "\\gt": ">",
}  # fmt: skip
_SAME = re.compile(
    "|".join(
        re.escape(sign) + (r"(?![A-Za-z])" if sign[-1].isalpha() else "")
        for sign in sorted(_SAME_AS, key=len, reverse=True)
    )
)

_AMONG = re.compile(r"(?:\\in(?![A-Za-z])|∈)\s*(?:\\left\s*)?")
_INTEGER = re.compile(r"-?[0-9]{1,40}")
_NUMBER = re.compile(
    r"([-+]?) ?(?:(?P<inf>inf)|(?:(?P<whole>[0-9]+) ?(?= [0-9]))?(?: ?(?P<top>[0-9]+) ?/ ?"
    r"(?P<bottom>[0-9]+))|(?P<decimal>[0-9]{1,3}(?:[ ,][0-9]{3})+(?![0-9])|[0-9]+\.?[0-9]*|\.[0-9]+))"
    r" ?(?P<percent>%)?(?P<unit> ?[A-Za-z][A-Za-z /]*(?:\^ ?\{?[23]\}?)?)?"
)
# words after a number that are no unit, and units of one letter
_NO_UNITS = (
    NO_UNITS
    | MULTIPLES.keys()
    | {"to", "is", "are", "squared", "cubed", "percent", "pi", "tau", "sqrt", "inf", "infty"}
    | {"th", "ths", "rds", "quarters"}
)
_SHORT_UNITS = frozenset("mhsglL")

_ASSIGNMENT = re.compile(r"([A-Za-z]|\( ?[a-z] ?(?:, ?[a-z] ?){1,2}\)) ?= ?(?=[^= ])")
_ORDER = re.compile(r" ?(<=|>=|<|>) ?")
_GROUPED = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:[^0-9,].*)?")
_COMMA = re.compile(r" ?, ?(?:and |or )?| (?:and|or) ")
_FORMS = ("()", "[]", "(]", "[)", "{}")


@dataclass(frozen=True, slots=True)
class ExactAnswer:
    """An answer. ``form`` is "" for a number, ``()`` for a tuple or an open interval, ``[]``, ``(]`` and
    ``[)`` for other intervals, ``{}`` for a set with ascending ``parts``, and "," for a list without
    brackets."""

    form: str
    parts: tuple[Number, ...]


def parse_exact(text: str) -> ExactAnswer | None:
    """The answer that a text gives; None if it gives none or leaves work to do."""
    if _INTEGER.fullmatch(text):  # most answers
        return ExactAnswer("", (Fraction(int(text)),))
    if (among := _AMONG.search(text)) and text[among.end() : among.end() + 1] not in tuple("([{\\"):
        return None  # no element of a number
    text = _normalize(text)
    if _ORDER.search(text):
        return _parse_comparison(text)
    if (named := _ASSIGNMENT.match(text)) and (named[1][0] == "(" or text.count("=") == 1):
        text = text[named.end() :]
    form = text[:1] + text[-1:]
    if len(text) > 1 and form in _FORMS:
        return _parse_bracket(form, text[1:-1].strip())
    if _GROUPED.fullmatch(text):
        return _make_exact("", [_parse_number(text)])
    return _parse_list(_COMMA.split(text))


def exact_answers_match(one: str, other: str) -> bool:
    """Whether both texts are answers and equal. A list without brackets equals the tuple and the set
    of its numbers."""
    a, b = parse_exact(one), parse_exact(other)
    if a is None or b is None:
        return False
    if a.form == ",":
        a, b = b, a
    if b.form == "," and a.form == "{}":
        return a.parts == _sort_ascending(b.parts)
    if b.form == "," and a.form == "()":
        return a.parts == b.parts
    return a == b


def _normalize(text: str) -> str:
    """The text without LaTeX, with one spelling of each sign and single spaces."""
    text = _TEXT.sub(r" \1 ", text)
    text = _SAME.sub(lambda match: _SAME_AS[match[0]], text)
    text = _FRACTION.sub(lambda f: f" {f[1] or f[2]}/{f[3] or f[4]}", _SPACES.sub(" ", text))
    return " ".join(text.split())


def _parse_number(text: str) -> Number | None:
    """A number, with or without a unit."""
    match = _NUMBER.fullmatch(text.strip())
    if match is None or (match["unit"] and not _is_unit(match["unit"])):
        return None
    size: Number
    if match["inf"]:
        size = math.inf
    elif match["decimal"]:
        size = Fraction(re.sub("[ ,]", "", match["decimal"]))
    else:
        top, bottom = int(match["top"]), int(match["bottom"])
        if bottom < 2 or math.gcd(top, bottom) > 1 or (match["whole"] and top > bottom):
            return None
        size = int(match["whole"] or 0) + Fraction(top, bottom)
    if match["percent"]:
        size /= 100
    return -size if match[1] == "-" else size


def _is_unit(text: str) -> bool:
    words = re.findall("[A-Za-z]+", text)
    return all(w.lower() not in _NO_UNITS and (len(w) > 1 or w in _SHORT_UNITS) for w in words)


def _parse_bracket(form: str, inside: str) -> ExactAnswer | None:
    parts = [_parse_number(part) for part in inside.split(",")]
    if len(parts) == 1:  # brackets around a number mean nothing
        return _make_exact("", parts)
    if form not in ("()", "{}") and len(parts) != 2:
        return None
    return _make_exact(form, parts)


def _parse_list(pieces: list[str]) -> ExactAnswer | None:
    """A number, or several without brackets. Values of one name are a set; values of different names
    are a tuple, sorted by name."""
    names = [match[1] if (match := _ASSIGNMENT.match(piece)) else "" for piece in pieces]
    parts = [_parse_number(_ASSIGNMENT.sub("", piece, count=1)) for piece in pieces]
    if len(pieces) == 1:
        return _make_exact("", parts)
    if not any(names):
        return _make_exact(",", parts)
    if len(set(names)) == 1:
        return _make_exact("{}", parts)
    if len(set(names)) < len(names) or not all(names):
        return None
    return _make_exact("()", [part for _, part in sorted(zip(names, parts, strict=True))])


def _parse_comparison(text: str) -> ExactAnswer | None:
    """An interval written with signs of order, such as ``-1 < x <= 4``."""
    pieces = _ORDER.split(text)
    sides, signs = pieces[::2], pieces[1::2]
    if len({sign[0] for sign in signs}) != 1:
        return None
    if signs[0][0] == ">":
        sides, signs = sides[::-1], signs[::-1]
    unknown = re.compile("[a-z]").fullmatch
    low, high = ("-inf", False), ("inf", False)
    if len(sides) == 2 and unknown(sides[0]):
        high = (sides[1], signs[0].endswith("="))
    elif len(sides) == 2 and unknown(sides[1]):
        low = (sides[0], signs[0].endswith("="))
    elif len(sides) == 3 and unknown(sides[1]):
        low, high = (sides[0], signs[0].endswith("=")), (sides[2], signs[1].endswith("="))
    else:
        return None
    form = ("[" if low[1] else "(") + ("]" if high[1] else ")")
    return _make_exact(form, [_parse_number(low[0]), _parse_number(high[0])])


def _make_exact(form: str, parts: list[Number | None]) -> ExactAnswer | None:
    numbers = tuple(part for part in parts if part is not None)
    endless = any(isinstance(number, float) for number in numbers)
    if len(numbers) < len(parts) or (endless and form in ("", "{}", ",")):
        return None
    return ExactAnswer(form, _sort_ascending(numbers) if form == "{}" else numbers)


def _sort_ascending(parts: tuple[Number, ...]) -> tuple[Number, ...]:
    return tuple(sorted({*parts}))
