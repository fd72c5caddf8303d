"""Forwards connections from a listening socket to a port of this machine.

A socket belongs to the network namespace that it was made in, whoever holds it. So a process out here
answers connections that are made inside a namespace without any network.
"""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from contextlib import suppress
from functools import cache

_AT_ONCE = 64  # connections of one listening socket; each takes descriptors of this process
_CHUNK = 1 << 16  # bytes
_RETRY_S = 0.1  # after an accept that failed for want of descriptors


class PortForwarder:
    """Forwards what connects to ``listening`` to ``port`` of 127.0.0.1, until it is closed.

    Both directions end one by one, as the two ends close them. A side that does not read holds up the
    side that writes. Beyond 64 connections, others wait to be accepted.
    """

    def __init__(self, listening: socket.socket, port: int):
        self._listening = listening
        self._port = port
        listening.setblocking(False)
        asyncio.run_coroutine_threadsafe(self._start(), _loop()).result()

    def close(self) -> None:
        """Close the listening socket and all connections."""
        asyncio.run_coroutine_threadsafe(self._stop(), _loop()).result()

    async def _start(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._accept())

    async def _stop(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._listening.close()

    async def _accept(self) -> None:
        loop = asyncio.get_running_loop()
        places = asyncio.Semaphore(_AT_ONCE)
        tasks: set[asyncio.Task[None]] = set()

        def on_done(task: asyncio.Task[None]) -> None:
            tasks.discard(task)
            places.release()

        try:
            while True:
                await places.acquire()
                while True:
                    try:
                        near, _ = await loop.sock_accept(self._listening)
                        break
                    except OSError:
                        await asyncio.sleep(_RETRY_S)
                task = loop.create_task(_forward(near, self._port))
                tasks.add(task)
                task.add_done_callback(on_done)
        finally:
            for task in list(tasks):
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _forward(near: socket.socket, port: int) -> None:
    """Forward one connection until both directions have ended, or one fails."""
    loop = asyncio.get_running_loop()
    with near, socket.socket(socket.AF_INET, socket.SOCK_STREAM) as far, suppress(OSError):
        for end in (near, far):
            end.setblocking(False)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        await loop.sock_connect(far, ("127.0.0.1", port))
        tasks = [loop.create_task(_one_way(*ends)) for ends in ((near, far), (far, near))]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def _one_way(source: socket.socket, target: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while data := await loop.sock_recv(source, _CHUNK):
        await loop.sock_sendall(target, data)
    target.shutdown(socket.SHUT_WR)


@cache
def _loop() -> asyncio.AbstractEventLoop:
    """The event loop of all forwarding in this process, in a thread of its own."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, name="llmzoo forwarding", daemon=True).start()
    return loop


os.register_at_fork(after_in_child=_loop.cache_clear)
