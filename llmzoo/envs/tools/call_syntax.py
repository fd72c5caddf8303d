"""Tool calls and answers, read from what a model wrote.

Prompts ask for ``<tool_call>{"name": ..., "arguments": {...}}</tool_call>``. The forms that chat
templates teach models are read too: ``<function=name>{...}</function>``, Mistral's ``[TOOL_CALLS]``,
and, in an answer with none of these, JSON alone or in a fence: one call or several, with "arguments" or
"parameters", or OpenAI's ``{"tool_calls": [...]}``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmzoo.envs.text import truncate

MAX_CHARS = 20_000  # of an answer that is read at all
MAX_CALLS = 16  # of one answer
MAX_DEPTH = 32  # of lists and objects in each other
MAX_DIGITS = 1_000  # of a number

_TAG = re.compile(r"<(tool_call)>|<function=([^<>\s]{1,64})>")
_CLOSE = re.compile(r"\s*</function>")
_MARKS = frozenset(("arguments", "parameters", "function"))
# before a list of calls, or before a name (and an id) and the arguments
_MISTRAL = re.compile(
    r"\[TOOL_CALLS\]\s*(?:([\w.-]{1,64})(?:\[CALL_ID\]\w{1,64})?(?:\[ARGS\]|(?=\s*\{)))?"
)
_FENCE = re.compile(r"^```(?:json|tool_call)?[ \t]*\n", re.MULTILINE)
_SPACE = re.compile(r"\s*")
_JSON_BEGINS = re.compile(r"\s*(?=[{\[])")
_JSON_FOLLOWS = re.compile(r"[\s;,]*(?=\{)")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call as a model wrote it: the tool may not exist, and the arguments may not fit it.

    ``positional``: arguments without a name, which some records have and no model's call has."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class BadCall:
    """Text that was meant as a call but is none. ``reason``: one short sentence."""

    reason: str


class _NoCall(ValueError):
    """The text is not a call; the message says why."""


def parse_tool_calls(text: str) -> list[ToolCall | BadCall]:
    """The calls in ``text``, in their order; empty if there is no attempt at a call.

    A call without its closing tag is read if its JSON is complete. Takes linear time.
    """
    if len(text) > MAX_CHARS:
        return [BadCall(f"the answer is longer than {MAX_CHARS} characters")]
    form = (
        _tagged_calls
        if _TAG.search(text)
        else _mistral_calls
        if _MISTRAL.search(text)
        else _bare_calls
    )
    calls: list[ToolCall | BadCall] = []
    for call in form(text):
        if len(calls) == MAX_CALLS:
            return [*calls, BadCall(f"more than {MAX_CALLS} calls in one answer")]
        calls.append(call)
    return calls


def parse_answer(text: str) -> str | None:
    """The text in the last ``<answer>...</answer>``, stripped; None if there is none."""
    start = text.rfind("<answer>", 0, max(text.rfind("</answer>"), 0))
    if start < 0:
        return None
    start += len("<answer>")
    return text[start : text.index("</answer>", start)].strip()


def _tagged_calls(text: str) -> Iterator[ToolCall | BadCall]:
    """The calls between tags. JSON is read from its first to its last brace, so a closing tag within a
    string does not end it."""
    tag = _TAG.search(text)
    while tag is not None:
        close = "</tool_call>" if tag[1] else "</function>"
        end = tag.end()
        try:
            if tag[1]:
                value, end = _json(text, tag.end(), close)
                call = _call(value)
            else:
                call, end = _function(tag[2], text, tag.end())
            following = text[end:].lstrip()[: len(close)]
            if not close.startswith(following) and not _TAG.match(text, end):
                raise _NoCall(f"there is text between the JSON and {close}")
            yield call
        except _NoCall as reason:
            yield BadCall(str(reason))
        tag = _TAG.search(text, end)


def _function(name: str, text: str, start: int) -> tuple[ToolCall, int]:
    """The call of a ``<function=name>`` tag, and the end of its JSON."""
    if _CLOSE.match(text, start):
        return ToolCall(name), start
    value, end = _json(text, start, "</function>")
    return ToolCall(name, _arguments(value)), end


def _mistral_calls(text: str) -> Iterator[ToolCall | BadCall]:
    """The calls after Mistral's mark."""
    mark = _MISTRAL.search(text)
    while mark is not None:
        end = mark.end()
        try:
            value, end = _json(text, end, "the end")
            if mark[1]:
                yield ToolCall(mark[1], _arguments(value))
            else:
                yield from map(_call, value if isinstance(value, list) else [value])
        except _NoCall as reason:
            yield BadCall(str(reason))
        mark = _MISTRAL.search(text, end)


def _bare_calls(text: str) -> Iterator[ToolCall | BadCall]:
    """The calls of an answer that is JSON or has JSON in fences."""
    starts = [fence.end() for fence in _FENCE.finditer(text)]
    if not starts:
        head = text.lstrip().removeprefix("<|python_tag|>").lstrip()  # Llama's mark of a call
        starts = [len(text) - len(head)]
    end = 0
    for start in starts[: 2 * MAX_CALLS]:
        begin = _JSON_BEGINS.match(text, start) if start >= end else None
        while begin is not None:
            try:
                value, end = _json(text, begin.end(), "```")
            except _NoCall as reason:
                if '"name"' in text[begin.end() : begin.end() + 200]:
                    yield BadCall(str(reason))
                break
            yield from _calls(value)
            begin = _JSON_FOLLOWS.match(text, end)


def _calls(value: Any) -> Iterator[ToolCall | BadCall]:
    """The calls of a JSON value; none if the value is not about calls."""
    if isinstance(value, Mapping) and isinstance(value.get("tool_calls"), list):
        value = value["tool_calls"]
    for each in value if isinstance(value, list) else [value]:
        # a name alone may mean anything: without tags, only arguments make a call
        if isinstance(each, Mapping) and _MARKS.intersection(each):
            try:
                yield _call(each)
            except _NoCall as reason:
                yield BadCall(str(reason))


def _call(value: Any) -> ToolCall:
    if not isinstance(value, Mapping):
        raise _NoCall(f"a call is a JSON object, got {_kind(value)}")
    if isinstance(value.get("function"), Mapping):  # OpenAI's form wraps it once more
        value = value["function"]
    name = value.get("name")
    if not isinstance(name, str) or not name:
        raise _NoCall('the call has no "name", the name of a tool')
    for key in ("arguments", "parameters"):
        if key in value:
            return ToolCall(name, _arguments(value[key]))
    if stray := [key for key in value if key not in ("name", "type", "id")]:
        raise _NoCall(
            f'the call has no "arguments"; {truncate(repr(stray[0]), 60)} belongs in there'
        )
    return ToolCall(name)


def _arguments(value: Any) -> Mapping[str, Any]:
    if isinstance(value, str):  # OpenAI's form: JSON in a string
        text, value, end = value.strip(), {}, 0
        if text:
            value, end = _json(text, 0, "the end")
        if end < len(text):
            raise _NoCall("there is text after the JSON of the arguments")
    if not isinstance(value, Mapping):
        raise _NoCall(f"the arguments must be a JSON object, got {_kind(value)}")
    return value


def _json(text: str, start: int, close: str) -> tuple[Any, int]:
    """The JSON value at ``start`` and its end. ``close``: what a model should write after it."""
    try:
        value, end = _DECODER.raw_decode(text, _SPACE.match(text, start).end())  # type: ignore[union-attr]
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()):
            raise _NoCall(f"the JSON is unfinished: it ends before {close}") from error
        near = truncate(text[error.pos :][:20].partition("\n")[0], 20)
        raise _NoCall(f"not JSON: {error.msg.lower()} at {near!r}") from error
    except RecursionError as error:
        raise _NoCall(f"JSON nested deeper than {MAX_DEPTH}") from error
    except ValueError as error:  # of a number
        raise _NoCall(f"not JSON: {error}") from error
    _check(value)
    return value, end


def _check(value: Any) -> None:
    """Raise ``_NoCall`` for JSON that is nested too deeply or contains half of a surrogate pair."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for each in level:
            if isinstance(each, str) and not each.isascii():
                try:
                    each.encode()
                except UnicodeEncodeError as error:
                    raise _NoCall("not JSON: half of a surrogate pair") from error
            elif isinstance(each, Mapping):
                inner += each.keys()
                inner += each.values()
            elif isinstance(each, list):
                inner += each
        if not inner:
            return
        level = inner
    raise _NoCall(f"JSON nested deeper than {MAX_DEPTH}")


def _kind(value: Any) -> str:
    kinds = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}
    return kinds.get(type(value), "an object" if isinstance(value, Mapping) else "a number")


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number of JSON")


def _integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError("a number has too many digits")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if math.isinf(value):
        raise ValueError("a number is too large")
    return value


# line breaks within strings are accepted: models write programs this way
_DECODER = json.JSONDecoder(
    parse_constant=_no_constant, parse_int=_integer, parse_float=_finite, strict=False
)
