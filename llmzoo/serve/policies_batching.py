"""Many clients and one model: what arrives while it is busy is answered together.

One thread asks the model. It takes the call that has waited longest, and with it those that wait
too and want the same settings, up to a number of rows; a call is never divided, so that a client
that is alone gets what the model would have said in its own process, to the last bit. Every request
brings the key of its noise, so that beside others it gets the same but for rounding.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from queue import SimpleQueue

from llmzoo.errors import LlmzooError
from llmzoo.policies.base import Request
from llmzoo.policies.settings import Sampling
from llmzoo.records import Completion
from llmzoo.serve.policies_hosted import Hosted

_LAST_S = 10.0  # for the model to hear that the server ends


class Busy(LlmzooError, RuntimeError):
    """No more calls are taken, for now or because the server ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """How the requests of a call are to be answered. ``sampling``: None for the policy's own."""

    group_size: int
    greedy: bool
    sampling: Sampling | None


class PolicyCall:
    """What a client asks at once, and its answers as they come."""

    def __init__(self, requests: Sequence[Request], wanted: Wanted):
        self.wanted = wanted
        self.given_up = threading.Event()
        self.unanswered = {
            number: replace(request, given_up=self.given_up)
            for number, request in enumerate(requests)
        }
        self.rows = len(requests) * wanted.group_size
        self.characters = sum(len(request.observation) for request in requests)
        self._said: SimpleQueue[tuple[int, list[Completion]] | _End] = SimpleQueue()

    def answers(self) -> Iterator[list[tuple[int, list[Completion]]]]:
        """Numbers of requests and their completions, those that are complete by then, in order.

        Ends early where the call is given up. Raises what the policy raised.
        """
        while True:
            complete: list[tuple[int, list[Completion]]] = []
            said = self._said.get()
            while not isinstance(said, _End):
                complete.append(said)
                if self._said.empty():
                    break
                said = self._said.get()
            if complete:
                yield complete
            if isinstance(said, _End):
                if said.error is not None:
                    raise said.error
                return

    def answered(self, number: int, completions: list[Completion]) -> None:
        if len(completions) != self.wanted.group_size:
            raise RuntimeError(
                f"{len(completions)} completions instead of {self.wanted.group_size}"
            )
        del self.unanswered[number]
        self._said.put((number, completions))
        if not self.unanswered:
            self.end()

    def end(self, error: Exception | None = None) -> None:
        """Nothing more is said; ``error`` says why, where it is not that all is."""
        self._said.put(_End(error))


@dataclass(frozen=True, slots=True)
class _End:
    error: Exception | None


class _GivenUp(Exception):
    """Nobody waits any more for what is being answered."""


class Batcher:
    """Answers calls in a thread of its own.

    ``rows`` and ``characters`` (of observations): of several calls that are answered together.
    ``calls``: those that may wait.
    """

    def __init__(
        self, hosted: Hosted, *, rows: int = 512, characters: int = 4_000_000, calls: int = 64
    ):
        self._hosted, self._most = hosted, calls
        self._rows, self._characters = rows, characters
        self._waiting: list[PolicyCall] = []
        self._asked: list[PolicyCall] = []  # those that the model answers now
        self._changed = threading.Condition()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name="llmzoo-policy", daemon=True)
        self._thread.start()

    @property
    def waiting(self) -> int:
        with self._changed:
            return len(self._waiting)

    def take(self, call: PolicyCall) -> None:
        """Let a call wait for its answers. Raises :class:`Busy`."""
        with self._changed:
            if self._closed:
                raise Busy("the server is about to end")
            if len(self._waiting) >= self._most:
                raise Busy(f"{self._most} calls are waiting already, as many as the server allows")
            self._waiting.append(call)
            self._changed.notify()

    def give_up(self, call: PolicyCall) -> None:
        """Nobody waits for a call any more; it may have ended already."""
        with self._changed:
            call.given_up.set()
            if call in self._waiting:
                self._waiting.remove(call)
        call.end()

    def close(self) -> None:
        """End what is being answered and what waits, and take no more.

        A model that does not hear of it within a moment is left to itself; nobody reads it.
        """
        with self._changed:
            self._closed = True
            ended = [*self._waiting, *self._asked]
            self._waiting.clear()
            for call in ended:
                call.given_up.set()
                call.end(Busy("the server has ended"))
            self._changed.notify()
        self._thread.join(_LAST_S)

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
        """The calls to answer now, taken from those that wait."""
        first = self._waiting.pop(0)
        together, rows, characters = [first], first.rows, first.characters
        for call in [call for call in self._waiting if call.wanted == first.wanted]:
            more = characters + call.characters
            if rows + call.rows <= self._rows and more <= self._characters:
                self._waiting.remove(call)
                together.append(call)
                rows, characters = rows + call.rows, more
        return together

    def _answer(self, calls: Sequence[PolicyCall]) -> None:
        calls = [call for call in calls if call.unanswered and not call.given_up.is_set()]
        try:
            if calls:
                self._ask(calls)
        except _GivenUp:
            return
        except BaseException as error:  # whatever a model raises, the thread must go on
            if len(calls) > 1:  # each alone: it is the fault of one, or not of their number
                for call in calls:
                    self._answer([call])
            else:
                calls[0].end(error if isinstance(error, Exception) else RuntimeError(repr(error)))

    def _ask(self, calls: Sequence[PolicyCall]) -> None:
        asked = [(call, number) for call in calls for number in call.unanswered]

        def answered(index: int, completions: list[Completion]) -> None:
            call, number = asked[index]
            call.answered(number, completions)
            if all(call.given_up.is_set() for call in calls):
                raise _GivenUp

        self._hosted.respond(
            [call.unanswered[number] for call, number in asked],
            calls[0].wanted.group_size,
            greedy=calls[0].wanted.greedy,
            sampling=calls[0].wanted.sampling,
            answered=answered,
        )
        for call in calls:
            if call.unanswered:
                raise RuntimeError(f"{len(call.unanswered)} requests were left unanswered")
