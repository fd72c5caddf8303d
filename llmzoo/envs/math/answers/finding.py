r"""Finds the answer in a text.

In this order: what the last boxes hold, the last formula between dollars or ``\( \)``, and, in
prose, what follows the last "answer is" or "is", or else the last number.
"""

from __future__ import annotations

import re

from llmzoo.envs.math.answers.expressions import FUNCTIONS
from llmzoo.envs.math.answers.units import MULTIPLES, NO_UNITS, parse_unit

LONGEST = 1_000  # characters of an answer; a longer one is none
_END = 4_000  # characters at the end of a text in which an answer is looked for
_BOX = re.compile(r"\\f?box(?:ed)?(?![A-Za-z])\s{0,20}")
_BOXED_WORD = re.compile(r"[^\s$]+")
_BRACE = re.compile(r"\\.|[{}]", re.DOTALL)
_MOST_BOXES = 20
_CLOSE = 10  # boxes with so few characters between them belong together
_NEAR = 70  # so do those in a list
_SEPARATOR = re.compile(r"[,;&]|\b(?:and|or)\b")
_CORRECTION = re.compile(r"correct|wrong|mistake|wait|actually|rather|instead", re.IGNORECASE)
_FORMULA = re.compile(
    r"\$\$(?P<a>[^$]{1,1000})\$\$|(?<!\\)\$(?P<b>(?:[^$\\]|\\.){1,1000})\$"
    r"|\\\[(?P<c>(?:[^\\]|\\[^\[\]]){1,1000})\\\]|\\\((?P<d>(?:[^\\]|\\[^()]){1,1000})\\\)",
    re.DOTALL,
)
_BETWEEN = re.compile(r"(?=.*\S)[\s.]*(?:,|;|,?\s*and|,?\s*or|)\s*", re.DOTALL)
_PERCENT = re.compile(r"[\s$)\\]{0,4}(?:%|percent|pct)")
_ANCHOR = re.compile(r"(?i:answer)\s{0,3}(?:is|:|=)\s{0,3}:?|####")
_IS = re.compile(r"(?<![A-Za-z])(?:is|are|equals|gives|get)\s{1,3}")
_LETTERS = re.compile(r"[A-Za-z ]{1,20}")
_IS_NUMBER = re.compile(
    r"\s{0,3}(?:is|are|equals)\s{1,3}([-\d][\d.,/]*(?:\s?\\?%)?)(?=[.\s]*$|\.\s)"
)
_TAG = re.compile(r"</?[A-Za-z]{2,20}>")
_WORD = re.compile(r"(?<![\\A-Za-z{])[^\W\d_]{3,}")
_NO_WORDS = FUNCTIONS | {"sqrt", "inf", "infinity", "mod", "and"}
_NUMBER = re.compile(
    r"(?<![\w.,/])[$€£¥]?(-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:[.,]?\d+)?(?:\s?/\s?\d+)?)(?![A-Za-z]*\d|\.\d)"
)
_CHOICE = re.compile(r"(?<![A-Za-z])[A-Z][).:]\s")
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)")
_JOINS = r"or|and|to|plus|minus|times|over"
# context that changes a number, makes it one of several, or rejects it
_BEFORE = re.compile(
    rf"(?:\d[^\W\d]{{0,9}}\s{{0,9}}(?:,|\b(?:{_JOINS})\b)\s{{0,9}}(?:or|and)?"
    r"|[\w)}]\s{0,9}[-+*/^_×÷·(]|[<>≤≥≠^_]|\w[({]|\\(?!text|math|mbox|quad|approx)[A-Za-z]{1,20}\s{0,9}\{?"
    r"|\b(?:twice|thrice|double|triple|minus|plus|negative|non|no|(?:square|cube)\sof|negated|"
    r"(?:half|third|quarter|root|reciprocal|inverse|opposite|log|sin|cos|tan)(?:\sof)?)\W{0,2}"
    r"|\b(?:not|never|except|excluding|neither|nor|without|than|least|most|\w+n['’]t)\b[^.;\d]{0,40})"
    r"\s{0,9}$",
    re.IGNORECASE,
)
_AFTER = re.compile(
    rf"!|\s{{0,9}}(?:[-+*/^×÷·]\s{{0,9}}[\d({{\\A-Za-z]|(?:,|,?\s{{0,9}}(?:{_JOINS})\b)\s{{0,9}}[-$(]?\d)"
    r"|\W*(?:text\w*\W*)?(?:squared|cubed|and\sa\shalf|too|"
    rf"{'|'.join(sorted({*MULTIPLES, *NO_UNITS} - {'and', 'or'}))})\b"
)
# words in its sentence that put a number in doubt
_DOUBT = r"\b(?:between|maybe|perhaps|could|might|any|such|either|or|unless|if|instead|than)\b"
_DOUBT_BEFORE = re.compile(_DOUBT)
DOUBT_AFTER = re.compile(
    rf"{_DOUBT}|\b(?:not|wrong|incorrect|more|less|too|at\s(?:least|most|minimum|maximum)|up\sto|"
    r"among\sothers|etc|\w+n['’]t)\b"
)


def extract_boxed(text: str) -> str | None:
    r"""What the last ``\boxed{...}`` or ``\fbox{...}`` of ``text`` holds, its braces balanced.

    ``\boxed 5`` holds the word after it. ``None`` where there is no box, or where the last one is
    never closed. Time is linear in the length of the text.
    """
    starts = [match.end() for match in _BOX.finditer(text)]
    content = _content_of_box(text, starts[-1]) if starts else None
    return None if content is None else content[0]


def extract_last_boxes(text: str) -> str | None:
    r"""What the last box holds, joined by ``;`` with those of the same enumeration before it.

    A box that is never closed holds the rest of its line. ``None`` where there is none.
    """
    starts = list(_BOX.finditer(text))[-_MOST_BOXES:]
    if not starts:
        return None
    last = _content_of_box(text, starts[-1].end())
    if last is None:
        rest = text[starts[-1].end() :].lstrip("{").split("\n", 1)[0]
        return rest.rstrip().rstrip("$").strip()
    answers = [last[0] + "%" * bool(_PERCENT.match(text, last[1]))]
    following = starts[-1].start()
    for start in reversed(starts[:-1]):
        content = _content_of_box(text, start.end(), following)
        between = "" if content is None else text[content[1] : following]
        is_near = len(between) < _NEAR and _SEPARATOR.search(between)
        if (
            content is None
            or _CORRECTION.search(between)
            or (len(between) >= _CLOSE and not is_near)
        ):
            break
        if content[0] not in answers:
            answers.append(content[0])
        following = start.start()
    return " ; ".join(reversed(answers))


def _content_of_box(text: str, start: int, end: int | None = None) -> tuple[str, int] | None:
    """The content of the box whose command ends at ``start``, and the index after its closing brace."""
    if text[start : start + 1] != "{":
        word = _BOXED_WORD.match(text, start)
        return None if word is None else (word[0], word.end())
    depth = 0
    for brace in _BRACE.finditer(text, start, len(text) if end is None else end):
        depth += (brace[0] == "{") - (brace[0] == "}")
        if depth == 0:
            return text[start + 1 : brace.start()].strip(), brace.end()
    return None


def extract_answer(text: str) -> str:
    """The part of ``text`` that is its answer, without dollars and boxes; linear in its length."""
    boxes = extract_last_boxes(text)
    if boxes is not None:
        return boxes
    text = text[-_END:]
    anchors = list(_ANCHOR.finditer(text))
    formulas = [match for match in _FORMULA.finditer(text) if not _is_money(text, match)]
    if formulas and anchors and anchors[-1].end() > formulas[-1].end():
        return text[anchors[-1].start() :].strip()
    if formulas and _LETTERS.fullmatch(_content(formulas[-1])):
        stated_match = _IS_NUMBER.match(text, formulas[-1].end())
        if stated_match is not None:  # the largest $n$ is 34
            return stated_match[1]
    if formulas:
        return _extract_last_formulas(text, formulas)
    if len(text) > LONGEST and is_prose(text[-LONGEST:]):
        text = text[-LONGEST:].partition(" ")[2]
    if "</" in text:
        text = _TAG.sub(" ", text)
    return text.strip().removesuffix(r"\$").strip("$*").strip()


def is_prose(text: str) -> bool:
    """Whether a text says more than an answer."""
    return "####" in text or any(m[0].lower() not in _NO_WORDS for m in _WORD.finditer(text))


def extract_stated_answer(text: str) -> str | None:
    """The answer that a text in prose states: all that follows "answer is", or else the last "is"."""
    anchors = list(_ANCHOR.finditer(text)) or list(_IS.finditer(text))
    return text[anchors[-1].end() :].strip(" .*") if anchors else None


def extract_number(text: str) -> str | None:
    """The number that a text in prose gives as its answer: the first after "answer is", or the last.

    None if the number is one of several, part of an expression, negated or in doubt.
    """
    anchors = list(_ANCHOR.finditer(text))
    if anchors:
        text = text[anchors[-1].end() :]
    numbers = [match for match in _NUMBER.finditer(text) if any(map(str.isdigit, match[1]))]
    if not numbers or len(_CHOICE.findall(text)) > 1:
        return None
    chosen = numbers[0 if anchors else -1]
    ends = [match.end() for match in _SENTENCE_END.finditer(text, 0, chosen.start())]
    following = _SENTENCE_END.search(text, chosen.end())
    before = text[ends[-1] if ends else 0 : chosen.start()]
    after = text[chosen.end() : following.start() if following else len(text)]
    if _BEFORE.search(before[-_NEAR:]) or _AFTER.match(text, chosen.end()):
        return None
    if _DOUBT_BEFORE.search(before) or DOUBT_AFTER.search(after):
        return None
    letters = re.match("[A-Za-z]+", after)  # as of 5cm, but not of 5ths
    return chosen[1] if letters is None or parse_unit(letters[0]) else None


def _extract_last_formulas(text: str, formulas: list[re.Match[str]]) -> str:
    """The last formula and those that an "and" or a comma joins to it."""
    first = len(formulas) - 1
    while first > 0:
        between = text[formulas[first - 1].end() : formulas[first].start()]
        if len(between) >= 20 or not _BETWEEN.fullmatch(between):
            break
        first -= 1
    answer = " ; ".join(_content(match) for match in formulas[first:])
    return answer + "%" * bool(_PERCENT.match(text, formulas[-1].end()))


def _content(formula: re.Match[str]) -> str:
    return next(group for group in formula.groups() if group is not None).strip()


def _is_money(text: str, formula: re.Match[str]) -> bool:
    """Two amounts of dollars with words between them."""
    inner = formula["b"]
    if inner is None or not inner[:1].isdigit():
        return False
    return text[formula.end() : formula.end() + 1].isdigit() or bool(
        re.search(r"[a-z]{3,} [a-z]{2,} ", inner)
    )
