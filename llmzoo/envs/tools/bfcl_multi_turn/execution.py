"""The states of a dialogue's APIs, and the calls of records, which are run on them."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterable, Mapping
from typing import Any

from llmzoo.envs.tools.bfcl_multi_turn.apis import API, APIS
from llmzoo.envs.tools.bfcl_multi_turn.apis.base import Padding
from llmzoo.envs.tools.bfcl_multi_turn.tools import make_api_toolbox
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.sandbox import syntax

World = Mapping[str, API]  # the state of each API of a dialogue, by the API's name


def parse_call(text: str) -> ToolCall:
    """The call of a record, such as ``cd(folder='temp')``; raises ``ValueError``."""
    try:
        node = syntax.parse(text.strip(), mode="eval").body
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            named = {each.arg: ast.literal_eval(each.value) for each in node.keywords}
            if None not in named:
                positional = tuple(map(ast.literal_eval, node.args))
                return ToolCall(
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


def execute(calls: Iterable[ToolCall], world: World) -> list[str]:
    """The responses of calls, which change ``world``. A call that fails responds with its error."""
    toolbox = make_api_toolbox(tuple(world))
    return [toolbox.call(call, world)[0].text for call in calls]
