"""Tools: typed functions that a model calls by name, with JSON arguments.

A tool's state belongs to an episode and is immutable; each call returns the next state. So both copies
of a forked episode continue from the same states. Tools of one ``group`` share a state.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, overload

from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.schemas import BadArguments, Check, argument_schema, describe_function
from llmzoo.errors import ConfigError, SandboxError, ServiceError, UnknownNameError
from llmzoo.registry import load_object

MAX_REPLY_CHARS = 3_000  # of a reply's text
MAX_ERROR_CHARS = 300
STATELESS = ""  # the group of tools that keep no state

ToolSpec = Any  # a tool's name, "module:attribute", a Tool, or several tools in a list or tuple

BUILT_IN = {  # name -> function that returns the tools
    "calculator": "llmzoo.envs.tools.calculator:calculator_tools",
    "python": "llmzoo.envs.tools.python_repl:python_tools",
    "files": "llmzoo.envs.tools.file_tools:files_tools",
    "search": "llmzoo.envs.tools.search:search_tools",
}


class ToolError(Exception):
    """Raised by a tool. The model reads its message as the error, unchanged."""


@dataclass(frozen=True)
class ToolReply:
    """The result of a call. ``text``: what the model reads, after an error too. ``error``: why the call
    failed, in short. ``state``: the tool's next state."""

    text: str
    error: str | None = None
    state: Any = None


def error_reply(error: str, state: Any = None) -> ToolReply:
    """The reply of a call that only gave an error. The state stays as it was."""
    error = replace_surrogates(truncate(error, MAX_ERROR_CHARS))
    return ToolReply(f"Error: {error}", error, state)


@dataclass(frozen=True, eq=False, kw_only=True)
class Tool:
    """A tool: what a model reads about it, and what a call does.

    Made by :func:`tool` and :func:`stateful`.

    parameters: JSON schema of the arguments.
    check: turns JSON arguments into values, or raises ``BadArguments``.
    run: takes the state and the values.
    group: the name under which the state is kept, "" for a tool without state.
    initial: the immutable state at the start of an episode.
    function: the Python function behind it.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    check: Check
    run: Callable[[Any, Mapping[str, Any]], ToolReply]
    group: str
    initial: Any = None
    function: Callable[..., Any] | None = None

    def schema(self) -> dict[str, Any]:
        """The tool as chat templates and OpenAI-compatible endpoints take it."""
        return {
            "type": "function",
            "function": {
                "name": self.name,
                "description": self.description,
                "parameters": dict(self.parameters),
            },
        }

    def call(self, arguments: Mapping[str, Any], state: Any = None) -> ToolReply:
        """The reply to a call, with ``error`` if it failed.

        Raises only ``SandboxError`` and ``ServiceError``, which are not the model's fault.
        """
        try:
            reply = self.run(state, self.check(arguments))
        except (BadArguments, ToolError) as error:
            return error_reply(str(error), state)
        except (SandboxError, ServiceError):
            raise
        except Exception as error:  # a user's function may raise of every kind
            return error_reply(f"{type(error).__name__}: {error}", state)
        return replace(
            reply,
            text=replace_surrogates(truncate(reply.text, MAX_REPLY_CHARS)),
            error=None
            if reply.error is None
            else replace_surrogates(truncate(reply.error, MAX_ERROR_CHARS)),
        )


@overload
def tool(function: Callable[..., Any]) -> Tool: ...
@overload
def tool(*, name: str) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None, *, name: str | None = None
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A tool of a typed function: ``@tool``, or ``@tool(name="...")`` for another name.

    The first paragraph of the docstring describes the tool, an ``Args`` section its parameters. The
    model reads what the function returns, a string as it is and anything else as JSON, or the error
    that it raises. The function runs in this process, without a time limit.
    """
    if function is None:
        return lambda decorated: _stateless_tool(decorated, name or decorated.__name__)
    return _stateless_tool(function, function.__name__)


def stateful(
    *, group: str, initial: Any, name: str | None = None
) -> Callable[[Callable[..., ToolReply]], Tool]:
    """A tool of a function ``(state, ...) -> ToolReply`` whose reply holds the next state.

    ``state`` is the state after the last call of a tool of the ``group``. The function must not change
    it.
    """

    def decorate(function: Callable[..., ToolReply]) -> Tool:
        def run(state: Any, values: Mapping[str, Any]) -> ToolReply:
            return function(state, **values)

        return _make_tool(function, name, run, leave_out=1, group=group, initial=initial)

    return decorate


def _stateless_tool(function: Callable[..., Any], name: str) -> Tool:
    def run(state: Any, values: Mapping[str, Any]) -> ToolReply:
        return ToolReply(_as_text(function(**values)), state=state)

    return _make_tool(function, name, run, leave_out=0, group=STATELESS)


def _make_tool(
    function: Callable[..., Any],
    name: str | None,
    run: Callable[[Any, Mapping[str, Any]], ToolReply],
    *,
    leave_out: int,
    group: str,
    initial: Any = None,
) -> Tool:
    schema, check = argument_schema(function, leave_out=leave_out)
    return Tool(
        name=name or function.__name__,
        description=describe_function(function),
        parameters=schema,
        check=check,
        run=run,
        group=group,
        initial=initial,
        function=function,
    )


def _as_text(result: Any) -> str:
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


class Toolbox:
    """The tools of an episode. ``states`` maps each group to its state and is never changed."""

    def __init__(self, tools: Iterable[Tool]):
        self.tools: dict[str, Tool] = {}
        for each in tools:
            if each.name in self.tools:
                raise ConfigError(f"two tools are called {each.name!r}: give one another name")
            self.tools[each.name] = each

    def schemas(self) -> list[dict[str, Any]]:
        return [each.schema() for each in self.tools.values()]

    def start(self) -> Mapping[str, Any]:
        """The states at the start of an episode. A group's state may be replaced, as in
        ``{**toolbox.start(), "files": folder({"a.txt": "..."})}``."""
        return {each.group: each.initial for each in self.tools.values()}

    def call(
        self, call: ToolCall, states: Mapping[str, Any]
    ) -> tuple[ToolReply, Mapping[str, Any]]:
        """The reply to a call, and the next states. Raises as :meth:`Tool.call` does."""
        if call.name not in self.tools:
            unknown = UnknownNameError("tool", truncate(call.name, 60), self.tools)
            return error_reply(str(unknown)), states
        requested_tool = self.tools[call.name]
        reply = requested_tool.call(call.arguments, states[requested_tool.group])
        return reply, {**states, requested_tool.group: reply.state}


def make_toolbox(specs: Sequence[ToolSpec]) -> Toolbox:
    """The toolbox of the given tools.

    Each is ``"calculator"``, ``"python"``, ``"files"`` or ``"search"``, a :class:`Tool`, a list or
    tuple of tools, or the ``"module:attribute"`` of one of these.

    Raises ``ConfigError`` for anything else and ``UnknownNameError`` for an unknown name.
    """
    return Toolbox(each for spec in specs for each in _load_tools(spec))


def _load_tools(spec: ToolSpec) -> Sequence[Tool]:
    if isinstance(spec, str) and ":" not in spec:
        if spec not in BUILT_IN:
            raise UnknownNameError("tool", spec, [*BUILT_IN, "module:attribute"])
        loaded = load_object(BUILT_IN[spec])()
    elif isinstance(spec, str):
        try:
            loaded = load_object(spec)
        except (ImportError, AttributeError, ValueError) as error:
            raise ConfigError(f"tool {spec!r} cannot be imported: {error}") from error
    else:
        loaded = spec
    several = loaded if isinstance(loaded, list | tuple) else [loaded]
    for each in several:
        if not isinstance(each, Tool):
            raise ConfigError(
                f"a tool is a function under @tool, or the name of one; got {each!r} of {spec!r}"
            )
    return several
