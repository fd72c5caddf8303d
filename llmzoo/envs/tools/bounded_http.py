"""An HTTP GET with a limit on the time and the size of the whole answer."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
import urllib.request
from functools import partial
from typing import Any


class ResponseTooLong(Exception):
    """The answer has more bytes than are read."""


def get(url: str, *, seconds: float, most_bytes: int) -> bytes:
    """The body of the answer of ``url``.

    Redirects are not followed: they raise ``HTTPError``, as does any status but success.
    Raises :class:`ResponseTooLong`, ``TimeoutError`` and other ``OSError``.
    """
    deadline = time.monotonic() + seconds
    sockets: list[socket.socket] = []
    # the timer closes the sockets: a socket's own timeout restarts with every byte
    timer = threading.Timer(seconds, _shut_down_sockets, [sockets])
    timer.daemon = True
    timer.start()
    try:
        opener = urllib.request.build_opener(
            _TimedHttp(sockets), _TimedHttps(sockets), _NoRedirects
        )
        with opener.open(url, timeout=seconds) as answer:
            body = bytes(answer.read(most_bytes + 1))
    except (OSError, ValueError, http.client.HTTPException) as error:
        if time.monotonic() >= deadline:
            raise TimeoutError from error
        if isinstance(error, OSError):
            raise
        raise ConnectionError(f"no answer of HTTP: {error}") from error
    finally:
        timer.cancel()
    if len(body) > most_bytes:
        raise ResponseTooLong
    if time.monotonic() >= deadline:  # the timer closed it, which looks like a normal end
        raise TimeoutError
    return body


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class _TimedHttp(urllib.request.HTTPHandler):
    def __init__(self, sockets: list[socket.socket]):
        super().__init__()
        self._sockets = sockets

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(
            partial(_open_connection, http.client.HTTPConnection, self._sockets), req
        )


class _TimedHttps(urllib.request.HTTPSHandler):
    def __init__(self, sockets: list[socket.socket]):
        super().__init__()
        self._sockets = sockets

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(
            partial(_open_connection, http.client.HTTPSConnection, self._sockets), req
        )


def _open_connection(kind: Any, sockets: list[socket.socket], host: str, **options: Any) -> Any:
    connection = kind(host, **options)
    connect = connection.connect

    def connect_and_record() -> None:
        connect()
        sockets.append(connection.sock)

    connection.connect = connect_and_record
    return connection


def _shut_down_sockets(sockets: list[socket.socket]) -> None:
    for each in list(sockets):
        with contextlib.suppress(OSError):
            # of the socket itself, beneath TLS: its reader wakes up
            socket.socket.shutdown(each, socket.SHUT_RDWR)
