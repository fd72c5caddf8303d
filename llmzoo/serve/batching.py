"""Shares models between many callers: calls that arrive while a model is busy are batched.

One thread runs the models. It takes the call that has waited longest, plus waiting calls with the
same settings, up to a number of rows. A call is never split. Every request carries the key of its
sampling noise, so batching changes its completions by rounding errors at most.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import NoReturn, cast

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError, LlmzooError
from llmzoo.policies.base import PolicyRequest, respond_to_each
from llmzoo.policies.settings import Sampling
from llmzoo.records import Completion
from llmzoo.serve.agent_router import AgentRouter

_STOP_TIMEOUT_S = 10.0  # seconds for the model to stop
_GROWTH_PAUSE_S = 0.05  # between two reports of a call's tokens


class _RemoteEnvPlaceholder:
    """Stands for the environment in a request of a remote client; the server has no environment."""

    def __getattr__(self, name: str) -> NoReturn:
        raise ConfigError(
            f"the environment is where the client is, and has no {name!r} here: a policy that "
            "reads it cannot be served"
        )


REMOTE_ENV_PLACEHOLDER = cast(AECEnv, _RemoteEnvPlaceholder())


class ServerBusyError(LlmzooError, RuntimeError):
    """The server takes no more calls, for now or because it is stopping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """The settings of a call. ``sampling``: None for the policies' own."""

    group_size: int
    greedy: bool
    sampling: Sampling | None


class PolicyCall:
    """The requests of one call, whose completions are awaited in the running event loop.

    ``watched``: keep the tokens of completions that grow. ``growing``: by request, the ids of each
    completion so far.
    """

    def __init__(
        self, requests: Sequence[PolicyRequest], settings: CallSettings, *, watched: bool = False
    ):
        self.settings = settings
        self.cancelled = threading.Event()
        self.growing: dict[int, list[list[int]]] = {}
        self.unanswered = {
            number: replace(
                request,
                cancelled=self.cancelled,
                on_growth=partial(self._on_growth, number) if watched else None,
            )
            for number, request in enumerate(requests)
        }
        self.rows = len(requests) * settings.group_size
        self.characters = sum(len(request.observation) for request in requests)
        self._groups: dict[int, list[Completion]] = {}
        self._error: Exception | None = None
        self._lock = threading.Lock()
        self._has_ended = False
        self._loop = asyncio.get_running_loop()
        self._complete = asyncio.Event()
        self._growth = asyncio.Event()
        self._last_growth = -math.inf  # by the clock of time.monotonic

    @property
    def has_ended(self) -> bool:
        return self._complete.is_set()

    async def wait_for_growth(self, seconds: float) -> None:
        """Wait until completions have grown, or all is complete, but no longer than ``seconds``."""
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._growth.wait(), seconds)
        if not self.has_ended:
            self._growth.clear()

    async def groups(self) -> list[list[Completion]]:
        """The completions of each request, in order; of fewer if the call was cancelled.

        Raises what the policy raised.
        """
        await self._complete.wait()
        if self._error is not None:
            raise self._error
        return [self._groups[number] for number in sorted(self._groups)]

    def add_completions(self, number: int, completions: list[Completion]) -> None:
        size = self.settings.group_size
        if len(completions) != size:
            raise RuntimeError(f"{len(completions)} completions instead of {size}")
        del self.unanswered[number]
        self._groups[number] = completions
        if not self.unanswered:
            self.end()

    def end(self, error: Exception | None = None) -> None:
        """No more completions follow. ``error``: why, if the call is incomplete."""
        with self._lock:
            if self._has_ended:
                return
            self._has_ended, self._error = True, error
        with suppress(RuntimeError):  # the loop has ended without waiting for this call
            self._loop.call_soon_threadsafe(self._on_end)

    def _on_end(self) -> None:
        self._complete.set()
        self._growth.set()

    def _on_growth(self, number: int, rows: list[list[int]]) -> None:
        self.growing[number] = rows
        now = time.monotonic()
        if now - self._last_growth >= _GROWTH_PAUSE_S:
            self._last_growth = now
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._growth.set)


class _AllClientsGoneError(Exception):
    """All clients of the running batch have given up."""


class Batcher:
    """Answers calls in its own thread.

    ``rows`` and ``characters`` (of observations): the limits of one batch. ``calls``: the maximum
    number of waiting calls.
    """

    def __init__(
        self,
        policies: AgentRouter,
        *,
        rows: int = 512,
        characters: int = 4_000_000,
        calls: int = 4096,
    ):
        self._policies, self._max_waiting = policies, calls
        self._rows, self._characters = rows, characters
        self._waiting: list[PolicyCall] = []
        self._running: list[PolicyCall] = []  # the calls that the models are answering
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="llmzoo-policy", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        with self._changed:
            return len(self._waiting)

    def submit(self, call: PolicyCall) -> None:
        """Queue a call. Raises :class:`ServerBusyError`."""
        with self._changed:
            if self._closed:
                raise ServerBusyError("the server is shutting down")
            if len(self._waiting) >= self._max_waiting:
                raise ServerBusyError(
                    f"{self._max_waiting} calls are waiting, the most that this server allows"
                )
            self._waiting.append(call)
            self._changed.notify()

    def cancel(self, call: PolicyCall) -> None:
        """Drop a call whose client is gone. It may have ended already."""
        with self._changed:
            call.cancelled.set()
            if call in self._waiting:
                self._waiting.remove(call)
        call.end()

    def close(self) -> None:
        """End running and waiting calls, and take no more.

        A model that does not stop in time is abandoned; its completions are ignored.
        """
        with self._changed:
            self._closed = True
            ended = [*self._waiting, *self._running]
            self._waiting.clear()
            for call in ended:
                call.cancelled.set()
                call.end(ServerBusyError("the server has ended"))
            self._changed.notify()
        self._thread.join(_STOP_TIMEOUT_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._running = []
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                self._running = self._take_batch()
            self._answer(self._running)

    def _take_batch(self) -> list[PolicyCall]:
        """The calls to answer now, removed from the queue."""
        first = self._waiting.pop(0)
        batch, rows, characters = [first], first.rows, first.characters
        for call in [call for call in self._waiting if call.settings == first.settings]:
            more = characters + call.characters
            if rows + call.rows <= self._rows and more <= self._characters:
                self._waiting.remove(call)
                batch.append(call)
                rows, characters = rows + call.rows, more
        return batch

    def _answer(self, calls: Sequence[PolicyCall]) -> None:
        calls = [call for call in calls if call.unanswered and not call.cancelled.is_set()]
        try:
            if calls:
                self._sample(calls)
        except _AllClientsGoneError:
            return
        except BaseException as error:  # the thread must survive whatever a model raises
            if len(calls) > 1:  # retry each alone: one of them may be at fault
                for call in calls:
                    self._answer([call])
            else:
                calls[0].end(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _sample(self, calls: Sequence[PolicyCall]) -> None:
        pending = [(call, number) for call in calls for number in call.unanswered]

        def on_complete(index: int, completions: list[Completion]) -> None:
            call, number = pending[index]
            call.add_completions(number, completions)
            if all(call.cancelled.is_set() for call in calls):
                raise _AllClientsGoneError

        settings = calls[0].settings
        policies = self._policies
        respond_to_each(
            policies if settings.sampling is None else policies.with_sampling(settings.sampling),
            [call.unanswered[number] for call, number in pending],
            settings.group_size,
            greedy=settings.greedy,
            on_complete=on_complete,
        )
        for call in calls:
            if call.unanswered:
                raise RuntimeError(f"{len(call.unanswered)} requests were left unanswered")
