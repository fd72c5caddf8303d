"""An HTTP server for programs: tokens, bodies, streams, limits, and errors in OpenAI's form.

What it answers are the routes of :class:`HttpServer`.
"""

from __future__ import annotations

import asyncio
import json
import resource
import secrets
import socket
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar
from urllib.parse import urlsplit

from llmzoo.endpoints import is_local
from llmzoo.errors import ConfigError, LlmzooError, require_extra

with require_extra("an endpoint over HTTP", "gateway"):
    import h11
    import uvicorn
    from starlette.applications import Starlette
    from starlette.datastructures import Headers
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect, Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route
    from starlette.types import ASGIApp, Receive, Scope, Send

MAX_BODY_BYTES = 10_000_000  # of a request
_HEADERS_S = 10.0  # from a connection's start, or its last request, to the end of the next headers
_BODY_S = 30.0  # from there to the end of the body
_MOST_UNFINISHED = 1024  # connections without a complete request, where enough files may be open
_SETTLES_S = 1.0  # before a connection counts as one of them: many may come at once
_STARTS_IN_SECONDS = 30.0
_WAITING = 2048  # connections that are not accepted yet
Handler = Callable[[Request], Awaitable[Response]]
T = TypeVar("T")


class RequestError(Exception):
    """A request that is answered with an error, in the form of OpenAI's API.

    ``param``: the field at fault. ``code``: what programs look for. ``retry_after``: seconds after
    which another attempt may succeed. ``ends_connection``: nobody knows where the next request begins.
    """

    def __init__(
        self,
        status: int,
        why: str,
        *,
        param: str | None = None,
        code: str | None = None,
        retry_after: int | None = None,
        ends_connection: bool = False,
    ):
        super().__init__(why)
        self.status, self.param, self.code, self.retry_after = status, param, code, retry_after
        self.ends_connection = ends_connection

    def response(self) -> Response:
        headers = {} if self.retry_after is None else {"retry-after": str(self.retry_after)}
        if self.ends_connection:
            headers["connection"] = "close"
        return JSONResponse(self.body(), status_code=self.status, headers=headers)

    def body(self) -> dict[str, Any]:
        kind = "invalid_request_error" if self.status < 500 else "server_error"
        error = {"message": str(self), "type": kind, "param": self.param, "code": self.code}
        return {"error": error}


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A socket that listens; port 0 picks a free one. Raises :class:`ConfigError` if it cannot."""
    if not 0 <= port < 2**16:
        raise ConfigError(f"port must be 0 to 65535, got {port}")
    try:
        family, kind, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        # asyncio turns Nagle's algorithm off only where the protocol is named; it costs 40 ms a call
        listening = socket.socket(family, kind, socket.IPPROTO_TCP)
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(address)
            listening.listen(_WAITING)  # now, so that a taken port is found
        except OSError:
            listening.close()
            raise
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"cannot listen at {host}:{port}: {why}") from None
    return listening


class HttpServer:
    """Serves routes at a socket, from a thread of its own, until :meth:`stop`.

    ``token``: what callers send as the API key; None: everyone on this machine may call, except pages
    in a browser. ``grace_s``: seconds that running requests have to end when it stops.
    """

    def __init__(
        self,
        routes: Sequence[Route],
        listening: socket.socket,
        *,
        token: str | None,
        grace_s: int = 1,
    ):
        host, port = listening.getsockname()[:2]
        self.address = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        config = uvicorn.Config(
            _guard(_app(routes), token, host),
            http="h11",
            ws="none",
            log_level="error",
            access_log=False,
            lifespan="off",
            timeout_graceful_shutdown=grace_s,
        )
        self._server = _Server(config)
        self._thread = threading.Thread(
            target=lambda: self._server.run([listening]), name="llmzoo http", daemon=True
        )
        self._thread.start()
        ends = time.monotonic() + _STARTS_IN_SECONDS
        while not self._server.started and time.monotonic() < ends:
            time.sleep(0.005)

    def stop(self) -> None:
        """Take no more calls, and wait for the running ones."""
        self._server.should_exit = True
        self._thread.join()

    def hurry(self) -> None:
        """Let :meth:`stop` wait for no call. Safe in a signal handler."""
        self._server.force_exit = True


class _Server(uvicorn.Server):
    """Aborts connections whose request does not arrive, which uvicorn would keep for ever."""

    def __init__(self, config: uvicorn.Config):
        super().__init__(config)
        files = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        self._most = min(_MOST_UNFINISHED, files // 2) if files > 0 else _MOST_UNFINISHED
        self._since: dict[Any, float] = {}  # when each unfinished request was first seen

    async def on_tick(self, counter: int) -> bool:
        # a handler that reads the body refuses it by itself, at _BODY_S
        limits = {h11.IDLE: _HEADERS_S, h11.SEND_BODY: _BODY_S + _SETTLES_S}
        now, before = time.monotonic(), self._since
        connections: Iterable[Any] = self.server_state.connections  # all of them h11's
        unfinished = [
            (connection, connection.cycle, connection.conn.their_state)
            for connection in connections
            if connection.conn.their_state in limits
        ]
        self._since = {key: before.get(key, now) for key in unfinished}
        oldest_first = sorted(self._since.items(), key=lambda item: item[1])
        for number, ((connection, _, state), since) in enumerate(oldest_first):
            surplus = number < len(unfinished) - self._most
            if now - since > (_SETTLES_S if surplus else limits[state]):
                connection.transport.abort()
        return await super().on_tick(counter)


def _guard(app: ASGIApp, token: str | None, host: str) -> ASGIApp:
    """``app`` for requests that may be read. ``host``: the address that the server listens on."""
    wanted = None if token is None else f"Bearer {token}".encode()

    def check(scope: Scope, headers: Headers) -> None:
        """Raise :class:`RequestError` for a request that may not be read."""
        if "transfer-encoding" in headers and (
            "content-length" in headers or scope["http_version"] == "1.0"
        ):
            raise RequestError(
                400,
                "a request gives its length by Content-Length or in chunks of HTTP/1.1",
                ends_connection=True,
            )
        if wanted is not None:
            given = headers.get("authorization", "").encode()
            if not secrets.compare_digest(given, wanted):
                raise RequestError(
                    401,
                    "the token is missing or wrong: send it as the API key",
                    code="invalid_api_key",
                )
            return
        if "origin" in headers or headers.get("sec-fetch-site", "none") != "none":
            raise RequestError(403, "a page in a browser may not call a server without a token")
        # a page that calls under a name of its own, which it lets lead here
        name = _host_in(headers.get("host", ""))
        if name != host and not is_local(name):
            raise RequestError(
                403,
                f"a server without a token is called as localhost or {host}, not as Host {name!r}",
            )

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        try:
            check(scope, Headers(scope=scope))
        except RequestError as refused:
            await refused.response()(scope, receive, send)
        else:
            await app(scope, receive, send)

    return guarded


def _host_in(header: str) -> str:
    """The name in a header Host, without its port; "" for what is none."""
    try:
        return urlsplit(f"//{header}").hostname or ""
    except ValueError:  # half a bracket
        return ""


def _app(routes: Sequence[Route]) -> Starlette:
    async def refuse(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        known = ", ".join(route.path for route in routes)
        why = {404: f"there is no {request.url.path}", 405: f"{request.method} is not allowed"}
        message = f"{why.get(error.status_code, error.detail)}: the routes are {known}"
        return RequestError(error.status_code, message, code="unknown_url").response()

    async def fail(request: Request, error: Exception) -> Response:
        return RequestError(500, f"the server failed with {type(error).__name__}").response()

    return Starlette(routes=routes, exception_handlers={HTTPException: refuse, Exception: fail})


def handle_errors(route: Handler) -> Handler:
    """A route whose errors are responses."""

    async def answer(request: Request) -> Response:
        try:
            return await route(request)
        except RequestError as refused:
            return refused.response()
        except (LlmzooError, TypeError) as error:
            return RequestError(400, str(error)).response()
        except (asyncio.CancelledError, ClientDisconnect):
            return Response(status_code=499)  # nobody reads it

    return answer


async def while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of ``work``, which is cancelled as soon as the client goes away."""
    call = asyncio.ensure_future(work)
    gone = asyncio.ensure_future(request.receive())  # the body is read: what follows is the end
    try:
        await asyncio.wait({call, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        gone.cancel()
        if not call.done():
            call.cancel()
    return await call


async def read_value(request: Request, max_bytes: int = MAX_BODY_BYTES) -> Any:
    """The JSON value that a request holds.

    Raises :class:`RequestError` for what is too long, comes too slowly, or is no JSON or no Unicode.
    """
    try:
        raw = await asyncio.wait_for(_read_body(request, max_bytes), _BODY_S)
    except asyncio.TimeoutError:
        raise RequestError(
            408,
            f"the request did not arrive within {_BODY_S:g} s: send it again",
            ends_connection=True,
        ) from None
    try:
        value = json.loads(raw)
        json.dumps(value, ensure_ascii=False).encode()
        return value
    except UnicodeEncodeError:
        raise RequestError(
            400, "a text in the request has half of a surrogate pair, such as \\ud800 alone"
        ) from None
    except (ValueError, RecursionError):
        raise RequestError(400, "the request holds no JSON") from None


async def _read_body(request: Request, max_bytes: int) -> bytearray:
    raw, size = bytearray(), 0
    # a little too much is read and dropped: a client that is still writing would see no answer
    async for part in request.stream():
        size += len(part)
        if size <= max_bytes:
            raw += part
        elif size > 4 * max_bytes:
            break
    if size > max_bytes:
        raise RequestError(413, f"a request of more than {max_bytes} bytes: send less")
    return raw


async def read_object(request: Request, max_bytes: int = MAX_BODY_BYTES) -> dict[str, Any]:
    """The JSON object that a request holds, without the fields that are null."""
    body = await read_value(request, max_bytes)
    if not isinstance(body, dict):
        raise RequestError(400, "the request holds no JSON object")
    return {key: value for key, value in body.items() if value is not None}


class EventStream(StreamingResponse):
    """JSON values as server-sent events.

    on_close: called at the end, also of a caller that has gone. timeout_s: seconds after which the stream is cut
    off, for a caller that does not read; None for no limit.
    """

    def __init__(
        self,
        values: AsyncIterator[Any],
        on_close: Callable[[], object] = lambda: None,
        timeout_s: float | None = None,
    ):
        super().__init__(_events(values), media_type="text/event-stream")
        self._on_close, self._timeout_s = on_close, timeout_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await asyncio.wait_for(super().__call__(scope, receive, send), self._timeout_s)
        except asyncio.TimeoutError:
            pass  # the server closes the connection
        finally:
            self._on_close()


async def _events(values: AsyncIterator[Any]) -> AsyncIterator[str]:
    async for value in values:
        yield f"data: {json.dumps(value)}\n\n"
    yield "data: [DONE]\n\n"
