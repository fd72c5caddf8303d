"""Tools of MCP servers (Model Context Protocol), through the official package ``mcp``.

The state of a server's tools cannot be copied: both copies of a forked episode use the same server. So
tools that change something on the server do not suit trees of rollouts.
"""

from __future__ import annotations

import asyncio
import atexit
import json
import re
import sys
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotInTime
from contextlib import suppress
from typing import Any

from llmzoo.envs.text import truncate
from llmzoo.envs.tools import mcp_transport
from llmzoo.envs.tools.schemas import BadArguments, Check, without_titles
from llmzoo.envs.tools.toolbox import STATELESS, Tool, ToolError, ToolReply
from llmzoo.errors import ConfigError, ServiceError

START_S = 30.0  # within which a server must list its tools
CLOSE_S = 10.0  # within which it is closed; the package gives its process 7 of them
MAX_TOOLS = 200
MAX_SCHEMA_CHARS = 20_000
MAX_DESCRIPTION_CHARS = 2000
THREAD = "llmzoo-mcp"
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)


def mcp_tools(
    *,
    command: Sequence[str] | None = None,
    url: str | None = None,
    env: Mapping[str, str] | None = None,
    timeout_s: float = 10.0,
) -> list[Tool]:
    """The tools of a server that runs until this process ends; see :class:`McpServer`."""
    server = McpServer(command=command, url=url, env=env, timeout_s=timeout_s)
    atexit.register(server.close)
    return server.tools


class McpServer:
    """A connection to an MCP server, and its ``tools``. Close it, or use it in a ``with`` block.

    ``command`` starts a server that communicates over standard input and output, with the variables of
    ``env`` and a few common ones; ``url`` connects to one over HTTP. If a call fails or takes longer
    than ``timeout_s``, the model reads an error.

    A server is untrusted. It has 30 seconds to list its tools: at most 200, with names of 1 to 64
    letters, digits, "_", "." and "-". A message of more than 4 MiB, and anything after it, is not read.
    Of a schema, only the names, types and choices of arguments are checked here.

    Raises ``ConfigError`` if the server cannot be reached, ``MissingExtraError`` without ``mcp``.
    """

    def __init__(
        self,
        *,
        command: Sequence[str] | None = None,
        url: str | None = None,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 10.0,
    ):
        if bool(command) == bool(url):
            raise ConfigError("an MCP server has either a command or a url")
        self._name = url or " ".join(command or ())
        self._timeout_s = timeout_s
        if command:
            server = mcp_transport.stdio_transport(command, env)
        else:
            server = mcp_transport.http_transport(str(url), timeout_s)
        self._loop = asyncio.new_event_loop()
        self._task: asyncio.Task[Any] | None = None
        tools_future: Future[list[Tool]] = Future()
        self._thread = threading.Thread(
            target=self._serve,
            args=(server, tools_future),
            name=THREAD,
            daemon=True,
        )
        self._thread.start()
        try:
            self.tools = tools_future.result(START_S)
        except BaseException as error:
            self.close()
            if isinstance(error, Exception):
                raise ConfigError(
                    f"the MCP server {self._name!r} cannot be used: {_reason(error)}"
                ) from error
            raise

    def __enter__(self) -> McpServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the connection, and the server if it was started here. Later calls are errors."""
        if self._thread.is_alive() and self._task is not None:
            with suppress(RuntimeError):  # the thread has just ended by itself and closed its loop
                self._loop.call_soon_threadsafe(self._task.cancel)
            self._thread.join(CLOSE_S)

    def _serve(self, server: Any, tools_future: Future[list[Tool]]) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._session(server, tools_future))
        except BaseException as error:  # passed to the waiting thread; later calls are errors
            if not tools_future.done():
                tools_future.set_exception(error)
        finally:
            self._loop.run_until_complete(_end_tasks())
            self._loop.close()

    async def _session(self, server: Any, tools_future: Future[list[Tool]]) -> None:
        import mcp

        self._task = asyncio.current_task()
        async with mcp.Client(server) as client:
            tools: dict[str, Tool] = {}
            cursor = None
            while True:
                page = await client.list_tools(cursor=cursor)
                if len(tools) + len(page.tools) > MAX_TOOLS:
                    raise ConfigError(f"it has more than {MAX_TOOLS} tools")
                for each in page.tools:
                    if each.name in tools:
                        raise ConfigError(
                            f"it has two tools called {_check_tool_name(each.name)!r}"
                        )
                    tools[each.name] = self._tool(client, each)
                cursor = page.next_cursor
                if cursor is None:
                    break
            tools_future.set_result(list(tools.values()))
            await asyncio.Event().wait()  # until close() cancels this task

    def _tool(self, client: Any, spec: Any) -> Tool:
        def run(state: Any, values: Mapping[str, Any]) -> ToolReply:
            return self._call(client, spec.name, values)

        name = _check_tool_name(spec.name)
        schema = _schema(name, spec.input_schema)
        return Tool(
            name=name,
            description=_one_line(spec.description or name)[:MAX_DESCRIPTION_CHARS],
            parameters=schema,
            check=_check(schema),
            run=run,
            group=STATELESS,
        )

    def _call(self, client: Any, name: str, values: Mapping[str, Any]) -> ToolReply:
        if not self._thread.is_alive():
            raise ServiceError(f"the MCP server {self._name!r} has ended")
        calling = client.call_tool(name, dict(values))
        waiting = asyncio.run_coroutine_threadsafe(calling, self._loop)
        try:
            result = waiting.result(self._timeout_s)
        except NotInTime as error:
            waiting.cancel()
            raise ToolError(f"no result after {self._timeout_s:g} s") from error
        except Exception as error:  # the protocol's errors, a broken pipe, an answer of bad form
            if not self._thread.is_alive():
                raise ServiceError(
                    f"the MCP server {self._name!r} has ended: {_reason(error)}"
                ) from error
            raise ToolError(f"the server failed: {_reason(error)}") from error
        text = _text(result)
        return ToolReply(text, error=text if result.is_error else None)


async def _end_tasks() -> None:
    """Cancel the tasks that the package left running."""
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=1.0)


def _check_tool_name(name: str) -> str:
    """The name of a tool. Raises ``ConfigError`` for a name that no model can call."""
    if _NAME.fullmatch(name) is None or not name.strip("."):
        raise ConfigError(
            f"it has a tool {name!r:.80}, and a name has 1 to 64 of the characters a-z, A-Z, 0-9, "
            '"_", "." and "-", not dots alone'
        )
    return name


def _schema(name: str, schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's arguments. Raises ``ConfigError`` for an unusable schema."""
    from jsonschema import SchemaError
    from jsonschema.validators import validator_for

    if len(json.dumps(schema)) > MAX_SCHEMA_CHARS:
        raise ConfigError(
            f"the schema of tool {name!r} is longer than {MAX_SCHEMA_CHARS} characters"
        )
    try:
        validator_for(schema).check_schema(schema)
    except SchemaError as error:
        why = truncate(error.message, 200)
        raise ConfigError(f"tool {name!r} has no valid JSON schema: {why}") from error
    except RecursionError:
        raise ConfigError(f"the schema of tool {name!r} is nested too deeply") from None
    return without_titles(dict(schema))


def _check(schema: Mapping[str, Any]) -> Check:
    """A check of the names and types of arguments; the server checks the rest.

    The server's whole schema is not evaluated: its patterns can take forever, and its references can
    read files.
    """
    from jsonschema import Draft202012Validator

    properties = schema.get("properties", {})
    known = {
        name: {word: inner[word] for word in ("type", "enum") if word in inner}
        for name, inner in properties.items()
        if isinstance(inner, Mapping)
    }
    required = schema.get("required", [])
    closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    validator = Draft202012Validator(
        {
            "type": "object",
            "properties": known,
            "required": required,
            "additionalProperties": not closed,
        }
    )

    def check(arguments: Mapping[str, Any]) -> dict[str, Any]:
        error = next(validator.iter_errors(dict(arguments)), None)
        if error is not None:
            where = "".join(f"argument {error.absolute_path[0]!r}: " if error.absolute_path else "")
            raise BadArguments(where + truncate(error.message, 200))
        return dict(arguments)

    return check


def _text(result: Any) -> str:
    parts = [block.text if block.type == "text" else f"[{block.type}]" for block in result.content]
    if not parts and result.structured_content is not None:
        return json.dumps(result.structured_content, ensure_ascii=False)
    return "\n".join(parts)


def _reason(error: BaseException) -> str:
    """The first error of a group, in words."""
    # Python 3.10 has no such class, and raises the error itself
    while sys.version_info >= (3, 11) and isinstance(error, BaseExceptionGroup):  # noqa: F821
        error = error.exceptions[0]
    return truncate(_one_line(str(error)) or type(error).__name__, 200)


def _one_line(text: str) -> str:
    """A text without control characters, in one line."""
    return "".join(c if c.isprintable() else "?" for c in " ".join(text.split()))
