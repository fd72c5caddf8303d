"""Tools over the world of a call: how they are made of functions, and what a model reads about them."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from typing import Any, Literal, TypeVar

from llmzoo.envs.text import truncate
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.schemas import BadArguments
from llmzoo.envs.tools.toolbox import (
    ReplyFormat,
    Tool,
    Toolbox,
    ToolError,
    ToolReply,
    explain_error,
    make_tool,
    write_result,
)

World = TypeVar("World")
Side = Literal["user", "assistant"]
# of a world, which is never changed in place, and arguments: the world after it, and a result
ToolFunction = Callable[..., tuple[Any, Any]]

WORLD = "world"  # the group of all tools
MAX_RESULT_CHARS = 4_000  # of a result that a model reads
_KINDS = {  # names for a model, by JSON's
    "string": "text",
    "integer": "whole number",
    "number": "number",
    "object": "object",
    "array": "list of objects",
}


def make_service_tools(
    functions: Iterable[ToolFunction],
    propagate: Callable[[Any], Any] = lambda world: world,
    max_result_chars: int = MAX_RESULT_CHARS,
) -> Toolbox:
    """The tools of one side. propagate: applied after each call, for changes that follow from it."""

    def make(function: ToolFunction) -> Tool:
        def run(world: Any, values: Mapping[str, Any]) -> ToolReply:
            after, result = function(world, **values)
            return ToolReply(write_result(result), state=propagate(after))

        return make_tool(function, run, leave_out=1, group=WORLD)

    reply_format = ReplyFormat(
        max_chars=max_result_chars,
        max_error_chars=sys.maxsize,  # it quotes a call, which is not long
        explain=_explain,
        unknown=lambda name, tools: f"there is no tool {truncate(name, 60)!r}",
    )
    return Toolbox(map(make, functions), reply_format)


def public_functions(module: Mapping[str, Any], *leave_out: str) -> dict[str, ToolFunction]:
    """The public functions that a module (its ``globals()``) defines, by name."""
    return {
        name: value
        for name, value in module.items()
        if inspect.isfunction(value)
        and value.__module__ == module["__name__"]
        and not name.startswith("_")
        and name not in leave_out
    }


def run_call(tools: Toolbox, world: World, call: ToolCall) -> tuple[World, str]:
    """The world after a call, and its result. Raises ``ToolError`` for a call that cannot be carried out."""
    reply, states = tools.call(call, {WORLD: world})
    if reply.error is not None:
        raise ToolError(reply.error)
    return states[WORLD], reply.text


def world_after(tools: Iterable[Toolbox], world: World, calls: Iterable[ToolCall]) -> World:
    """The world after calls, each of a tool in one of the boxes. Raises ``ToolError``."""
    owners = {name: box for box in tools for name in box.tools}
    for call in calls:
        world, _ = run_call(owners[call.name], world, call)
    return world


def write_call(call: ToolCall) -> str:
    given = (f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in call.arguments.items())
    return f"{call.name}({', '.join(given)})"


@lru_cache(maxsize=256)
def describe_tool(tool: Tool) -> str:
    """A tool for a model: a line of JSON with its name, what it does and its arguments."""
    arguments = {
        name: f"{_KINDS[schema['type']]}: {schema['description']}"
        for name, schema in tool.parameters["properties"].items()
    }
    about = {"name": tool.name, "description": tool.description, "arguments": arguments}
    return json.dumps(about, ensure_ascii=False)


def _explain(error: Exception, tool: Tool, call: ToolCall) -> str:
    """Why a call failed: the first argument that is wrong, or else the first that is missing."""
    if not isinstance(error, BadArguments) or not error.problems:
        return explain_error(error, tool, call)
    given, parameters = list(call.arguments), tool.parameters["properties"]
    wrong = [each for each in error.problems if each.kind != "missing"]
    if not wrong:
        return f"{tool.name} needs the argument {error.problems[0].path[0]}"
    problem = min(wrong, key=lambda each: given.index(str(each.path[0])))
    name = str(problem.path[0])
    if problem.kind == "wrong":
        return f"{name} of {tool.name} must be {_KINDS[parameters[name]['type']]}"
    known = ", ".join(parameters) or "none"
    return f"{tool.name} has no argument {truncate(name, 60)!r}; it has: {known}"
