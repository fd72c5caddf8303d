r"""Which part of a text is its answer.

In this order: what the last boxes hold, the last formula between dollars or ``\( \)``, and, in
prose, what follows the last "answer is" or ``=``, at last the last number.
"""

from __future__ import annotations

import re

from llmzoo.envs.math.answers.boxes import last_boxes

LONGEST = 1_000  # characters of an answer; a longer one is none
_END = 4_000  # characters at the end of a text in which an answer is looked for
_FORMULA = re.compile(
    r"\$\$(?P<a>[^$]{1,1000})\$\$|(?<!\\)\$(?P<b>(?:[^$\\]|\\.){1,1000})\$"
    r"|\\\[(?P<c>(?:[^\\]|\\[^\[\]]){1,1000})\\\]|\\\((?P<d>(?:[^\\]|\\[^()]){1,1000})\\\)",
    re.DOTALL,
)
_BETWEEN = re.compile(r"[\s.]*(?:,|;|,?\s*and|,?\s*or|)\s*")
_FIRST_LETTER = re.compile(r"[\s*$({]{0,5}([A-Z])(?![\w'])")
_LETTER = re.compile(r"\(([A-Z])\)|(?<![\w\\(])([B-Z])(?![\w'])")  # A is a word too
_PERCENT = re.compile(r"\s{0,3}(?:\\?%|percent|pct)")
_ANCHOR = re.compile(r"(?i:answer)\s{0,3}(?:is|:|=)\s{0,3}:?|####")
_WORD = re.compile(r"[^\W\d_]{3,}")
_NUMBER = re.compile(
    r"(?<![\w.,/])[$€£¥]?(-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:[.,]?\d+)?(?:\s?/\s?\d+)?)(?![A-Za-z]*\d)"
)


def answer_in(text: str) -> str:
    """The part of ``text`` that is its answer, without dollars and boxes; linear in its length."""
    boxes = last_boxes(text)
    if boxes is not None:
        return boxes
    text = text[-_END:]
    formulas = [f for f in _FORMULA.finditer(text) if not _is_money(text, f)]
    if formulas:
        return _last_formulas(text, formulas)
    return text.strip().strip("$*").strip()


def is_prose(text: str) -> bool:
    """Whether a text says more than an answer."""
    return _WORD.search(text) is not None or "####" in text


def number_in(text: str) -> str | None:
    """The number that a text in prose gives as its answer: the last one."""
    anchors = list(_ANCHOR.finditer(text))
    if anchors:
        text = text[anchors[-1].end() :]
        found = next((f[1] for f in _NUMBER.finditer(text) if any(map(str.isdigit, f[1]))), None)
        if found is not None:
            return found
    numbers = [f[1] for f in _NUMBER.finditer(text) if any(c.isdigit() for c in f[1])]
    return numbers[-1] if numbers else None


def letter_in(text: str) -> str | None:
    """The letter of a choice that a text gives as its answer: alone in it, or after "answer is"."""
    anchors = list(_ANCHOR.finditer(text))
    if anchors:
        first = _FIRST_LETTER.match(text, anchors[-1].end())
        return None if first is None else first[1]
    found = _LETTER.findall(text)
    return "".join(found[0]) if len(found) == 1 else None


def _last_formulas(text: str, formulas: list[re.Match[str]]) -> str:
    """The last formula, with those before it that an "and" or a comma joins to it."""
    first = len(formulas) - 1
    while first > 0 and _joined(text[formulas[first - 1].end() : formulas[first].start()]):
        first -= 1
    answer = " ; ".join(_content(f) for f in formulas[first:])
    return answer + ("%" if _PERCENT.match(text, formulas[-1].end()) else "")


def _joined(between: str) -> bool:
    return len(between) < 20 and bool(between.strip()) and _BETWEEN.fullmatch(between) is not None


def _content(formula: re.Match[str]) -> str:
    return next(g for g in formula.groups() if g is not None).strip()


def _is_money(text: str, formula: re.Match[str]) -> bool:
    """Two amounts of dollars with words between them."""
    inner = formula["b"]
    if inner is None or not inner[:1].isdigit():
        return False
    return text[formula.end() : formula.end() + 1].isdigit() or bool(
        re.search(r"[a-z]{3,} [a-z]{2,} ", inner)
    )
