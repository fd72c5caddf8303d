"""Calls that a service answers: what it may ask of one, and the thread that it is answered in."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

import grpc

T = TypeVar("T")
_LONGEST = 1500  # bytes of what a status says


class Aborted(Exception):
    """Ends a call with a status."""

    def __init__(self, code: grpc.StatusCode, message: str):
        super().__init__(message)
        self.code = code
        # it travels in a header, of which there are 8 KiB, three bytes for each of UTF-8
        self.message = str(message).encode("utf-8", "replace")[:_LONGEST].decode("utf-8", "ignore")


class Call:
    """What a service may ask of a call that it answers. Its methods are called from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._over = False
        self._callbacks: list[Callable[[], object]] = []

    def is_active(self) -> bool:
        """Whether the client still waits for the answer."""
        return not self._over

    def add_callback(self, callback: Callable[[], object]) -> bool:
        """Have ``callback`` called when the call ends, however it does; false where it has ended."""
        with self._lock:
            if not self._over:
                self._callbacks.append(callback)
            return not self._over

    def abort(self, code: grpc.StatusCode, message: str) -> NoReturn:
        """End the call with a status, by an exception that the service lets through."""
        raise Aborted(code, message)

    def over(self) -> None:
        """The client has its answer or is gone."""
        with self._lock:
            self._over = True
        for callback in self._callbacks:
            callback()


async def in_thread(work: Callable[[], T], free: asyncio.Semaphore, ended: Callable[[], None]) -> T:
    """What ``work`` returns in a thread once one is ``free``. Raises :class:`Aborted`, whatever it
    raises.

    A coroutine that is cancelled leaves its thread to itself: the thread counts until it ends, and
    then ``ended`` is called, in the loop. The threads are daemons, so none holds up the process's end.
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
    except RuntimeError as error:  # the machine has no room for another thread
        finish(
            done.set_exception,
            Aborted(grpc.StatusCode.RESOURCE_EXHAUSTED, f"no thread is free: {error}"),
        )
    return await done
