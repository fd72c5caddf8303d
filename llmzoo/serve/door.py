"""The entrance of a server: admits calls, limits what they send, and runs them in threads.

The token of a call is checked before its message is read, and reading takes no thread. So a call
that never completes its message blocks nobody. Each message is parsed and answered in its own
thread. Health checks need no thread.
"""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import inspect
import threading
from collections.abc import Awaitable, Callable
from typing import Any, NoReturn, TypeVar

import grpc

T = TypeVar("T")
_LONGEST = 1500  # bytes of a status message


class Aborted(Exception):
    """Ends a call with a status."""

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message)
        self.code = code
        # headers hold 8 KiB, and each byte of UTF-8 takes three there
        self.message = str(message).encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")


class ServedCall:
    """The call that a service answers. Its methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._callbacks: list[Callable[[], object]] = []

    def is_active(self) -> bool:
        """Whether the client still waits for the answer."""
        return not self._over

    def add_callback(self, callback: Callable[[], object]) -> bool:
        """Run ``callback`` when the call ends for any reason. Returns False if it has ended."""
        with self._lock:
            if not self._over:
                self._callbacks.append(callback)
            return not self._over

    def abort(self, code: grpc.StatusCode, message: str) -> NoReturn:
        """End the call with a status. Raises an exception that the service must not catch."""
        raise Aborted(code, message)

    def over(self) -> None:
        """Note that the client has its answer or is gone."""
        with self._lock:
            self._over = True
        for callback in self._callbacks:
            callback()


async def in_thread(work: Callable[[], T], free: asyncio.Semaphore, ended: Callable[[], None]) -> T:
    """Run ``work`` in a thread as soon as one is ``free``, and return its result.

    Raises :class:`Aborted` for every exception. If the coroutine is cancelled, its thread keeps
    running and counts as busy until it ends. ``ended`` is then called in the loop. The threads are
    daemons, so none delays the exit of the process.
    """
    loop = asyncio.get_running_loop()
    try:
        await free.acquire()
    except asyncio.CancelledError:
        ended()
        raise
    done: asyncio.Future[T] = loop.create_future()

    def finish(tell: Callable[[Any], None], what: Any) -> None:
        free.release()
        ended()
        if not done.cancelled():
            tell(what)

    def run() -> None:
        tell: Callable[[Any], None] = done.set_exception
        what: Any
        try:
            what = work()
            tell = done.set_result
        except Aborted as aborted:
            what = aborted
        except BaseException as error:
            what = Aborted(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(finish, tell, what)

    try:
        threading.Thread(target=run, name="llmzoo-serve", daemon=True).start()
    except RuntimeError as error:  # the machine cannot start another thread
        finish(
            done.set_exception,
            Aborted(grpc.StatusCode.RESOURCE_EXHAUSTED, f"no thread is free: {error}"),
        )
    return await done


READING_S = 30.0  # seconds for the message of a call to arrive
WRITING_S = 60.0  # seconds for a client to accept a message
CHECK_BYTES = 4096  # of the message of a call that needs no token
_CHECKS = 16  # health checks that are read at the same time
_HELD = 4  # messages of the largest size that may be in memory

# reveals only that a server runs; many health checkers cannot send a token
_FREE_OF_TOKEN = frozenset({"/grpc.health.v1.Health/Check"})
_NO_ROOM = grpc.StatusCode.RESOURCE_EXHAUSTED


class Door(grpc.aio.ServerInterceptor):
    """Refuses calls without the ``token`` (None: no token is needed) and calls beyond the limits.

    ``threads``: calls that run at the same time. ``max_calls``: calls that run or wait for a
    thread. ``max_bytes``: the largest message.
    """

    def __init__(self, token: str | None, *, threads: int, max_calls: int, max_bytes: int):
        self._expected = None if token is None else f"Bearer {token}".encode()
        self._free = asyncio.Semaphore(threads)
        self._max_calls = max_calls
        self._calls = 0
        self._max_bytes = max_bytes
        self._bytes = 0
        self._reading = _Reading(max_calls)
        self._checking = _Reading(_CHECKS)

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        free = handler_call_details.method in _FREE_OF_TOKEN
        if not free and not self._knows(handler_call_details.invocation_metadata):
            return _REFUSAL
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler.unary_stream if handler.response_streaming else handler.unary_unary
        if inspect.iscoroutinefunction(method):
            answer = self._answered_here
        else:
            answer = self._answered_in_a_thread

        async def call(_: Any, context: Any) -> None:
            reading = self._checking if free else self._reading
            try:
                if not free and self._calls >= self._max_calls:
                    raise Aborted(
                        _NO_ROOM,
                        f"{self._calls} calls are running, the most that this server allows",
                    )
                message = await reading.message(context)
                if free and len(message) > CHECK_BYTES:
                    raise Aborted(
                        _NO_ROOM, f"a health check takes no more than {CHECK_BYTES} bytes"
                    )
                await answer(handler, method, message, context)
            except Aborted as aborted:
                await context.abort(aborted.code, aborted.message)

        # on the wire a single message is a stream of one; as a stream, we decide when to read it
        return grpc.stream_stream_rpc_method_handler(call)

    def _knows(self, metadata: Any) -> bool:
        if self._expected is None:
            return True
        brought = [
            value.encode() if isinstance(value, str) else value
            for key, value in metadata
            if key == "authorization"
        ]
        # compares in constant time
        return len(brought) == 1 and hmac.compare_digest(brought[0], self._expected)

    async def _answered_here(self, handler: Any, method: Any, message: bytes, context: Any) -> None:
        """Answer a health check in the event loop."""
        said = await method(_parse(handler, message), context)
        if said is not None:
            await _write(context, handler.response_serializer(said))

    async def _answered_in_a_thread(
        self, handler: Any, method: Any, message: bytes, context: Any
    ) -> None:
        if self._calls >= self._max_calls:
            raise Aborted(
                _NO_ROOM, f"{self._calls} calls are running, the most that this server allows"
            )
        if self._calls and self._bytes + len(message) > _HELD * self._max_bytes:
            raise Aborted(_NO_ROOM, f"running calls hold {self._bytes} bytes: try again later")
        loop, call, size = asyncio.get_running_loop(), ServedCall(), len(message)

        def work() -> bytes | None:
            said = method(_parse(handler, message), call)
            if not handler.response_streaming:
                return bytes(handler.response_serializer(said))
            for part in said:
                writing = _write(context, handler.response_serializer(part))
                asyncio.run_coroutine_threadsafe(writing, loop).result()
            return None

        def ended() -> None:
            self._calls -= 1
            self._bytes -= size

        self._calls += 1
        self._bytes += size
        try:
            answer = await in_thread(work, self._free, ended)
            if answer is not None:
                await _write(context, answer)
        finally:  # the client has the answer, or is gone
            call.over()


class _Reading:
    """Calls whose message has not arrived. If there are more than ``most``, the oldest ends."""

    def __init__(self, most: int):
        self._most = most
        self._coming: dict[_Limit, None] = {}

    async def message(self, context: Any) -> bytes:
        """The message of a call. Raises :class:`Aborted` if it does not arrive."""
        if len(self._coming) >= self._most:
            oldest = next(iter(self._coming))
            del self._coming[oldest]
            oldest.pass_now(_NO_ROOM, "too many calls sent no message, and this was the oldest")
        limit = _Limit(READING_S, f"no message came within {READING_S:g} s")
        self._coming[limit] = None
        try:
            message = await limit.of(context.read())
        finally:
            self._coming.pop(limit, None)
        if message is grpc.aio.EOF:
            raise Aborted(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
        return bytes(message)


class _Limit:
    """A time limit for the current task. Other tasks can make it expire early."""

    def __init__(self, seconds: float, message: str):
        self._task = asyncio.current_task()
        self._passed: Aborted | None = None
        self._timer = asyncio.get_running_loop().call_later(
            seconds, self.pass_now, grpc.StatusCode.DEADLINE_EXCEEDED, message
        )

    def pass_now(self, code: grpc.StatusCode, message: str) -> None:
        assert self._task is not None
        self._passed = Aborted(code, message)
        self._task.cancel()

    async def of(self, work: Awaitable[Any]) -> Any:
        """The result of ``work``. Raises :class:`Aborted` once the limit has expired."""
        try:
            return await work
        except asyncio.CancelledError:
            if self._passed is None:
                raise
            raise self._passed from None
        finally:
            self._timer.cancel()


def _parse(handler: Any, message: bytes) -> Any:
    try:
        return handler.request_deserializer(message)
    except Exception as error:
        raise Aborted(
            grpc.StatusCode.INVALID_ARGUMENT, f"the message cannot be parsed: {error}"
        ) from None


async def _write(context: Any, message: bytes) -> None:
    limit = _Limit(WRITING_S, f"the client accepted nothing for {WRITING_S:g} s")
    await limit.of(context.write(message))


async def _refuse(_: Any, context: Any) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED,
        "this server needs a token: the call has none, or a wrong one",
    )


_REFUSAL = grpc.stream_stream_rpc_method_handler(_refuse)  # reads nothing
