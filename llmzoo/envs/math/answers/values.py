"""Whether an answer has been worked out, or only restates what was to be computed."""

from __future__ import annotations

import math
import re

from llmzoo.envs.math.answers import shapes
from llmzoo.envs.math.answers.cleaning import clean
from llmzoo.envs.math.answers.finding import LONGEST, answer_in
from llmzoo.envs.math.answers.shapes import Many, Matrix, Relation, Shape, Value

_GROUPED = re.compile(r"(?<=\d),(?=\d{3}(?!\d))|(?<=\d) (?=\d{3}(?!\d))")
_WHOLE = r"\d{1,1000}"
_NUMBER = rf"(?:{_WHOLE}(?:\.\d{{0,1000}})?|\.\d{{1,1000}})"
_SCIENTIFIC = re.compile(rf"{_NUMBER}(?:[eE][-+]?\d{{1,4}}|\*10\^(?:\d|\{{-?\d{{1,4}}\}}))?")
_TIMES = re.compile(r" ?\* ?")
_MIXED = re.compile(rf"{_WHOLE} ?(?:\\frac\{{\d+\}}\{{\d+\}}|(?<= )\d+/\d+)")
_ROOT = re.compile(r"\\sqrt ?(?:\[\d\])? ?(?:\{ ?(\d{1,12}) ?\}|\( ?(\d{1,12}) ?\)|(\d))")
_ENDS = ("∞", "-∞", "+∞")


def is_value(text: str) -> bool:
    """Whether ``text`` is a value: a number, a fraction that is no whole number, radicals, multiples
    of π or i, or a list, tuple, set, interval or inequality of such values.

    ``37 + 48``, ``84/7``, ``2^10`` and ``5!`` are no values, since the work remains to be done, and
    neither is anything in words or variables.
    """
    answer = answer_in(text)
    if not answer or len(answer) > LONGEST:
        return False
    try:
        return _is_value(shapes.read(_GROUPED.sub("", clean(answer))))
    except shapes.TooDeep:
        return False


def _is_value(shape: Shape) -> bool:
    match shape:
        case Value(text):
            return _is_sum(text)
        case Many(_, items):
            return all(map(_is_value, items))
        case Relation(sides, operators) if set(operators) == {"="}:
            return _is_sum(sides[-1])
        case Relation(sides, _):
            named = [side for side in sides if not _is_sum(side)]
            return len(named) <= 1 and len(sides) > 1 and all(map(shapes.is_name, named))
        case Matrix(rows):
            return all(_is_sum(cell) for row in rows for cell in row)
    return False


def _is_sum(text: str) -> bool:
    """A number, or terms that cannot be added: at most one of them has no root, π or i."""
    text = text.strip()
    if text in _ENDS:
        return True
    terms = _terms(text)
    if len(terms) > 4 or not all(map(_is_term, terms)):
        return False
    kinds = [_kind(term) for term in terms]
    return len(set(kinds)) == len(kinds)


def _terms(text: str) -> list[str]:
    """What stands between the signs outside all brackets, each with its sign."""
    terms, start, depth = [], 0, 0
    for at, sign in enumerate(text):
        depth += (sign in "({[") - (sign in ")}]")
        if sign in "+-" and depth == 0 and text[start:at].strip() and text[at - 1] not in "eE*/^":
            terms.append(text[start:at].strip())
            start = at
    return [*terms, text[start:].strip()]


def _kind(term: str) -> str:
    """What keeps a term from being added to another."""
    return "".join(sorted(_ROOT.findall(term)[0])) if _ROOT.search(term) else _symbols(term)


def _symbols(term: str) -> str:
    return "".join(sign for sign in term if sign in "πi")


def _is_term(term: str) -> bool:
    term = term.lstrip("+-").strip()
    if _SCIENTIFIC.fullmatch(_TIMES.sub("*", term)) or _MIXED.fullmatch(term):
        return True
    fraction = _fraction(term)
    if fraction is None:
        return _is_product(term)
    top, bottom, following = fraction
    if following and not _is_product(following):
        return False
    if re.fullmatch(_WHOLE, top.lstrip("-")) and re.fullmatch(_WHOLE, bottom) and not following:
        return len(top) < 1000 and len(bottom) < 1000 and int(top) % max(int(bottom), 1) != 0
    return bool(re.fullmatch(_WHOLE, bottom) or _is_product(bottom)) and _is_sum(top)


def _fraction(term: str) -> tuple[str, str, str] | None:
    r"""Above, below and what follows, of ``\frac{a}{b} c`` or of ``a/b``."""
    if term.startswith(r"\frac"):
        above, rest = _argument(term[5:])
        below, rest = _argument(rest)
        return above, below, rest.strip()
    above, bar, below = term.partition("/")
    if not bar or "/" in below:
        return None
    return _unwrapped(above), _unwrapped(below), ""


def _argument(text: str) -> tuple[str, str]:
    text = text.lstrip()
    if not text.startswith("{"):
        return text[:1], text[1:]
    depth = 0
    for at, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth == 0:
            return text[1:at].strip(), text[at + 1 :]
    return text, ""


def _unwrapped(text: str) -> str:
    text = text.strip()
    return text[1:-1].strip() if text.startswith("(") and text.endswith(")") else text


def _is_product(text: str) -> bool:
    """A number before at most one root that cannot be drawn, π and i."""
    roots = _ROOT.findall(text)
    if len(roots) > 1 or any(math.isqrt(n) ** 2 == n for n in map(_radicand, roots)):
        return False
    rest = _ROOT.sub("", text, count=1).replace("*", " ").strip()
    number = rest.rstrip("πi ").rstrip()
    symbols = rest[len(number) :].replace(" ", "")
    if len(symbols) != len(set(symbols)) or text.count("*") > 2:
        return False
    return not number or re.fullmatch(_NUMBER, number) is not None


def _radicand(found: tuple[str, str, str]) -> int:
    return int("".join(found))
