"""The tools of both sides: what a model reads about them, how a call's arguments are checked, and how a call
is run."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from llmzoo.envs.text import cut, encodable
from llmzoo.envs.tools.telecom import desk, phone
from llmzoo.envs.tools.telecom.world import ToolError, World, synced

Side = Literal["user", "assistant"]
TOOLS: Mapping[str, Mapping[str, Callable[..., tuple[World, Any]]]] = {
    "user": phone.TOOLS,
    "assistant": desk.TOOLS,
}
MAX_RESULT_CHARS = 4_000
_KINDS: Mapping[str, tuple[type, ...]] = {
    "str": (str,),
    "int": (int,),
    "float": (int, float),
    "dict[str, Any]": (dict,),
}


@dataclass(frozen=True, slots=True)
class Call:
    """A call of a tool. ``side``: who calls it."""

    side: str
    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)

    def written(self) -> str:
        given = (f"{k}={json.dumps(v, ensure_ascii=False)}" for k, v in self.arguments.items())
        return f"{self.name}({', '.join(given)})"


def run(world: World, call: Call) -> tuple[World, str]:
    """The world after a call, and its result as text. Raises ``ToolError`` for a call that cannot be carried
    out, which leaves the world as it is."""
    tool = TOOLS[call.side].get(call.name)
    if tool is None:
        raise ToolError(f"there is no tool {cut(call.name, 60)!r}")
    after, result = tool(world, **checked(call))
    text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
    return synced(after), cut(encodable(text), MAX_RESULT_CHARS)


def checked(call: Call) -> dict[str, Any]:
    """The arguments of a call of a tool that there is; raises ``ToolError`` if they do not fit it."""
    takes = parameters_of(TOOLS[call.side][call.name])
    for name, value in call.arguments.items():
        if name not in takes:
            known = ", ".join(takes) or "none"
            raise ToolError(f"{call.name} has no argument {cut(name, 60)!r}; it has: {known}")
        kinds = _KINDS[str(takes[name].annotation)]
        if not isinstance(value, kinds) or isinstance(value, bool):
            raise ToolError(f"{name} of {call.name} must be {_kind(takes[name])}")
    for name, parameter in takes.items():
        if parameter.default is parameter.empty and name not in call.arguments:
            raise ToolError(f"{call.name} needs the argument {name}")
    return dict(call.arguments)


@lru_cache(maxsize=128)
def described(side: Side, name: str) -> str:
    """A tool for a model: a line of JSON with its name, what it does and its arguments."""
    tool = TOOLS[side][name]
    about, _, rest = (inspect.getdoc(tool) or "").partition("\n\n")
    told = dict(line.partition(": ")[::2] for line in rest.splitlines())
    given = {
        each: f"{_kind(parameter)}: {told[each]}" for each, parameter in parameters_of(tool).items()
    }
    return json.dumps(
        {"name": name, "description": " ".join(about.split()), "arguments": given},
        ensure_ascii=False,
    )


@lru_cache(maxsize=128)
def parameters_of(tool: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    return dict(list(inspect.signature(tool).parameters.items())[1:])


def _kind(parameter: inspect.Parameter) -> str:
    kind = {"str": "text", "int": "whole number", "float": "number"}.get(parameter.annotation)
    return kind or "object"
