"""The calls in an answer: Python, read from its syntax tree and never run, or JSON."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any, Literal

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.programs import NoProgram
from llmzoo.envs.text import truncate
from llmzoo.envs.tools.call_syntax import BadCall, ToolCall, parse_tool_calls

MAX_CALLS = 40  # the longest turn of BFCL's references has 34

_FENCE = re.compile(r"```\w*")
_WORDS = {"true": True, "false": False, "null": None}  # of JSON, which models mix in


class NoCalls(ValueError):
    """A text has no readable calls; the message tells the agent why."""


def parse_calls(text: str, *, unnamed: Literal["error", "drop"] = "error") -> tuple[ToolCall, ...]:
    """The calls in an answer: its last list, without prose and code fences around it.

    Forms: ``[f(a=1), g(b="x")]`` and ``[]``, calls without the brackets, or tool calls in JSON. Raises
    :class:`NoCalls` if any call cannot be read, and for an argument without a name unless ``unnamed`` says
    to drop those.
    """
    if len(text) > MAX_ACTION_CHARS:
        raise NoCalls(f"an answer longer than {MAX_ACTION_CHARS} characters")
    calls = _python_calls(text, unnamed == "drop")
    if calls is None:
        calls = _json_calls(text)
    if len(calls) > MAX_CALLS:
        raise NoCalls(f"more than {MAX_CALLS} calls")
    return calls


def format_calls(calls: tuple[ToolCall, ...]) -> str:
    """Calls as Python; the inverse of ``read``."""
    return f"[{', '.join(map(_format_call, calls))}]"


def _format_call(call: ToolCall) -> str:
    return (
        f"{call.name}({', '.join(f'{name}={value!r}' for name, value in call.arguments.items())})"
    )


def _python_calls(text: str, drop: bool) -> tuple[ToolCall, ...] | None:
    """The calls of the first candidate that is Python calls; None if there is none."""
    for source in _candidates(text):
        try:
            body = programs.parse(source).body
        except NoProgram:
            continue
        nodes = _call_nodes(body)
        if nodes is not None:
            return tuple(_parse_call(node, drop) for node in nodes)
    return None


def _candidates(text: str) -> Iterator[str]:
    """The parts of an answer that may be its calls: all of it, its last fenced block, and its last list
    unless that belongs to a call in JSON."""
    yield text.strip()
    blocks = _FENCE.split(text)
    if len(blocks) > 1:  # if the last fence is open, the text after it
        yield blocks[-2 if len(blocks) % 2 else -1].strip()
    if any(isinstance(each, ToolCall) for each in parse_tool_calls(text)):
        return
    end = text.rfind("]")
    line = max(text.rfind("\n[", 0, end + 1), 0)  # prefer a list that begins a line
    start = text.find("[", line, end + 1)
    if start >= 0:
        yield text[start : end + 1]


def _call_nodes(body: list[ast.stmt]) -> list[ast.Call] | None:
    nodes: list[ast.expr] = []
    for statement in body:
        if not isinstance(statement, ast.Expr):
            return None
        value = statement.value
        nodes += value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    return calls if body and len(calls) == len(nodes) else None


def _parse_call(node: ast.Call, drop: bool) -> ToolCall:
    name = _parse_name(node.func)
    if node.args and not drop:
        raise NoCalls(f"an argument of {name} without a name: write {name}(parameter=value)")
    arguments: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise NoCalls(f"arguments of {name} in **: write each by name")
        arguments[keyword.arg] = _parse_value(keyword.value)
    return ToolCall(name, arguments)


def _parse_name(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        raise NoCalls("a function that is not called by its name")
    return truncate(".".join([node.id, *reversed(parts)]), 200)


def _parse_value(node: ast.expr) -> Any:
    """The value of a literal, lists and dicts included. :func:`programs.parse` has limited how deeply
    brackets nest."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str | int | float | None):
        return node.value
    if isinstance(node, ast.Name) and node.id in _WORDS:
        return _WORDS[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant):
        number = node.operand.value
        if type(number) is int or type(number) is float:
            if isinstance(node.op, ast.USub):
                return -number
            if isinstance(node.op, ast.UAdd):
                return number
    if isinstance(node, ast.List | ast.Tuple):
        return [_parse_value(inner) for inner in node.elts]
    if isinstance(node, ast.Dict):
        keys = [None if key is None else _parse_value(key) for key in node.keys]
        if all(isinstance(key, str) for key in keys):
            return dict(zip(keys, map(_parse_value, node.values), strict=True))
    raise NoCalls("an argument that is no number, text, truth value, None, list or dict")


def _json_calls(text: str) -> tuple[ToolCall, ...]:
    parsed = parse_tool_calls(text)
    if not parsed:
        raise NoCalls("no calls: write a list such as [f(a=1)], or [] for none")
    calls = []
    for each in parsed:
        if isinstance(each, BadCall):
            raise NoCalls(each.reason)
        calls.append(each)
    return tuple(calls)
