"""The connection to one server. It queues requests, and sends them in one call when a result is read.

Resets, forks and steps make no call of their own. They are added to a pending batch that all
environments of the server share. The batch is sent as soon as the result of one of them is read.
"""

from __future__ import annotations

import atexit
import contextlib
import math
import os
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import grpc

from llmzoo.errors import LlmzooError
from llmzoo.rollout.stepping import RemoteHost, StepRequest, step_each
from llmzoo.serve import validation
from llmzoo.serve.calls import EnvironmentsStub
from llmzoo.serve.channel import Address, RemoteError, call_server, connect, error_from_rpc
from llmzoo.serve.descriptions import Description, read_description
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.hosting import GREATEST_MESSAGE_BYTES, TIME_LIMIT_BOUNDS_S

Result = pb.Outcome | LlmzooError  # of an item; an error: the whole call failed

_SLACK_S = 30.0  # added to the time that the steps of a call may take
_CLOSE_TIMEOUT_S = 2.0


class PendingBatch:
    """Items for one call, and the callback that takes the result of each.

    ``envs``: the environments that take part. ``done`` is set after all callbacks have run.
    """

    __slots__ = ("callbacks", "done", "envs", "message")

    def __init__(self) -> None:
        self.message = pb.Batch()
        self.callbacks: list[Callable[[Result], None]] = []
        self.envs: list[weakref.ref[Any]] = []
        self.done = threading.Event()

    def finish(self) -> None:
        """Free everything but ``envs``, and wake the threads that wait for the batch."""
        self.message = pb.Batch()
        self.callbacks = []
        self.done.set()


class Connection(RemoteHost):
    """The environments of one server. Threads may share it; each uses environments of its own."""

    def __init__(self, address: Address, channel: grpc.Channel):
        self.address = replace(address, name="")
        self.calls = 0  # of StepBatch
        self._process = os.getpid()
        self._channel = channel
        self._stub = EnvironmentsStub(channel)
        self._pending = PendingBatch()
        self._lock = threading.Lock()
        self._open: set[bytes] = set()  # sessions
        self._to_close: deque[bytes] = deque()  # sessions that the next call closes
        self._descriptions: dict[bytes, Description] = {}
        self._listed: pb.ListReply | None = None

    @property
    def limits(self) -> pb.Limits:
        return (self._listed or self._fetch_list()).limits

    def find_environment(self, id: str) -> pb.Hosted | None:
        """What the server says about an id; None if it does not host it."""
        for reply in (self._listed, None):  # the server may have restarted with others
            for environment in (reply or self._fetch_list()).environments:
                if environment.id == id:
                    return environment
        return None

    def ids(self) -> list[str]:
        environments = (self._listed or self._fetch_list()).environments
        return [
            validation.to_single_line(environment.id, 80) for environment in environments[:1000]
        ]

    def describe(self, spec: pb.Spec) -> Description:
        """Raises :class:`llmzoo.errors.ConfigError` for arguments that the server refuses."""
        key = spec.SerializeToString(deterministic=True)
        if key not in self._descriptions:
            timeout = self.limits.make_s + _SLACK_S
            address = replace(self.address, name=spec.env)
            reply = call_server(self._channel, self._stub.Describe, spec, address, timeout)
            self._descriptions[key] = read_description(reply)
        return self._descriptions[key]

    def add(
        self, item: pb.Item, callback: Callable[[Result], None], *, after: PendingBatch | None
    ) -> PendingBatch:
        """Add an item to the pending batch, and return the batch.

        ``after``: the batch that holds the session's previous item. If another thread is sending
        it, this waits, so that no later call overtakes it.
        """
        while True:
            with self._lock:
                batch = self._pending
                if after is None or after is batch or after.done.is_set():
                    batch.message.items.append(item)
                    batch.callbacks.append(callback)
                    return batch
            after.done.wait()

    def send(self, batch: PendingBatch) -> None:
        """Return once the batch is done; send it unless another thread does. Errors go to the
        callbacks."""
        with self._lock:
            pending = batch is self._pending
            if pending:
                self._pending = PendingBatch()
        if not pending:
            batch.done.wait()
            return
        try:
            for callback, result in zip(batch.callbacks, self._send_items(batch), strict=True):
                callback(result)
        finally:
            batch.finish()

    def step_all(self, acts: Sequence[StepRequest]) -> list[Any]:
        envs: list[Any] = [act.env.unwrapped for act in acts]  # each a RemoteEnv
        ways = [pb.Step.EACH if act.step_fn is step_each else pb.Step.ADVANCE for act in acts]
        batches = {
            env.add_steps(act.texts, way) for env, act, way in zip(envs, acts, ways, strict=True)
        }
        for batch in batches:
            self.send(batch)
        return [env.read_step_rewards(way) for env, way in zip(envs, ways, strict=True)]

    def add_session(self, session: bytes) -> None:
        """Have a session closed when this process ends."""
        self._open.add(session)

    def drop(self, session: bytes) -> None:
        """Have a session closed by the next call. The garbage collector calls this, at any time."""
        self._to_close.append(session)

    def close_sessions(self) -> None:
        """Close all sessions, if the server can still be reached."""
        message = pb.Batch(close=list(self._open))
        self._open.clear()
        # a forked process leaves its parent's sessions alone
        if message.close and os.getpid() == self._process:
            with contextlib.suppress(grpc.RpcError, ValueError):
                self._stub.StepBatch(message, timeout=_CLOSE_TIMEOUT_S)

    def _send_items(self, batch: PendingBatch) -> list[Result]:
        """Send the batch, in several calls if it exceeds the server's limits."""
        for _ in range(len(self._to_close)):
            session = self._to_close.popleft()
            self._open.discard(session)
            batch.message.close.append(session)
        return self._call_in_parts(batch.message)

    def _call_in_parts(self, message: pb.Batch) -> list[Result]:
        results: list[Result] = []
        for part in self._split_message(message):
            try:
                results += self._call(part)
            except grpc.RpcError as rpc_error:
                # the server has not begun an invalid call; it may have restarted with other limits
                invalid = rpc_error.code() is grpc.StatusCode.INVALID_ARGUMENT
                if invalid and self._have_limits_changed():
                    results += self._call_in_parts(part)
                else:
                    results += [error_from_rpc(rpc_error, self.address)] * len(part.items)
            except RemoteError as remote_error:
                results += [remote_error] * len(part.items)
        return results

    def _have_limits_changed(self) -> bool:
        """Fetch the server's limits again. Returns whether they have changed."""
        known = self.limits
        with contextlib.suppress(RemoteError):
            return bool(self._fetch_list().limits != known)
        return False

    def _split_message(self, message: pb.Batch) -> Iterator[pb.Batch]:
        limits = self.limits
        room = int(0.95 * limits.message_bytes)
        if len(message.items) <= limits.batch_items and message.ByteSize() <= room:
            yield message
            return
        part = pb.Batch(close=message.close)
        size = part.ByteSize()
        for item in message.items:
            more = item.ByteSize() + 8  # its tag and length
            if part.items and (size + more > room or len(part.items) == limits.batch_items):
                yield part
                part, size = pb.Batch(), 0
            part.items.append(item)
            size += more
        yield part

    def _call(self, message: pb.Batch) -> Sequence[pb.Outcome]:
        limits = self.limits
        self.calls += 1
        # the server enforces the limit of each step; this timeout is for a server that does not
        rounds = math.ceil(len(message.items) / limits.workers)
        timeout = _SLACK_S + limits.make_s + limits.step_s * rounds
        outcomes: Sequence[pb.Outcome] = self._stub.StepBatch(message, timeout=timeout).outcomes
        if len(outcomes) != len(message.items):
            raise validation.invalid_reply_error(
                f"answered {len(outcomes)} of {len(message.items)} items"
            )
        return outcomes

    def _fetch_list(self) -> pb.ListReply:
        reply: pb.ListReply = call_server(
            self._channel, self._stub.ListEnvironments, pb.ListRequest(), self.address, _SLACK_S
        )
        _check_limits(reply.limits)
        self._listed = reply
        return reply


def _check_limits(limits: pb.Limits) -> None:
    """Raise :class:`RemoteError` for limits that no client can keep."""
    validation.check_number(
        limits.message_bytes, 2**16, GREATEST_MESSAGE_BYTES, "the bytes of a message"
    )
    validation.check_number(limits.batch_items, 1, 2**32, "the items of a call")
    validation.check_number(limits.workers, 1, 2**32, "its workers")
    validation.check_number(limits.step_s, *TIME_LIMIT_BOUNDS_S, "the seconds of a step")
    validation.check_number(
        limits.make_s, *TIME_LIMIT_BOUNDS_S, "the seconds of making an environment"
    )


_connections: dict[grpc.Channel, Connection] = {}
_lock = threading.Lock()


def connection_to(address: Address) -> Connection:
    """The connection to the server of an address, shared by all its environments here."""
    channel = connect(address)
    with _lock:
        if channel not in _connections:
            connection = _connections[channel] = Connection(address, channel)
            atexit.register(connection.close_sessions)
        return _connections[channel]
