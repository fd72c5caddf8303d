r"""Which part of a text is its answer.

In this order: what the last boxes hold, the last formula between dollars or ``\( \)``, and, in
prose, what follows the last "answer is" or ``=``, at last the last number.
"""

from __future__ import annotations

import re

from llmzoo.envs.math.answers.boxes import last_boxes
from llmzoo.envs.math.answers.expressions import FUNCTIONS
from llmzoo.envs.math.answers.units import MULTIPLES, NO_UNITS, known

LONGEST = 1_000  # characters of an answer; a longer one is none
_END = 4_000  # characters at the end of a text in which an answer is looked for
_FORMULA = re.compile(
    r"\$\$(?P<a>[^$]{1,1000})\$\$|(?<!\\)\$(?P<b>(?:[^$\\]|\\.){1,1000})\$"
    r"|\\\[(?P<c>(?:[^\\]|\\[^\[\]]){1,1000})\\\]|\\\((?P<d>(?:[^\\]|\\[^()]){1,1000})\\\)",
    re.DOTALL,
)
_BETWEEN = re.compile(r"[\s.]*(?:,|;|,?\s*and|,?\s*or|)\s*")
_FIRST_LETTER = re.compile(r"[\s*$({]{0,5}([A-Z])(?![\w'])(?! ?[-+*/^=])")
_OPTION = re.compile(r"\(?([A-Z])[).:] ")
_OPTIONS = re.compile(r"(?<![A-Za-z])[A-Z](?=\))|^[A-Z](?=[.:] )")
_CAPITAL = re.compile(r"(?<![\w\\])(?:A(?! (?!and\b|or\b)[a-z])|[B-Z])(?![\w'])")
_LAST_LETTER = re.compile(r"(?:\b(?:is|option|choice|choose)\s{1,3}|\()([A-Z])\)?\W{0,5}$")
_AFTER_LETTER = 15  # characters after a letter that may take it back
_PERCENT = re.compile(r"\s{0,3}(?:\\?%|percent|pct)")
_ANCHOR = re.compile(r"(?i:answer)\s{0,3}(?:is|:|=)\s{0,3}:?|####")
_IS = re.compile(r"(?<![A-Za-z])(?:is|are|equals|gives|get)\s{1,3}")
_LETTERS = re.compile(r"[A-Za-z ]{1,20}")
_SAID_OF = re.compile(r"\s{0,3}(?:is|are|equals)\s{1,3}([-\d][\d.,/]*(?:\s?\\?%)?)(?=[.\s]*$|\.\s)")
_TAG = re.compile(r"</?[A-Za-z]{2,20}>")
_WORD = re.compile(r"(?<![\\A-Za-z{])[^\W\d_]{3,}")
_NO_WORDS = FUNCTIONS | {"sqrt", "inf", "infinity", "mod", "and"}
# what makes of a number before or after it another one, or one of several
_BEFORE = re.compile(
    r"(?:\d[^\W\d]{0,9}\s{0,9}(?:,|\b(?:or|and|to|plus|minus|times|over)\b)\s{0,9}(?:or|and)?"
    r"|[\w)}]\s{0,9}[-+*/^_×÷·(]|[<>≤≥≠^_]|\w[({]|\\(?!text|math|mbox|quad|approx)[A-Za-z]{1,20}\s{0,9}\{?)"
    r"\s{0,9}$"
)
_AFTER = re.compile(
    r"\s{0,9}(?:[-+*/^×÷·]\s{0,9}[\d({\\A-Za-z]|(?:,|,?\s{0,9}(?:or|and|to|plus|minus|times|over)\b)\s{0,9}[-$(]?\d)"
)
_NEGATED = re.compile(
    r"\b(?:not|never|except|excluding|neither|nor|without|than|least|most|\w+n['’]t)\b[^.;\d]{0,40}$"
)
_NEAR = 60  # characters before a number that say what it is
# words before and after a number that say that it may not be the answer
_DOUBT_BEFORE = re.compile(
    r"\b(?:between|maybe|perhaps|could|might|any|such|either|or|unless|if|instead|than)\b"
)
_DOUBT_AFTER = re.compile(
    rf"{_DOUBT_BEFORE.pattern}|\b(?:not|wrong|incorrect|more|less|too|at\s(?:least|most|minimum|maximum)|up\sto|"
    r"among\sothers|etc|\w+n['’]t)\b"
)
_NO_OPTION = re.compile(
    r"^\s*[=+*/^<>]|\b(?i:not|no|wrong|incorrect|but|neither|nor|answer|\w+n['’]t)\b"
    r"|(?<![\w\\])(?:A(?! [a-z])|[B-E])(?![\w'])"
)
_CHANGED_AFTER = re.compile(
    r"\W*(?:text\w*\W*)?(?:squared|cubed|and\sa\shalf|too|"
    rf"{'|'.join(sorted({*MULTIPLES, *NO_UNITS} - {'and', 'or'}))})\b"
)
_CHANGED_BEFORE = re.compile(
    r"\b(?:twice|thrice|double|triple|minus|plus|negative|non|no|(?:square|cube)\sof|negated|"
    r"(?:half|third|quarter|root|reciprocal|inverse|opposite|log|sin|cos|tan)(?:\sof)?)"
    r"\W{0,3}$",
    re.IGNORECASE,
)
_LETTERS_AFTER = re.compile(r"[A-Za-z]+")
_SENTENCE_END = re.compile(r"[.;!?](?=\s|$)")
_NUMBER = re.compile(
    r"(?<![\w.,/])[$€£¥]?(-?(?:\d{1,3}(?:,\d{3})+(?!\d)|\d+)?(?:[.,]?\d+)?(?:\s?/\s?\d+)?)(?![A-Za-z]*\d|\.\d)"
)


def answer_in(text: str) -> str:
    """The part of ``text`` that is its answer, without dollars and boxes; linear in its length."""
    boxes = last_boxes(text)
    if boxes is not None:
        return boxes
    text = text[-_END:]
    anchors = list(_ANCHOR.finditer(text))
    formulas = [f for f in _FORMULA.finditer(text) if not _is_money(text, f)]
    if formulas and anchors and anchors[-1].end() > formulas[-1].end():
        return text[anchors[-1].start() :].strip()
    if formulas and _LETTERS.fullmatch(_content(formulas[-1])):
        said = _SAID_OF.match(text, formulas[-1].end())
        if said is not None:  # the largest $n$ is 34
            return said[1]
    if formulas:
        return _last_formulas(text, formulas)
    if len(text) > LONGEST and is_prose(text[-LONGEST:]):
        text = text[-LONGEST:].partition(" ")[2]
    if "</" in text:
        text = _TAG.sub(" ", text)
    return text.strip().removesuffix(r"\$").strip("$*").strip()


def is_prose(text: str) -> bool:
    """Whether a text says more than an answer."""
    return "####" in text or any(f[0].lower() not in _NO_WORDS for f in _WORD.finditer(text))


def stated_in(text: str) -> str | None:
    """What a text in prose says that its answer is: all that follows "answer is", or the last "is"."""
    anchors = list(_ANCHOR.finditer(text)) or list(_IS.finditer(text))
    return text[anchors[-1].end() :].strip(" .*") if anchors else None


def number_in(text: str) -> str | None:
    """The number that a text in prose gives as its answer: the first after "answer is", or the last.

    None where that is one of several, part of an expression, or what the answer is not.
    """
    anchors = list(_ANCHOR.finditer(text))
    if anchors:
        text = text[anchors[-1].end() :]
    numbers = [f for f in _NUMBER.finditer(text) if any(map(str.isdigit, f[1]))]
    if not numbers:
        return None
    chosen = numbers[0 if anchors else -1]
    before = text[max(0, chosen.start() - _NEAR) : chosen.start()]
    if _BEFORE.search(before) or _NEGATED.search(before) or _AFTER.match(text, chosen.end()):
        return None
    before, after = _sentence(text, chosen)
    if _DOUBT_BEFORE.search(before) or _DOUBT_AFTER.search(after):
        return None
    if _CHANGED_BEFORE.search(before) or _CHANGED_AFTER.match(after):
        return None
    letters = _LETTERS_AFTER.match(after)  # as of 5cm, but not of 5ths
    if letters is not None and known(letters[0]) is None:
        return None
    return chosen[1]


def _sentence(text: str, around: re.Match[str]) -> tuple[str, str]:
    """What its sentence says before and after it."""
    ends = [found.end() for found in _SENTENCE_END.finditer(text, 0, around.start())]
    following = _SENTENCE_END.search(text, around.end())
    start, end = ends[-1] if ends else 0, following.start() if following else len(text)
    return text[start : around.start()], text[around.end() : end]


def letter_in(text: str) -> str | None:
    """The letter of a choice that a text gives as its answer: before what the choice says, after
    "answer is", or as the last word of a sentence."""
    anchors = list(_ANCHOR.finditer(text))
    option = _OPTION.match(text)
    if anchors:
        first = _FIRST_LETTER.match(text, anchors[-1].end())
        if first is None or _DOUBT_AFTER.search(text, first.end(), first.end() + _AFTER_LETTER):
            return None
        return first[1] if option is None or option[1] == first[1] else None
    if option is not None:
        says_more = _NO_OPTION.search(text[option.end() :])
        return option[1] if says_more is None and len(set(_OPTIONS.findall(text))) < 2 else None
    if not is_prose(text) or _DOUBT_AFTER.search(text) or len(set(_CAPITAL.findall(text))) > 1:
        return None
    last = _LAST_LETTER.search(text)
    return None if last is None else last[1]


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
