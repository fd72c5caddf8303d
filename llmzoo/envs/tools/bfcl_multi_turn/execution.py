"""Calls and what they return: a call is run on the state of an API, and its result written as BFCL does."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis import API, APIS
from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding, functions_of
from llmzoo.sandbox import syntax

MAX_RESPONSE_CHARS = 400_000

World = Mapping[str, API]  # the state of each API of a dialogue, by the API's name


@dataclass(frozen=True, slots=True)
class APICall:
    """A call. ``positional``: arguments without a name, which records have and models may not write."""

    name: str
    arguments: Mapping[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()


def parse_call(text: str) -> APICall:
    """The call of a record, such as ``cd(folder='temp')``; raises ``ValueError``."""
    try:
        node = syntax.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
            if None not in named:
                positional = tuple(map(ast.literal_eval, node.args))
                return APICall(
                    node.func.id, {str(name): v for name, v in named.items()}, positional
                )
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError) as error:
        raise ValueError(f"{text[:200]!r} is no call of literals: {error}") from error
    raise ValueError(f"{text[:200]!r} is no call of literals")


def build_world(apis: Iterable[str], config: Mapping[str, Any], padding: Padding | None) -> World:
    """The state at the start of a dialogue. ``padding`` is given for a long context only."""
    return {name: APIS[name](copy.deepcopy(config.get(name, {})), padding) for name in apis}


def copy_world(world: World) -> World:
    return {name: copy.deepcopy(api) for name, api in world.items()}


def execute(calls: Iterable[APICall], world: World) -> list[str]:
    """The responses of calls, which change ``world``. A call that fails responds with its error."""
    return [_execute(call, world) for call in calls]


def _execute(call: APICall, world: World) -> str:
    try:
        result = _run(call, world)
        written = _format_result(result)
    except Exception as error:  # whatever a model's arguments raise is its response
        written = f"Error during execution: {error}"
    if len(written) > MAX_RESPONSE_CHARS:
        return f"Error during execution: a response of more than {MAX_RESPONSE_CHARS} characters"
    return written


def _run(call: APICall, world: World) -> Any:
    for api in reversed(list(world.values())):
        if call.name in functions_of(type(api)):
            arguments = copy.deepcopy((call.positional, dict(call.arguments)))
            return getattr(api, call.name)(*arguments[0], **arguments[1])
    raise NameError(f"name {call.name.partition('.')[0]!r} is not defined")


def _format_result(result: Any) -> str:
    if isinstance(result, str):
        return result
    if isinstance(result, dict):
        try:
            return json.dumps(result)
        except (TypeError, ValueError):  # a number of another kind
            return str(result)
    return str(result)
