"""Nested remote calls between two processes: each may ask the other while it answers a question.

For example, a test calls a function of the program, which calls a function of the test, which calls
the program again. Frames alternate strictly: after a question, a side answers questions until its own
answer comes. Questions and answers have the same form::

    [kind, serial, word, text, operands, names, marks, changed, dropped]

``kind``: "?" for a question, "!" for the answer to the question with the same serial number.
``word``: the verb of a question, or how it ended. ``marks``: [index of an operand, key] of newly
watched containers (see :mod:`.shared_containers`). ``changed``: [key, content] of containers watched before.
``dropped``: what the sender no longer uses.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..confine.channel import Channel, ChannelClosed
from ..confine.plain_data import NotData
from .shared_containers import SharedContainers
from .stdlib_values import from_tag, to_tag

CALLABLE = 0  # the class handle of objects that can only be called
LIBRARY = "library:"  # prefix of a name that the program has imported
MAX_DEPTH = 60  # questions within questions
_FIELD_TYPES = (str, int, str, str, list, list, list, list, list)


class PeerGone(BaseException):
    """The other side has ended, or has sent a malformed frame.

    It is not an ``Exception``, so that no test mistakes it for an expected exception.
    """


class Reply(NamedTuple):
    """The result of a question. ``word``: how it ended ("value", "raised", "stop", ...)."""

    word: str
    operands: Sequence[Any] = ()
    text: str = ""
    names: Sequence[str] = ()


class _Watched:
    """A reference in a frame to a container that both sides have."""

    def __init__(self, key: int):
        self.key = key


class Peer:
    """One side. Subclasses define the answers, and how objects that are not data are sent.

    Frames of the other side are not trusted. A frame of another form raises :class:`PeerGone`, as does
    every later question.
    """

    def __init__(self, channel: Channel, side: int):
        self.channel = channel
        self.containers = SharedContainers(side, self.encode)
        self.gone = ""  # why the conversation is over
        self.changes = 0  # how often objects of the program may have changed
        self._serial = 0
        self._depth = 0

    def perform(self, word: str, text: str, operands: list[Any], names: list[str]) -> Reply:
        """Answer a question of the other side. Never raises."""
        raise NotImplementedError

    def encode_object(self, value: Any) -> list[Any] | None:
        """The tagged list of an object that is sent as a reference, or None."""
        raise NotImplementedError

    def decode_object(self, tagged: list[Any]) -> Any:
        """The object of such a list. Raises :class:`LookupError` for another tag."""
        raise NotImplementedError

    def take_unused_handles(self) -> list[int]:
        """Handles of objects of the other side that are no longer used here."""
        return []

    def release(self, handles: list[Any]) -> None:
        """Forget own objects that the other side no longer uses."""

    def encode(self, value: Any) -> list[Any] | None:
        if type(value) is _Watched:
            return ["watched", value.key]
        return to_tag(value, self.encode) or self.encode_object(value)

    def decode(self, tagged: list[Any]) -> Any:
        if tagged[0] == "watched" and len(tagged) == 2:
            return self.containers.get(tagged[1])
        try:
            return self.decode_object(tagged)
        except LookupError:
            return from_tag(tagged, self.decode)

    def ask(self, word: str, *operands: Any, text: str = "", names: Sequence[str] = ()) -> Reply:
        """Ask the other side, and answer its questions until its answer comes.

        Raises :class:`PeerGone`, and :class:`NotData` if an operand cannot be sent.
        """
        if self.gone:
            raise PeerGone(self.gone)
        if self._depth >= MAX_DEPTH:
            raise RecursionError("calls back and forth nested too deep")
        self._serial += 1
        serial = self._serial
        self._depth += 1
        try:
            self._send("?", serial, Reply(word, operands, text, names))
            while True:
                kind, number, reply = self._receive()
                if kind == "!":
                    break
                self.answer(number, reply)
        finally:
            self._depth -= 1
        if number != serial:
            raise self._end("an answer to another question")
        return reply

    def check_alive(self) -> None:
        """Raises :class:`PeerGone` if the other side has ended or has sent an unrequested answer."""
        if self.gone:
            raise PeerGone(self.gone)
        if self.channel.has_unread_data:
            raise self._end("an answer without a question")
        try:
            waiting = self.channel.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionResetError:
            waiting = b""
        raise self._end("an answer without a question" if waiting else "it has ended")

    def next_question(self) -> tuple[int, Reply]:
        """The number and content of the next frame, which must be a question."""
        kind, number, question = self._receive()
        if kind != "?":
            raise self._end("an answer without a question")
        return number, question

    def answer(self, number: int, question: Reply) -> None:
        reply = self.perform(
            question.word, question.text, list(question.operands), list(question.names)
        )
        try:
            self._send("!", number, reply)
        except (NotData, RecursionError) as error:
            self._send("!", number, Reply("unsendable", text=str(error)[:500]))

    def _end(self, why: str) -> PeerGone:
        self.gone = self.gone or why
        return PeerGone(self.gone)

    def _send(self, kind: str, serial: int, reply: Reply) -> None:
        changed = self.containers.take_changes()
        self.changes += bool(changed)
        dropped_keys = self.containers.forget_unused()
        operands, marks = [], []
        for index, value in enumerate(reply.operands):
            key = self.containers.key(value)
            if key is not None:
                value = _Watched(key)
            elif (key := self.containers.watch(value)) is not None:
                marks.append([index, key])
            operands.append(value)
        frame = [
            *(kind, serial, reply.word, reply.text, operands, list(reply.names), marks),
            [list(pair) for pair in changed],
            [dropped_keys, self.take_unused_handles()],
        ]
        try:
            self.channel.send(frame, self.encode)
        except NotData:
            for key in [key for key, _ in changed] + [key for _, key in marks]:
                self.containers.forget(key)
            raise
        except ChannelClosed:
            raise self._end("it has ended") from None

    def _receive(self) -> tuple[str, int, Reply]:
        try:
            frame = self.channel.receive(self.decode)
            self._check(frame)
            kind, number, word, text, operands, names, marks, changed, dropped = frame
            for key, content in changed:
                self.containers.apply_change(key, content)
            for index, key in marks:
                self.containers.watch_as(key, operands[index])
            containers, handles = dropped
            for key in containers:
                self.containers.forget(key)
            self.release(handles)
        except ChannelClosed:
            raise self._end("it has ended") from None
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            raise self._end(f"malformed frame: {error}") from None
        return kind, number, Reply(word, operands, text, names)

    @staticmethod
    def _check(frame: Any) -> None:
        if not (
            isinstance(frame, list)
            and len(frame) == len(_FIELD_TYPES)
            and all(type(part) is form for part, form in zip(frame, _FIELD_TYPES, strict=True))
            and frame[0] in ("?", "!")
            and all(type(name) is str for name in frame[5])
        ):
            raise NotData("wrong number or types of fields")
