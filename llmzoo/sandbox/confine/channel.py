"""Frames of plain data over a stream socket: four bytes of length, then the text of a value."""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

from .plain_data import MAX_CHARS, Extend, NotData, dumps, loads

_AT_ONCE = 1 << 14


class ChannelClosed(Exception):
    """The other side has closed the channel."""


def encode_frame(value: Any, extend: Extend | None = None) -> bytes:
    """The bytes of one frame. Raises :class:`NotData`."""
    # surrogates cannot occur: JSON is written in ASCII
    body = dumps(value, extend).encode("ascii")
    return len(body).to_bytes(4, "big") + body


class Channel:
    """One end of a socket pair. Not thread-safe; ``receive`` honours the socket's timeout."""

    def __init__(self, sock: socket.socket):
        self.socket = sock
        self._buffer = bytearray()  # read from the socket, but not received as a frame yet

    @property
    def has_unread_data(self) -> bool:
        """Whether data has been read from the socket that belongs to later frames."""
        return bool(self._buffer)

    def send(self, value: Any, extend: Extend | None = None) -> None:
        """Raises :class:`NotData` (nothing is sent then), :class:`ChannelClosed` or ``TimeoutError``."""
        self.send_frames(encode_frame(value, extend))

    def send_frames(self, frames: bytes) -> None:
        """Send results of :func:`encode_frame`. Raises :class:`ChannelClosed` or ``TimeoutError``."""
        try:
            self.socket.sendall(frames)
        except (BrokenPipeError, ConnectionResetError) as error:
            raise ChannelClosed from error

    def receive(self, extend: Callable[[list[Any]], Any] | None = None) -> Any:
        """The value of the next frame. Raises :class:`ChannelClosed`, ``TimeoutError`` or :class:`NotData`."""
        length = int.from_bytes(self._receive_exactly(4), "big")
        if length > MAX_CHARS:
            raise NotData(f"a frame of {length} bytes; at most {MAX_CHARS} are allowed")
        body = self._receive_exactly(length)
        try:
            text = body.decode("ascii")
        except UnicodeDecodeError:
            raise NotData("a frame that is not ASCII") from None
        return loads(text, extend)

    def close(self) -> None:
        self.socket.close()

    def _receive_exactly(self, count: int) -> bytes:
        while len(self._buffer) < count:
            try:
                part = self.socket.recv(max(_AT_ONCE, min(count - len(self._buffer), 1 << 20)))
            except ConnectionResetError as error:
                raise ChannelClosed from error
            if not part:
                raise ChannelClosed
            self._buffer += part
        taken = bytes(self._buffer[:count])
        del self._buffer[:count]
        return taken
