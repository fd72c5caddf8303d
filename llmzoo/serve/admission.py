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
_MAX_STATUS_BYTES = 1500  # bytes of a status message


class Aborted(Exception):
    """Ends a call with a status."""

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message)
        self.code = code
        # headers hold 8 KiB, and each byte of UTF-8 takes three there
        self.message = (
            str(message).encode("utf-8", "replace")[:_MAX_STATUS_BYTES].decode("utf-8", "ignore")
        )


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

    def end(self) -> None:
        """Mark the call as ended: the client has its answer or is gone. Runs the callbacks."""
        with self._lock:
            self._over = True
        for callback in self._callbacks:
            callback()


async def run_in_thread(
    work: Callable[[], T], slots: asyncio.Semaphore, on_end: Callable[[], None]
) -> T:
    """Run ``work`` in a thread once one of ``slots`` is free, and return its result.

    Raises :class:`Aborted` for every exception. If the coroutine is cancelled, its thread keeps
    running and counts as busy until it ends. ``on_end`` is then called in the loop. The threads are
    daemons, so none delays the exit of the process.
    """
    loop = asyncio.get_running_loop()
    try:
        await slots.acquire()
    except asyncio.CancelledError:
        on_end()
        raise
    done: asyncio.Future[T] = loop.create_future()

    def finish(deliver: Callable[[Any], None], outcome: Any) -> None:
        slots.release()
        on_end()
        if not done.cancelled():
            deliver(outcome)

    def run() -> None:
        deliver: Callable[[Any], None] = done.set_exception
        outcome: Any
        try:
            outcome = work()
            deliver = done.set_result
        except Aborted as aborted:
            outcome = aborted
        except BaseException as error:
            outcome = Aborted(grpc.StatusCode.INTERNAL, f"{type(error).__name__}: {error}")
        with contextlib.suppress(RuntimeError):  # the server has ended meanwhile
            loop.call_soon_threadsafe(finish, deliver, outcome)

    try:
        threading.Thread(target=run, name="llmzoo-serve", daemon=True).start()
    except RuntimeError as error:  # the machine cannot start another thread
        finish(
            done.set_exception,
            Aborted(grpc.StatusCode.RESOURCE_EXHAUSTED, f"no thread is free: {error}"),
        )
    return await done


READ_TIMEOUT_S = 30.0  # seconds for the message of a call to arrive
WRITE_TIMEOUT_S = 60.0  # seconds for a client to accept a message
MAX_HEALTH_CHECK_BYTES = 4096  # of the message of a call that needs no token
_MAX_HEALTH_CHECKS = 16  # health checks that are read at the same time
_MAX_HELD_MESSAGES = 4  # messages of the largest size that may be in memory

# reveals only that a server runs; many health checkers cannot send a token
_METHODS_WITHOUT_TOKEN = frozenset({"/grpc.health.v1.Health/Check"})
_EXHAUSTED = grpc.StatusCode.RESOURCE_EXHAUSTED


class AdmissionInterceptor(grpc.aio.ServerInterceptor):
    """Refuses calls without the ``token`` (None: no token is needed) and calls beyond the limits.

    ``threads``: calls that run at the same time. ``max_calls``: calls that run or wait for a
    thread. ``max_bytes``: the largest message.
    """

    def __init__(self, token: str | None, *, threads: int, max_calls: int, max_bytes: int):
        self._expected_header = None if token is None else f"Bearer {token}".encode()
        self._slots = asyncio.Semaphore(threads)
        self._max_calls = max_calls
        self._calls = 0
        self._max_bytes = max_bytes
        self._bytes = 0
        self._pending_calls = _PendingReads(max_calls)
        self._pending_health_checks = _PendingReads(_MAX_HEALTH_CHECKS)

    async def intercept_service(
        self, continuation: Callable[[Any], Awaitable[Any]], handler_call_details: Any
    ) -> Any:
        without_token = handler_call_details.method in _METHODS_WITHOUT_TOKEN
        if not without_token and not self._has_valid_token(
            handler_call_details.invocation_metadata
        ):
            return _UNAUTHENTICATED_HANDLER
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        method = handler.unary_stream if handler.response_streaming else handler.unary_unary
        if inspect.iscoroutinefunction(method):
            answer = self._answer_in_loop
        else:
            answer = self._answer_in_thread

        async def call(_: Any, context: Any) -> None:
            reading = self._pending_health_checks if without_token else self._pending_calls
            try:
                if not without_token and self._calls >= self._max_calls:
                    raise Aborted(
                        _EXHAUSTED,
                        f"{self._calls} calls are running, the most that this server allows",
                    )
                message = await reading.read_message(context)
                if without_token and len(message) > MAX_HEALTH_CHECK_BYTES:
                    raise Aborted(
                        _EXHAUSTED,
                        f"a health check takes no more than {MAX_HEALTH_CHECK_BYTES} bytes",
                    )
                await answer(handler, method, message, context)
            except Aborted as aborted:
                await context.abort(aborted.code, aborted.message)

        # on the wire a single message is a stream of one; as a stream, we decide when to read it
        return grpc.stream_stream_rpc_method_handler(call)

    def _has_valid_token(self, metadata: Any) -> bool:
        if self._expected_header is None:
            return True
        headers = [
            value.encode() if isinstance(value, str) else value
            for key, value in metadata
            if key == "authorization"
        ]
        # compares in constant time
        return len(headers) == 1 and hmac.compare_digest(headers[0], self._expected_header)

    async def _answer_in_loop(
        self, handler: Any, method: Any, message: bytes, context: Any
    ) -> None:
        """Answer a health check in the event loop."""
        response = await method(_parse(handler, message), context)
        if response is not None:
            await _write(context, handler.response_serializer(response))

    async def _answer_in_thread(
        self, handler: Any, method: Any, message: bytes, context: Any
    ) -> None:
        if self._calls >= self._max_calls:
            raise Aborted(
                _EXHAUSTED, f"{self._calls} calls are running, the most that this server allows"
            )
        if self._calls and self._bytes + len(message) > _MAX_HELD_MESSAGES * self._max_bytes:
            raise Aborted(_EXHAUSTED, f"running calls hold {self._bytes} bytes: try again later")
        loop, call, size = asyncio.get_running_loop(), ServedCall(), len(message)

        def work() -> bytes | None:
            response = method(_parse(handler, message), call)
            if not handler.response_streaming:
                return bytes(handler.response_serializer(response))
            for part in response:
                writing = _write(context, handler.response_serializer(part))
                asyncio.run_coroutine_threadsafe(writing, loop).result()
            return None

        def on_end() -> None:
            self._calls -= 1
            self._bytes -= size

        self._calls += 1
        self._bytes += size
        try:
            answer = await run_in_thread(work, self._slots, on_end)
            if answer is not None:
                await _write(context, answer)
        finally:  # the client has the answer, or is gone
            call.end()


class _PendingReads:
    """Calls whose message has not arrived yet. When there are ``most``, a new one ends the oldest."""

    def __init__(self, most: int):
        self._max_pending = most
        self._limits: dict[_TimeLimit, None] = {}

    async def read_message(self, context: Any) -> bytes:
        """The message of a call. Raises :class:`Aborted` if it does not arrive."""
        if len(self._limits) >= self._max_pending:
            oldest = next(iter(self._limits))
            del self._limits[oldest]
            oldest.expire(_EXHAUSTED, "too many calls sent no message, and this was the oldest")
        limit = _TimeLimit(READ_TIMEOUT_S, f"no message came within {READ_TIMEOUT_S:g} s")
        self._limits[limit] = None
        try:
            message = await limit.wait(context.read())
        finally:
            self._limits.pop(limit, None)
        if message is grpc.aio.EOF:
            raise Aborted(grpc.StatusCode.INVALID_ARGUMENT, "the call has no message")
        return bytes(message)


class _TimeLimit:
    """A time limit for the current task. Other tasks can make it expire early."""

    def __init__(self, seconds: float, message: str):
        self._task = asyncio.current_task()
        self._expiry: Aborted | None = None
        self._timer = asyncio.get_running_loop().call_later(
            seconds, self.expire, grpc.StatusCode.DEADLINE_EXCEEDED, message
        )

    def expire(self, code: grpc.StatusCode, message: str) -> None:
        assert self._task is not None
        self._expiry = Aborted(code, message)
        self._task.cancel()

    async def wait(self, work: Awaitable[Any]) -> Any:
        """The result of ``work``. Raises :class:`Aborted` once the limit has expired."""
        try:
            return await work
        except asyncio.CancelledError:
            if self._expiry is None:
                raise
            raise self._expiry from None
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
    limit = _TimeLimit(WRITE_TIMEOUT_S, f"the client accepted nothing for {WRITE_TIMEOUT_S:g} s")
    await limit.wait(context.write(message))


async def _abort_unauthenticated(_: Any, context: Any) -> None:
    await context.abort(
        grpc.StatusCode.UNAUTHENTICATED,
        "this server needs a token: the call has none, or a wrong one",
    )


_UNAUTHENTICATED_HANDLER = grpc.stream_stream_rpc_method_handler(
    _abort_unauthenticated
)  # reads nothing
