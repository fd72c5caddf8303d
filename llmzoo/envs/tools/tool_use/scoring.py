"""What an answer and the calls before it are worth; pure functions.

A state's worth is a potential that every seat is paid the differences of (gamma 1):

* answer: 0.7 once the right answer is given
* tools: 0.2 x the share of the needed calls that were made
* economy: 0.1 x max(0, 1 - wasted rounds / needed calls), if the answer is right and every needed
  call was made
* waste: what the wasted rounds cost together, -0.2 at worst: 0.02 a round without a call, 0.015
  with a call that failed or was made before, 0.01 with one that brought nothing new. A wrong answer
  costs 0.02 for each round that was left, so that it never earns more than going on in vain

The honest solution is worth 1. Without one of its calls it is at most 0.9 - 0.2 / needed; a right
guess without any is 0.7; whatever is called without a right answer, at most 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from llmzoo.envs.base import MAX_ANSWER_CHARS as MAX_TEXT_CHARS
from llmzoo.envs.tools.tool_use.questions import NeededCall, Target

ANSWER, TOOLS, ECONOMY = 0.7, 0.2, 0.1
NO_CALL, FAILED, NEEDLESS = 0.02, 0.015, 0.01  # what a wasted round costs
BEGUN = 0.001  # by how much less, for naming a tool, and for a brace or a tag as calls have them
MAX_WASTE = 0.2
PARTS = ("answer", "tools", "economy", "waste")
MAX_ANSWER_CHARS = 200

_NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d{1,3}(?!\d))?")
_UNIT_OR_NUMBER = re.compile(rf"[^\W\d_]\d+|({_NUMBER.pattern})")  # of km2 the 2 is none
_THOUSANDS = re.compile(r"[-+]?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_MARKS = re.compile(r"\{|<tool_call>|<answer>")
_NEAR = 1e-9  # relative; two ways of rounding one number
_NEAR_AT_MOST = 0.4  # which tells a whole number from the next
_COMMON = 100  # smaller whole numbers stand in a program for other reasons
_MAX_DIGITS = 40
_RESULTS = 10  # of a call's numbers the last so many count: printing all there are finds nothing


def parts(*, needed: int, made: int, wasted: int, waste: float, right: bool) -> dict[str, float]:
    """The worth of a state in named parts. ``needed``: calls that the question needs, ``made``: those
    of them that were made, ``wasted``: rounds that brought nothing, ``waste``: what they cost,
    ``right``: the answer was given and is right. A question that names no calls counts as one whose
    calls come with the answer."""
    share = made / needed if needed else float(right)
    thrift = max(0.0, 1 - wasted / max(needed, 1)) if right and share == 1 else 0.0
    return {
        "answer": ANSWER * right,
        "tools": TOOLS * share,
        "economy": ECONOMY * thrift,
        "waste": -min(waste, MAX_WASTE),
    }


def no_call(text: str, tools: Iterable[str]) -> float:
    """What a round costs in which neither a call nor an answer can be read: the less, the more of
    a call there is, so that the texts of a weak model differ."""
    if len(text) > MAX_TEXT_CHARS:
        return NO_CALL
    named = any(tool in text for tool in tools)
    return NO_CALL - BEGUN * named - BEGUN * (_MARKS.search(text) is not None)


def is_right(target: Target, text: str) -> bool:
    """Whether ``text`` (an answer, or what a file holds) is one of the target's values, and nothing
    but it: a number with a unit or a few words around it, but no second number; a text as it is,
    but for case, punctuation and a leading article."""
    text = text.strip()
    if len(text) > MAX_ANSWER_CHARS:
        return False
    if target.within is None:
        return _words(text) in map(_words, target.values)
    found = numbers(text)
    return len(found) == 1 and any(
        close(found[0], float(value), target.within) for value in target.values
    )


def serves(step: NeededCall, tool: str, result: str) -> bool:
    """Whether a call of ``tool`` that gave ``result`` is the one that a step stands for."""
    if tool not in step.tools:
        return False
    if _NUMBER.fullmatch(step.shows):
        return _among(numbers(result)[-_RESULTS:], step)
    return step.shows in result


def put_in(step: NeededCall, arguments: Mapping[str, Any]) -> bool:
    """Whether the number that a step asks for stood in a call's arguments already, so that nothing
    was worked out. Where the expert's arguments hold it too, as in 400 - 200, that says nothing."""
    if not _NUMBER.fullmatch(step.shows):
        return False
    wanted = float(step.shows)
    if wanted.is_integer() and abs(wanted) < _COMMON:
        return False
    return _among(_given(arguments), step) and not _among(_given(step.arguments), step)


def _given(arguments: Mapping[str, Any]) -> list[float]:
    return numbers("\n".join(value for value in arguments.values() if isinstance(value, str)))


def _among(found: Iterable[float], step: NeededCall) -> bool:
    wanted = float(step.shows)
    return any(close(each, wanted, step.within) for each in found)


def numbers(text: str) -> list[float]:
    """The numbers in a text, but for digits of a unit such as km2; commas between thousands are
    read, other ones part numbers."""
    found = []
    for written in filter(None, _UNIT_OR_NUMBER.findall(text)):
        written = written.replace("−", "-")
        pieces = [written.replace(",", "")] if _THOUSANDS.fullmatch(written) else written.split(",")
        # of a number beyond reason the first digits will do: it is not the one that is wanted
        found += [float(piece[:_MAX_DIGITS]) for piece in pieces if piece.strip("+-.")]
    return found


def close(a: float, b: float, within: float) -> bool:
    return abs(a - b) <= within + min(_NEAR * max(1.0, abs(b)), _NEAR_AT_MOST)


def _words(text: str) -> str:
    words = re.findall(r"\w+", text.casefold())
    return " ".join(words[1:] if words[:1] == ["the"] else words)
