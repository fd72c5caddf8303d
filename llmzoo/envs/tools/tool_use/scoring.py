"""What an answer and the calls before it are worth; pure functions.

The worth of a state is a potential; every agent is paid its differences (gamma 1):

* answer: 0.7 once the right answer is given
* tools: 0.2 x the share of the needed calls that were made
* economy: 0.1 x max(0, 1 - wasted rounds / needed calls), if the answer is right and every needed
  call was made
* waste: minus the cost of the wasted rounds, at most 0.2: 0.02 for a round without a call, 0.015 for a
  call that failed or was made before, 0.01 for a call that the question does not need. A wrong answer
  costs 0.02 for each round that was left, so it never earns more than going on in vain

The honest solution is worth 1. Without one of its calls it is worth at most 0.9 - 0.2 / needed. A right
guess without any call is worth 0.7, and calls without a right answer at most 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from llmzoo.envs.base import MAX_ACTION_CHARS as MAX_TEXT_CHARS
from llmzoo.envs.tools.tool_use.questions import ExpectedAnswer, NeededCall

ANSWER, TOOLS, ECONOMY = 0.7, 0.2, 0.1
NO_CALL, FAILED, NEEDLESS = 0.02, 0.015, 0.01  # what a wasted round costs
ATTEMPT_DISCOUNT = (
    0.001  # how much less it costs to name a tool, and to write a brace or a tag of a call
)
MAX_WASTE = 0.2
REWARD_COMPONENTS = ("answer", "tools", "economy", "waste")
MAX_ANSWER_CHARS = 200

_NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d{1,3}(?!\d))?")
_UNIT_OR_NUMBER = re.compile(rf"[^\W\d_]\d+|({_NUMBER.pattern})")  # the 2 of km2 is no number
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MARKS = re.compile(r"\{|<tool_call>|<answer>")
_NEAR = 1e-9  # relative; two ways of rounding one number
_NEAR_AT_MOST = 0.4  # tells neighbouring whole numbers apart
_COMMON = 100  # smaller whole numbers occur in programs for other reasons
_MAX_DIGITS = 40
_RESULTS = (
    10  # only this many last numbers of a result count, so that printing all numbers does not help
)


def reward_components(
    *, needed: int, made: int, wasted: int, waste: float, right: bool
) -> dict[str, float]:
    """The worth of a state in named parts.

    needed, made: the number of calls that the question needs, and how many of them were made. A
        question that names no calls counts as one call, made with the answer.
    wasted, waste: the number of rounds that brought nothing, and their cost.
    right: the answer was given and is right.
    """
    share = made / needed if needed else float(right)
    thrift = max(0.0, 1 - wasted / max(needed, 1)) if right and share == 1 else 0.0
    return {
        "answer": ANSWER * right,
        "tools": TOOLS * share,
        "economy": ECONOMY * thrift,
        "waste": -min(waste, MAX_WASTE),
    }


def no_call_cost(text: str, tools: Iterable[str]) -> float:
    """The cost of a round without a readable call or answer. The more of a call there is, the less it
    costs, so that the texts of a weak model differ."""
    if len(text) > MAX_TEXT_CHARS:
        return NO_CALL
    named = any(tool in text for tool in tools)
    return NO_CALL - ATTEMPT_DISCOUNT * named - ATTEMPT_DISCOUNT * (_MARKS.search(text) is not None)


def is_right(target: ExpectedAnswer, text: str) -> bool:
    """Whether ``text`` (an answer, or the content of a file) is one of the target's values.

    A number may have a unit or a few words around it, but no second number. A text is compared without
    case, punctuation and a leading article.
    """
    text = text.strip()
    if len(text) > MAX_ANSWER_CHARS:
        return False
    if target.tolerance is None:
        return _words(text) in map(_words, target.values)
    values = parse_numbers(text)
    return len(values) == 1 and any(
        is_close(values[0], float(value), target.tolerance) for value in target.values
    )


def is_needed_call(step: NeededCall, tool: str, result: str) -> bool:
    """Whether a call of ``tool`` with this ``result`` is the needed call."""
    if tool not in step.tools:
        return False
    if _NUMBER.fullmatch(step.shows):
        return _contains_expected(parse_numbers(result)[-_RESULTS:], step)
    return step.shows in result


def contains_result(step: NeededCall, arguments: Mapping[str, Any]) -> bool:
    """Whether a call's arguments already contain the number that it should work out. If the expert's
    arguments contain it too, as in 400 - 200, this is False."""
    if not _NUMBER.fullmatch(step.shows):
        return False
    wanted = float(step.shows)
    if wanted.is_integer() and abs(wanted) < _COMMON:
        return False
    return _contains_expected(_argument_numbers(arguments), step) and not _contains_expected(
        _argument_numbers(step.arguments), step
    )


def _argument_numbers(arguments: Mapping[str, Any]) -> list[float]:
    return parse_numbers("\n".join(value for value in arguments.values() if isinstance(value, str)))


def _contains_expected(values: Iterable[float], step: NeededCall) -> bool:
    wanted = float(step.shows)
    return any(is_close(each, wanted, step.tolerance) for each in values)


def parse_numbers(text: str) -> list[float]:
    """The numbers in a text, apart from digits of a unit such as km2. Commas between thousands belong
    to a number, other commas separate numbers."""
    values = []
    for written in filter(None, _UNIT_OR_NUMBER.findall(text)):
        written = written.replace("−", "-")
        pieces = [written.replace(",", "")] if _THOUSANDS.fullmatch(written) else written.split(",")
        # the first digits of an absurdly long number will do: it is wrong anyway
        values += [float(piece[:_MAX_DIGITS]) for piece in pieces if piece.strip("+-.")]
    return values


def is_close(a: float, b: float, tolerance: float) -> bool:
    return abs(a - b) <= tolerance + min(_NEAR * max(1.0, abs(b)), _NEAR_AT_MOST)


def _words(text: str) -> str:
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words[1:] if words[:1] == ["the"] else words)
