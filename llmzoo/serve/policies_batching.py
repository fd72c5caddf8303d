"""Many clients share one model: calls that arrive while it is busy are answered together.

One thread asks the model. It takes the call that has waited longest, plus waiting calls with the
same settings, up to a number of rows. A call is never split, so a client that is alone gets exactly
the answers that the model would give in its own process. Every request carries the key of its
noise, so beside others it gets the same answers up to rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

from llmzoo.errors import LlmzooError
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.settings import Sampling
from llmzoo.records import Completion
from llmzoo.serve.policies_hosted import HostedPolicy

_STOP_TIMEOUT_S = 10.0  # seconds for the model to stop


class ServerBusyError(LlmzooError, RuntimeError):
    """The server takes no more calls, for now or because it is stopping."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CallSettings:
    """The settings of a call. ``sampling``: None for the policy's own."""

    group_size: int
    greedy: bool
    sampling: Sampling | None


class PolicyCall:
    """The requests of one call, and its answers as they arrive."""

    def __init__(self, requests: Sequence[PolicyRequest], settings: CallSettings):
        self.wanted = settings
        self.cancelled = threading.Event()
        self.unanswered = {
            number: replace(request, cancelled=self.cancelled)
            for number, request in enumerate(requests)
        }
        self.rows = len(requests) * settings.group_size
        self.characters = sum(len(request.observation) for request in requests)
        self._said: SimpleQueue[tuple[int, list[Completion]] | _EndOfAnswers] = SimpleQueue()

    def answers(self) -> Iterator[list[tuple[int, list[Completion]]]]:
        """Request numbers with their completions, in batches of what is ready.

        Ends early if the call is given up. Raises what the policy raised.
        """
        while True:
            complete: list[tuple[int, list[Completion]]] = []
            item = self._said.get()
            while not isinstance(item, _EndOfAnswers):
                complete.append(item)
                if self._said.empty():
                    break
                item = self._said.get()
            if complete:
                yield complete
            if isinstance(item, _EndOfAnswers):
                if item.error is not None:
                    raise item.error
                return

    def add_completions(self, number: int, completions: list[Completion]) -> None:
        if len(completions) != self.wanted.group_size:
            raise RuntimeError(
                f"{len(completions)} completions instead of {self.wanted.group_size}"
            )
        del self.unanswered[number]
        self._said.put((number, completions))
        if not self.unanswered:
            self.end()

    def end(self, error: Exception | None = None) -> None:
        """No more answers follow. ``error``: why, if the call is incomplete."""
        self._said.put(_EndOfAnswers(error))


@dataclass(frozen=True, slots=True)
class _EndOfAnswers:
    error: Exception | None


class _AllClientsGoneError(Exception):
    """All clients of the running batch have given up."""


class Batcher:
    """Answers calls in its own thread.

    ``rows`` and ``characters`` (of observations): limits of calls that are answered together.
    ``calls``: the number of calls that may wait.
    """

    def __init__(
        self, hosted: HostedPolicy, *, rows: int = 512, characters: int = 4_000_000, calls: int = 64
    ):
        self._hosted, self._most = hosted, calls
        self._rows, self._characters = rows, characters
        self._waiting: list[PolicyCall] = []
        self._asked: list[PolicyCall] = []  # the calls that the model is answering
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="llmzoo-policy", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        with self._changed:
            return len(self._waiting)

    def take(self, call: PolicyCall) -> None:
        """Queue a call. Raises :class:`ServerBusyError`."""
        with self._changed:
            if self._closed:
                raise ServerBusyError("the server is about to end")
            if len(self._waiting) >= self._most:
                raise ServerBusyError(
                    f"{self._most} calls are waiting already, as many as the server allows"
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

        A model that does not stop in time is abandoned; its answers are ignored.
        """
        with self._changed:
            self._closed = True
            ended = [*self._waiting, *self._asked]
            self._waiting.clear()
            for call in ended:
                call.cancelled.set()
                call.end(ServerBusyError("the server has ended"))
            self._changed.notify()
        self._thread.join(_STOP_TIMEOUT_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                self._asked = []
                self._changed.wait_for(lambda: self._waiting or self._closed)
                if self._closed:
                    return
                self._asked = self._next()
            self._answer(self._asked)

    def _next(self) -> list[PolicyCall]:
        """The calls to answer now, removed from the queue."""
        first = self._waiting.pop(0)
        batch, rows, characters = [first], first.rows, first.characters
        for call in [call for call in self._waiting if call.wanted == first.wanted]:
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
                self._ask(calls)
        except _AllClientsGoneError:
            return
        except BaseException as error:  # the thread must survive whatever a model raises
            if len(calls) > 1:  # retry each alone: one of them may be at fault
                for call in calls:
                    self._answer([call])
            else:
                calls[0].end(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _ask(self, calls: Sequence[PolicyCall]) -> None:
        pending = [(call, number) for call in calls for number in call.unanswered]

        def on_complete(index: int, completions: list[Completion]) -> None:
            call, number = pending[index]
            call.add_completions(number, completions)
            if all(call.cancelled.is_set() for call in calls):
                raise _AllClientsGoneError

        self._hosted.respond(
            [call.unanswered[number] for call, number in pending],
            calls[0].wanted.group_size,
            greedy=calls[0].wanted.greedy,
            sampling=calls[0].wanted.sampling,
            on_complete=on_complete,
        )
        for call in calls:
            if call.unanswered:
                raise RuntimeError(f"{len(call.unanswered)} requests were left unanswered")
