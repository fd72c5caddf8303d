"""What a client has noted for a server, and how it is sent: together, when something is read.

Resets, forks and steps cost nothing by themselves. They are noted, for all environments of a server
in one list, and sent in one call once somebody reads what came of one of them.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import threading
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import grpc

from llmzoo.errors import LlmzooError
from llmzoo.rollout.stepping import Act, RemoteHost, step_each
from llmzoo.serve import trust
from llmzoo.serve.channel import Address, RemoteError, connect, explained, plainly
from llmzoo.serve.descriptions import Description, read
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.generated import environments_pb2_grpc as pb_grpc
from llmzoo.serve.hosting import GREATEST_MESSAGE_BYTES, LIMITS_S
from llmzoo.serve.noted import Noted, Owner

if TYPE_CHECKING:
    from llmzoo.serve.remote import RemoteEnv

_SLACK_S = 30.0  # of a call beyond what its steps may take
_GOODBYE_S = 2.0
_NOTHING = pb.Outcome()
# what a server says of a call that it does not begin: too large, too many at once, no token
_REFUSED = (grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.UNAUTHENTICATED)


class Connection(RemoteHost):
    """The environments of one server; threads may share it, and each has environments of its own."""

    def __init__(self, address: Address, channel: grpc.Channel):
        self.address = replace(address, name="")
        self.calls = 0  # of StepBatch
        self._process = os.getpid()
        self._stub = pb_grpc.EnvironmentsStub(channel)
        self._noted = Noted()
        self._lock = threading.Lock()
        self._open: set[bytes] = set()  # sessions
        self._dropped: deque[bytes] = deque()  # those that nobody here holds any more
        self._described: dict[bytes, Description] = {}
        self._listed: pb.ListReply | None = None

    @property
    def limits(self) -> pb.Limits:
        return (self._listed or self._list()).limits

    def hosted(self, id: str) -> pb.Hosted | None:
        """What the server says of an id; None where it does not host it."""
        for reply in (self._listed, None):  # it may have been started again with others
            for found in (reply or self._list()).environments:
                if found.id == id:
                    return found
        return None

    def ids(self) -> list[str]:
        found = (self._listed or self._list()).environments
        return [trust.line(hosted.id, 80) for hosted in found[:1000]]

    def described(self, spec: pb.Spec) -> Description:
        """Raises :class:`ConfigError` for arguments that the server refuses."""
        key = spec.SerializeToString(deterministic=True)
        if key not in self._described:
            timeout = self.limits.make_s + _SLACK_S
            with plainly(replace(self.address, name=spec.env)):
                self._described[key] = read(self._stub.Describe(spec, timeout=timeout))
        return self._described[key]

    def note(
        self,
        owner: Owner,
        item: pb.Item,
        *,
        after: threading.Event | None,
        keep: Owner | None = None,
    ) -> tuple[Noted, int]:
        """Put an item into the next call; returns that, and the item's number in it.

        ``after``: set once the call is over that was noted for the same session before. Where another
        thread is sending that, this waits, so that no later call overtakes it.
        """
        while True:
            with self._lock:
                noted = self._noted
                if after is None or after is noted.done or after.is_set():
                    noted.message.items.append(item)
                    noted.owners.append(owner)
                    if keep is not None:
                        noted.keep(keep)
                    return noted, len(noted.owners) - 1
            after.wait()

    def act(self, acts: Sequence[Act]) -> list[Any]:
        envs = [cast("RemoteEnv", act.env.unwrapped) for act in acts]
        ways = [pb.Step.EACH if act.by is step_each else pb.Step.ADVANCE for act in acts]
        noted = [
            env.note_act(act.texts, way) for env, act, way in zip(envs, acts, ways, strict=True)
        ]
        for calls in {calls for calls, _ in noted}:
            self.send(calls)
        return [
            env.paid(calls.outcomes[number], way)
            for env, (calls, number), way in zip(envs, noted, ways, strict=True)
        ]

    def opened(self, session: bytes) -> None:
        """Note that a session is to be closed when this process ends."""
        self._open.add(session)

    def drop(self, session: bytes) -> None:
        """Have a session closed by the next call. The garbage collector calls this, at any time."""
        self._dropped.append(session)

    def send(self, noted: Noted) -> None:
        """See to it that what was noted is done. What fails is told to its owners."""
        waiting = [noted]
        while waiting:
            waiting += self._send(waiting.pop())

    def _send(self, noted: Noted) -> set[Noted]:
        """Returns what has been noted to ask for views again."""
        with self._lock:
            mine = noted is self._noted
            if mine:
                self._noted = Noted()
        if not mine:
            noted.done.wait()  # another thread sends it
            return set()
        try:
            again = self._carry_out(noted)
        finally:
            noted.over()
        return {owner.ask_again() for owner in again}

    def _carry_out(self, noted: Noted) -> list[Owner]:
        """Returns whose views have to be asked for again."""
        message = noted.message
        for _ in range(len(self._dropped)):
            session = self._dropped.popleft()
            self._open.discard(session)
            message.close.append(session)
        noted.outcomes = [_NOTHING] * len(noted.owners)
        errors: dict[int, LlmzooError] = {}
        for numbers, part in self._parts(message):
            try:
                noted.outcomes[numbers.start : numbers.stop] = self._call(part)
            except grpc.RpcError as failed:
                errors.update(dict.fromkeys(numbers, explained(failed, self.address)))
            except RemoteError as wrong:
                errors.update(dict.fromkeys(numbers, wrong))
        again: list[Owner] = []
        for number, owner in enumerate(noted.owners):
            if number in errors:
                error = errors[number]
                refused = isinstance(error, RemoteError) and error.code in _REFUSED
                owner.lose(noted, error, refused=refused)
            elif owner.take(noted, number, noted.outcomes[number]):
                again.append(owner)
        if again and len(again) == len(noted.owners):  # the first of a call always has room
            for owner in again:
                owner.lose(noted, trust.odd("finds no room for any view"), refused=False)
            return []
        return again

    def _parts(self, message: pb.Batch) -> Iterator[tuple[range, pb.Batch]]:
        """The message, or several where the server would not take it whole, with the numbers of
        their items."""
        limits = self.limits
        room = int(0.95 * limits.message_bytes)
        count = len(message.items)
        if count <= limits.batch_items and message.ByteSize() <= room:
            yield range(count), message
            return
        part = pb.Batch(close=message.close)
        first, size = 0, part.ByteSize()
        for at, item in enumerate(message.items):
            more = item.ByteSize() + 8  # its tag and length
            if part.items and (size + more > room or len(part.items) == limits.batch_items):
                yield range(first, at), part
                part, first, size = pb.Batch(), at, 0
            part.items.append(item)
            size += more
        yield range(first, count), part

    def _call(self, message: pb.Batch) -> Sequence[pb.Outcome]:
        limits = self.limits
        self.calls += 1
        # the server keeps the limits of each step; this one is for a server that does not
        rounds = math.ceil(len(message.items) / limits.workers)
        timeout = _SLACK_S + limits.make_s + limits.step_s * rounds
        outcomes: Sequence[pb.Outcome] = self._stub.StepBatch(message, timeout=timeout).outcomes
        if len(outcomes) != len(message.items):
            raise trust.odd(f"answered {len(outcomes)} of {len(message.items)} items")
        return outcomes

    def _list(self) -> pb.ListReply:
        with plainly(self.address):
            listed: pb.ListReply = self._stub.ListEnvironments(pb.ListRequest(), timeout=_SLACK_S)
        _check(listed.limits)
        self._listed = listed
        return listed

    def leave(self) -> None:
        """Close all sessions, as far as the server can still be reached."""
        message = pb.Batch(close=list(self._open))
        self._open.clear()
        # a process that was forked off leaves its parent's sessions alone
        if message.close and os.getpid() == self._process:
            with contextlib.suppress(grpc.RpcError, ValueError):
                self._stub.StepBatch(message, timeout=_GOODBYE_S)


def _check(limits: pb.Limits) -> None:
    """Raise :class:`RemoteError` for limits that none can keep to."""
    trust.number(limits.message_bytes, 2**16, GREATEST_MESSAGE_BYTES, "the bytes of a message")
    trust.number(limits.batch_items, 1, 2**32, "the items of a call")
    trust.number(limits.workers, 1, 2**32, "its workers")
    trust.number(limits.step_s, *LIMITS_S, "the seconds of a step")
    trust.number(limits.make_s, *LIMITS_S, "the seconds of making an environment")


_connections: dict[grpc.Channel, Connection] = {}
_lock = threading.Lock()


def connection_to(address: Address) -> Connection:
    """The connection to the server of an address, shared by all its environments here."""
    channel = connect(address)
    with _lock:
        if channel not in _connections:
            connection = _connections[channel] = Connection(address, channel)
            atexit.register(connection.leave)
        return _connections[channel]
