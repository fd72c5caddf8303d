"""Connections to an MCP server with a limit on what is read.

The package ``mcp`` reads lines and answers of any length. Here a line of a process or an answer over
HTTP may have ``MOST_BYTES``; a longer one ends the connection's input.
"""

from __future__ import annotations

import codecs
import logging
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from llmzoo.errors import ConfigError, require_extra

if TYPE_CHECKING:
    import httpx2

MAX_BYTES = 4 * 2**20  # of a line, or of an answer
_CODEC = "llmzoo_lines"


def stdio_transport(command: Sequence[str], env: Mapping[str, str] | None) -> Any:
    """The transport of a server that the package's client starts and ends."""
    mcp = _import_mcp()
    parameters = mcp.StdioServerParameters(
        command=command[0],
        args=list(command[1:]),
        env=None if env is None else dict(env),
        encoding=_CODEC,
    )
    # a server's standard error goes to this process's, even if sys.stderr was replaced
    return mcp.stdio_client(parameters, errlog=sys.__stderr__ or sys.stderr)


def http_transport(url: str, timeout_s: float) -> Any:
    """The transport of a server over HTTP. Redirects are followed to the same host only.

    Raises ``ConfigError`` for an address that is not HTTP.
    """
    if urlsplit(url).scheme not in ("http", "https") or not urlsplit(url).hostname:
        raise ConfigError(f"an MCP server's url begins with http:// or https://, got {url!r:.100}")
    _import_mcp()
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    # compressed answers are refused: a few bytes can expand to gigabytes
    client = httpx2.AsyncClient(
        transport=_bounded_transport(httpx2.AsyncHTTPTransport()),
        timeout=httpx2.Timeout(timeout_s, read=300.0),
        headers={"accept-encoding": "identity"},
    )
    return streamable_http_client(url, http_client=client)


def _import_mcp() -> Any:
    with require_extra("tools of MCP servers", "mcp"):
        import mcp
    # the package logs every mistake of a server; it prints nothing unless the user adds a handler
    logging.getLogger("mcp").addHandler(logging.NullHandler())
    logging.getLogger("client").addHandler(logging.NullHandler())
    return mcp


def _bounded_transport(transport: httpx2.AsyncHTTPTransport) -> httpx2.AsyncBaseTransport:
    import httpx2

    class BoundedStream(httpx2.AsyncByteStream):
        def __init__(self, inner: Any):
            self._inner = inner

        async def __aiter__(self) -> AsyncIterator[bytes]:
            read = 0
            async for part in self._inner:
                read += len(part)
                if read > MAX_BYTES:
                    raise httpx2.StreamError(f"an answer longer than {MAX_BYTES} bytes")
                yield part

        async def aclose(self) -> None:
            await self._inner.aclose()

    class BoundedTransport(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            response = await transport.handle_async_request(request)
            if response.headers.get("content-encoding", "identity") != "identity":
                await response.aclose()
                raise httpx2.RemoteProtocolError("a compressed answer, which was not asked for")
            response.stream = BoundedStream(response.stream)
            return response

        async def aclose(self) -> None:
            await transport.aclose()

    return BoundedTransport()


class _BoundedLineDecoder(codecs.IncrementalDecoder):
    """UTF-8 with a limit on lines; the package decodes a process's output with it."""

    def __init__(self, errors: str = "strict"):
        super().__init__(errors)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._length = 0  # of the line so far

    def decode(self, data: Any, final: bool = False) -> str:
        end = data.rfind(b"\n")
        longest = max(map(len, data.split(b"\n"))) if end >= 0 else 0
        self._length = len(data) - end - 1 if end >= 0 else self._length + len(data)
        if max(longest, self._length) > MAX_BYTES:
            raise UnicodeError(f"a line longer than {MAX_BYTES} bytes")
        return self._decoder.decode(data, final)


def _codec(name: str) -> codecs.CodecInfo | None:
    if name != _CODEC:
        return None
    utf8 = codecs.lookup("utf-8")
    return codecs.CodecInfo(
        utf8.encode,
        utf8.decode,
        incrementaldecoder=_BoundedLineDecoder,
        incrementalencoder=None,
        name=_CODEC,
    )


codecs.register(_codec)
