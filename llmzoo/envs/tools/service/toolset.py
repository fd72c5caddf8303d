"""Tools over a world that is never changed in place: what a model reads about them, how a call's arguments are
checked, and how a call is run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Generic, Literal, TypeVar

from llmzoo.envs.text import replace_surrogates, truncate

World = TypeVar("World")
Side = Literal["user", "assistant"]
ToolFunction = Callable[
    ..., tuple[Any, Any]
]  # of a world and arguments: the world after it, and a result

_KINDS: Mapping[str, tuple[tuple[type, ...], str]] = {  # by annotation, and its name for a model
    "str": ((str,), "text"),
    "int": ((int,), "whole number"),
    "float": ((int, float), "number"),
    "dict[str, Any]": ((dict,), "object"),
    "list[dict[str, Any]]": ((list,), "list of objects"),
}


class CallError(ValueError):
    """Why a call cannot be carried out; the message is the call's result."""


@dataclass(frozen=True, slots=True)
class ServiceCall:
    """A call of a tool. ``side``: who calls it."""

    side: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def to_text(self) -> str:
        given = (f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in self.arguments.items())
        return f"{self.name}({', '.join(given)})"


@dataclass(frozen=True, eq=False)
class Toolset(Generic[World]):
    """The tools of both sides by name.

    propagate: applied after each call, for changes that follow from it. max_result_chars: of a result that a
    model reads.
    """

    tools: Mapping[str, Mapping[str, ToolFunction]]
    propagate: Callable[[World], World]
    max_result_chars: int = 4_000

    def run(self, world: World, call: ServiceCall) -> tuple[World, str]:
        """The world after a call, and its result as text. Raises ``CallError`` for a call that cannot be
        carried out, which leaves the world as it is."""
        tool = self.tools[call.side].get(call.name)
        if tool is None:
            raise CallError(f"there is no tool {truncate(call.name, 60)!r}")
        after, result = tool(world, **validate_arguments(tool, call))
        text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        return self.propagate(after), truncate(replace_surrogates(text), self.max_result_chars)

    def after(self, world: World, calls: Iterable[ServiceCall]) -> World:
        """The world after calls, all of which can be carried out. Raises ``CallError``."""
        for call in calls:
            world, _ = self.run(world, call)
        return world

    def descriptions(self, side: Side) -> list[str]:
        """The tools of a side for a model: a line of JSON each, with its name, what it does and its
        arguments."""
        return [_describe_tool(tool, name) for name, tool in self.tools[side].items()]

    def signatures(self, side: Side) -> str:
        """The tools of a side in one line, with the names of their arguments."""
        side_tools = self.tools[side].items()
        return ", ".join(f"{name}({', '.join(parameters_of(tool))})" for name, tool in side_tools)


def validate_arguments(tool: ToolFunction, call: ServiceCall) -> dict[str, Any]:
    """The arguments of a call of a tool; raises ``CallError`` if they do not fit it."""
    parameters = parameters_of(tool)
    for name, value in call.arguments.items():
        if name not in parameters:
            known = ", ".join(parameters) or "none"
            raise CallError(f"{call.name} has no argument {truncate(name, 60)!r}; it has: {known}")
        kinds, kind_name = _KINDS[str(parameters[name].annotation)]
        items = value if isinstance(value, list) else []
        fits = isinstance(value, kinds) and not isinstance(value, bool)
        if not fits or not all(isinstance(each, dict) for each in items):
            raise CallError(f"{name} of {call.name} must be {kind_name}")
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in call.arguments:
            raise CallError(f"{call.name} needs the argument {name}")
    return dict(call.arguments)


@lru_cache(maxsize=256)
def parameters_of(tool: ToolFunction) -> Mapping[str, inspect.Parameter]:
    """The arguments of a tool, without the world."""
    return dict(list(inspect.signature(tool).parameters.items())[1:])


@lru_cache(maxsize=256)
def _describe_tool(tool: ToolFunction, name: str) -> str:
    about, _, rest = (inspect.getdoc(tool) or "").partition("\n\n")
    parameter_docs = dict(line.partition(": ")[::2] for line in rest.splitlines())
    arguments = {
        each: f"{_KINDS[str(parameter.annotation)][1]}: {parameter_docs[each]}"
        for each, parameter in parameters_of(tool).items()
    }
    return json.dumps(
        {"name": name, "description": " ".join(about.split()), "arguments": arguments},
        ensure_ascii=False,
    )
