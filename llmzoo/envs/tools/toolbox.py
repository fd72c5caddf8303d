"""Tools: typed functions that a model calls by name, with JSON arguments.

A tool's state belongs to an episode and is immutable; each call returns the next state. So both copies
of a forked episode continue from the same states. Tools of one ``group`` share a state. Every environment
with tools uses :class:`Tool` and :class:`Toolbox`; :class:`ReplyFormat` says what a model reads of a call.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
    """Why a call cannot be carried out. The model reads the message as the error, unchanged."""


@dataclass(frozen=True)
class ToolReply:
    """The result of a call. ``text``: what the model reads, after an error too. ``error``: why the call
    failed, in short. ``state``: the tool's next state."""

    text: str
    error: str | None = None
    state: Any = None


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

    @property
    def signature(self) -> str:
        """The tool in short: ``name(parameter, ...)``."""
        return f"{self.name}({', '.join(self.parameters.get('properties', {}))})"

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

    def name_arguments(self, call: ToolCall) -> dict[str, Any]:
        """The arguments of a call by name. Raises ``BadArguments`` for a positional one without a name of
        its own."""
        names = list(self.parameters.get("properties", {}))[: len(call.positional)]
        if len(names) < len(call.positional) or not call.arguments.keys().isdisjoint(names):
            raise BadArguments(f"{self.name} has too many arguments")
        return {**dict(zip(names, call.positional, strict=True)), **call.arguments}

    def call(self, arguments: Mapping[str, Any], state: Any = None) -> ToolReply:
        """The reply to a call with arguments by name; see :meth:`reply`."""
        return self.reply(ToolCall(self.name, arguments), state)

    def reply(
        self, call: ToolCall, state: Any = None, reply_format: ReplyFormat | None = None
    ) -> ToolReply:
        """The reply to a call, with ``error`` if it failed, which leaves the state as it is.

        Raises only ``SandboxError`` and ``ServiceError``, which are not the model's fault.
        """
        shown = reply_format or _DEFAULT_FORMAT
        try:
            arguments = self.name_arguments(call) if call.positional else call.arguments
            reply = self.run(state, self.check(arguments))
        except (SandboxError, ServiceError):
            raise
        except Exception as error:  # a tool may raise of every kind
            return shown.error(shown.explain(error, self, call), state)
        return ToolReply(
            replace_surrogates(truncate(reply.text, shown.max_chars)),
            None
            if reply.error is None
            else replace_surrogates(truncate(reply.error, shown.max_error_chars)),
            reply.state,
        )


def explain_error(error: Exception, tool: Tool, call: ToolCall) -> str:
    """Why a call failed: the message, and the type of an error that the tool did not mean for a model."""
    is_message = isinstance(error, BadArguments | ToolError)
    return str(error) if is_message else f"{type(error).__name__}: {error}"


def explain_unknown(name: str, tools: Iterable[str]) -> str:
    return str(UnknownNameError("tool", truncate(name, 60), tools))


@dataclass(frozen=True, kw_only=True)
class ReplyFormat:
    """What a model reads of a call.

    max_chars: of a reply. max_error_chars: of an error. prefix: of the text of an error.
    explain: why a call failed, in words. unknown: the error of a name that is no tool.
    """

    max_chars: int = MAX_REPLY_CHARS
    max_error_chars: int = MAX_ERROR_CHARS
    prefix: str = "Error: "
    explain: Callable[[Exception, Tool, ToolCall], str] = explain_error
    unknown: Callable[[str, Iterable[str]], str] = explain_unknown

    def error(self, error: str, state: Any) -> ToolReply:
        """The reply of a call that failed."""
        error = replace_surrogates(truncate(error, self.max_error_chars))
        return ToolReply(f"{self.prefix}{error}", error, state)


_DEFAULT_FORMAT = ReplyFormat()


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

        return make_tool(function, run, name=name, leave_out=1, group=group, initial=initial)

    return decorate


def _stateless_tool(function: Callable[..., Any], name: str) -> Tool:
    def run(state: Any, values: Mapping[str, Any]) -> ToolReply:
        return ToolReply(write_result(function(**values)), state=state)

    return make_tool(function, run, name=name)


def make_tool(
    function: Callable[..., Any],
    run: Callable[[Any, Mapping[str, Any]], ToolReply],
    *,
    name: str | None = None,
    leave_out: int = 0,
    group: str = STATELESS,
    initial: Any = None,
) -> Tool:
    """The tool that a function's signature and docstring describe.

    ``leave_out``: the number of leading parameters that the model does not give. Raises ``ConfigError`` for
    a function that cannot be a tool.
    """
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


def write_result(result: Any) -> str:
    """What a model reads of a result: a text as it is, anything else as JSON."""
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)


class Toolbox:
    """The tools of an episode. ``states`` maps each group to its state and is never changed."""

    def __init__(self, tools: Iterable[Tool], reply_format: ReplyFormat | None = None):
        self.tools: dict[str, Tool] = {}
        self.reply_format = reply_format or _DEFAULT_FORMAT
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
        """The reply to a call, and the next states. Raises as :meth:`Tool.reply` does."""
        requested_tool = self.tools.get(call.name)
        if requested_tool is None:
            unknown = self.reply_format.unknown(call.name, self.tools)
            return self.reply_format.error(unknown, None), states
        group = requested_tool.group
        reply = requested_tool.reply(call, states[group], self.reply_format)
        return reply, {**states, group: reply.state}


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
