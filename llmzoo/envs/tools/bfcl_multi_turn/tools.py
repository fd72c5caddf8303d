"""The public methods of the APIs as tools, what a model reads about them, and how BFCL writes their results."""

from __future__ import annotations

import copy
import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, lru_cache
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis import API, APIS
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.toolbox import ReplyFormat, Tool, Toolbox, ToolError, ToolReply, make_tool

MAX_RESPONSE_CHARS = 400_000
_PREFIX = "Error during execution: "
_TOO_LONG = f"a response of more than {MAX_RESPONSE_CHARS} characters"
_TYPES = {"number": "float", "object": "dict"}  # BFCL's names of JSON's types


@cache
def api_tools(api: str) -> Mapping[str, Tool]:
    """The public methods of an API. The state is the API, which a call changes: copy it before."""
    return {
        name: replace(_make_tool(function, api), check=_copy_arguments)
        for name, function in vars(APIS[api]).items()
        if inspect.isfunction(function) and not name.startswith("_")
    }


@lru_cache(maxsize=256)
def make_api_toolbox(apis: tuple[str, ...]) -> Toolbox:
    """The tools of several APIs; of those with one name, the last."""
    tools = {name: tool for api in apis for name, tool in api_tools(api).items()}
    return Toolbox(tools.values(), _FORMAT)


@cache
def describe_tool(tool: Tool) -> str:
    """What a model reads about a tool: JSON in the form of BFCL's descriptions."""
    parameters = tool.parameters
    properties = {name: _describe(schema) for name, schema in parameters["properties"].items()}
    required = parameters.get("required", [])
    description = {
        "name": tool.name,
        "description": tool.description,
        "parameters": {"type": "dict", "properties": properties, "required": required},
    }
    return json.dumps(description, ensure_ascii=False)


def _describe(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter as BFCL describes it; that it may be None is not said."""
    (kind, *_) = schema.get("anyOf", [schema])
    shown: dict[str, Any] = {"type": _TYPES.get(kind["type"], kind["type"])}
    if "items" in kind:
        shown["items"] = _describe(kind["items"])
    for key in ("description", "default"):
        if schema.get(key) is not None:
            shown[key] = schema[key]
    return shown


def _make_tool(function: Callable[..., Any], api: str) -> Tool:
    def run(state: API, values: Mapping[str, Any]) -> ToolReply:
        text = _write_result(function(state, **values))
        if len(text) > MAX_RESPONSE_CHARS:
            raise ToolError(_TOO_LONG)
        return ToolReply(text, state=state)

    return make_tool(function, run, leave_out=1, group=api)


def _copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments, unchecked: BFCL's error for wrong ones is Python's own."""
    return copy.deepcopy(dict(arguments))


def _write_result(result: Any) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):  # a number of another kind
            return str(result)
    return str(result)


def _explain(error: Exception, tool: Tool, call: ToolCall) -> str:
    message = str(error)
    return message if len(_PREFIX + message) <= MAX_RESPONSE_CHARS else _TOO_LONG


_FORMAT = ReplyFormat(
    max_chars=MAX_RESPONSE_CHARS,
    max_error_chars=MAX_RESPONSE_CHARS,
    prefix=_PREFIX,
    explain=_explain,
    unknown=lambda name, tools: f"name {name.partition('.')[0]!r} is not defined",
)
