"""A conversation between two processes in which either may ask while it is being asked.

A test calls a function of the program; the function calls back a function that the test gave it;
that one calls the program again. Frames alternate strictly: whoever has asked answers questions
until its own answer comes. One form serves questions and answers::

    [kind, serial, word, text, operands, names, marks, changed, dropped]

kind "?" asks, "!" answers the question of the same serial number; ``word`` is the verb, or how the
question ended. ``marks``: [index of an operand, key] of containers watched from now on (see
:mod:`mirrors`); ``changed``: [key, content] of those watched before; ``dropped``: what the sender
has no more use for.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..confine.channel import Channel, Closed
from ..confine.values import NotData
from .kinds import from_tag, to_tag
from .mirrors import Mirrors

CALLABLE = 0  # the handle that stands for the class of what can only be called
LIBRARY = "library:"  # before a name that the program has imported
MAX_DEPTH = 60  # questions within questions
_FORM = (str, int, str, str, list, list, list, list, list)


class Gone(BaseException):
    """The other side has ended, or what it says has no longer the form of a conversation.

    No ``Exception``: nothing that a test expects to be raised may be mistaken for it.
    """


class Reply(NamedTuple):
    """What comes of a question: how it ended ("value", "raised", "stop", ...), and with what."""

    word: str
    operands: Sequence[Any] = ()
    text: str = ""
    names: Sequence[str] = ()


class _Watched:
    """Stands in a frame for a container that both sides have."""

    def __init__(self, key: int):
        self.key = key


class Peer:
    """One side. Subclasses say what they answer, and how objects that are not data cross.

    Nothing that the other side sends is believed to have the right form: :class:`Gone` is raised
    for a frame that has not, and from then on for every question.
    """

    def __init__(self, channel: Channel, own: int):
        self.channel = channel
        self.mirrors = Mirrors(own, self.encode)
        self.gone = ""  # why the conversation is over
        self._serial = 0
        self._depth = 0

    def perform(self, word: str, text: str, operands: list[Any], names: list[str]) -> Reply:
        """Answer a question of the other side; never raises."""
        raise NotImplementedError

    def encode_object(self, value: Any) -> list[Any] | None:
        """The tagged list of an object that crosses as a reference, or None where it does not."""
        raise NotImplementedError

    def decode_object(self, tagged: list[Any]) -> Any:
        """The object of such a list; :class:`LookupError` for a tag that is not one of these."""
        raise NotImplementedError

    def unused(self) -> list[int]:
        """Handles of the other side's objects that are no longer in use here."""
        return []

    def release(self, handles: list[Any]) -> None:
        """Forget own objects that the other side has no more use for."""

    def encode(self, value: Any) -> list[Any] | None:
        if type(value) is _Watched:
            return ["watched", value.key]
        return to_tag(value, self.encode) or self.encode_object(value)

    def decode(self, tagged: list[Any]) -> Any:
        if tagged[0] == "watched" and len(tagged) == 2:
            return self.mirrors.get(tagged[1])
        try:
            return self.decode_object(tagged)
        except LookupError:
            return from_tag(tagged, self.decode)

    def ask(self, word: str, *operands: Any, text: str = "", names: Sequence[str] = ()) -> Reply:
        """Ask the other side; answers its questions meanwhile.

        Raises :class:`NotData` where an operand cannot cross, and :class:`Gone`.
        """
        if self.gone:
            raise Gone(self.gone)
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
        """Raises :class:`Gone` where the other side has ended, or has said what nobody asked for."""
        if self.gone:
            raise Gone(self.gone)
        if self.channel.has_read:
            raise self._end("an answer without a question")
        try:
            waiting = self.channel.socket.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except ConnectionResetError:
            waiting = b""
        raise self._end("an answer without a question" if waiting else "it has ended")

    def next_question(self) -> tuple[int, Reply]:
        """The number and content of a question, where nothing but a question may come."""
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

    def _end(self, why: str) -> Gone:
        self.gone = self.gone or why
        return Gone(self.gone)

    def _send(self, kind: str, serial: int, reply: Reply) -> None:
        changed = self.mirrors.changed()
        watched_before = self.mirrors.unused()
        operands, marks = [], []
        for index, value in enumerate(reply.operands):
            key = self.mirrors.key(value)
            if key is not None:
                value = _Watched(key)
            elif (key := self.mirrors.watch(value)) is not None:
                marks.append([index, key])
            operands.append(value)
        frame = [
            *(kind, serial, reply.word, reply.text, operands, list(reply.names), marks),
            [list(pair) for pair in changed],
            [watched_before, self.unused()],
        ]
        try:
            self.channel.send(frame, self.encode)
        except NotData:
            for key in [key for key, _ in changed] + [key for _, key in marks]:
                self.mirrors.forget(key)
            raise
        except Closed:
            raise self._end("it has ended") from None

    def _receive(self) -> tuple[str, int, Reply]:
        try:
            frame = self.channel.receive(self.decode)
            self._check(frame)
            kind, number, word, text, operands, names, marks, changed, dropped = frame
            for key, content in changed:
                self.mirrors.change(key, content)
            for index, key in marks:
                self.mirrors.keep(key, operands[index])
            containers, handles = dropped
            for key in containers:
                self.mirrors.forget(key)
            self.release(handles)
        except Closed:
            raise self._end("it has ended") from None
        except (TypeError, ValueError, LookupError, RecursionError) as error:
            raise self._end(f"no frame: {error}") from None
        return kind, number, Reply(word, operands, text, names)

    @staticmethod
    def _check(frame: Any) -> None:
        if not (
            isinstance(frame, list)
            and len(frame) == len(_FORM)
            and all(type(part) is form for part, form in zip(frame, _FORM, strict=True))
            and frame[0] in ("?", "!")
            and all(type(name) is str for name in frame[5])
        ):
            raise NotData("not in the form of one")
