"""A program that runs in a thread of its own, one step at a time.

The environment and the program take turns. The program runs until all it can do is wait for answers;
:meth:`ProgramRun.calls` then returns what it waits for. :meth:`ProgramRun.answer` gives it the answers.

When does a program wait? One that calls from its own thread alone, at its call. One that is a
coroutine, when its event loop has nothing left to do: the calls of a ``gather`` are made together. One
that calls from other threads or loops, or through the gateway, when no call has come for ``together``
seconds.
"""

from __future__ import annotations

import asyncio
import inspect
import selectors
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from llmzoo.envs.programs.client import Client
from llmzoo.envs.programs.errors import ProgramClosed, ProgramError
from llmzoo.envs.programs.messages import ProgramCall
from llmzoo.envs.programs.rewards import parse_agent_rewards

TOGETHER = 0.05  # seconds
_PATIENCE = 1.0  # seconds that a replay waits for a call that came while a policy was thinking
Program = Callable[[Any, Client], Any]


@dataclass(slots=True, eq=False)
class _Waiting:
    """A call that is not answered yet; ``count`` answers are wanted."""

    call: ProgramCall
    count: int
    wake: Callable[[], None]
    texts: list[str] = field(default_factory=list)

    @property
    def is_answered(self) -> bool:
        return len(self.texts) == self.count


class ProgramRun:
    """One run of a program. ``time_limit``: seconds that it may take between two calls.

    ``is_over``, ``result`` and ``error`` say how it ended.
    """

    def __init__(
        self,
        program: Program,
        task: Any,
        agents: Sequence[str],
        seed: int,
        time_limit: float | None,
        together: float = TOGETHER,
    ):
        self.agents = agents
        self.seed = seed
        self.is_over = False
        self.result: Any = None
        self.error: BaseException | None = None
        self._program = program
        self._task = task
        self._time_limit = time_limit
        self._together = together
        self._changed = threading.Condition()
        self._waiting: list[_Waiting] = []
        self._asked: list[_Waiting] = []  # those that the environment is to answer
        self._paid: list[Any] = []
        self._closing = threading.Event()
        self._in_loop = False  # the program is a coroutine
        self._idle = False  # its event loop
        self._woken = 0  # calls whose answers that loop has not noticed yet
        self._elsewhere = False  # whether other threads or loops have called
        self._last_call = 0.0
        self._thread = threading.Thread(target=self._run, name="llmzoo program", daemon=True)
        self._thread.start()

    # the environment's side

    def calls(self, expected: Sequence[ProgramCall] = ()) -> list[ProgramCall]:
        """Wait for the program; the calls that wait, one of each agent, in the order of the agents.

        None are left where the program is over. With ``expected``, those of a run before, only these
        are waited for and returned, if all come. Raises :class:`ProgramError` after ``time_limit``.
        """
        began = time.monotonic()
        with self._changed:
            while not self.is_over:
                quiet = self._seconds_until_quiet()
                if expected and (found := self._matching_calls(expected)):
                    self._asked = found
                    return [waiting.call for waiting in found]
                if quiet == 0.0 and expected:
                    quiet = max(0.0, self._last_call + _PATIENCE - time.monotonic())
                if quiet == 0.0:
                    self._asked = self._next_calls()
                    return [waiting.call for waiting in self._asked]
                left = None
                if self._time_limit is not None:
                    left = began + self._time_limit - time.monotonic()
                    if left <= 0:
                        break
                self._changed.wait(min(t for t in (quiet, left, 3600.0) if t is not None))
            else:
                return []
        self.close()
        raise ProgramError(
            f"the program called nobody for {self._time_limit:g} seconds; its thread cannot be "
            "stopped before its next call. Raise time_limit, or fix what it waits for"
        )

    def answer(self, texts: Sequence[str]) -> None:
        """Answer what :meth:`calls` returned; calls that have come since wait for the next round."""
        with self._changed:
            for waiting, text in zip(self._asked, texts, strict=True):
                waiting.texts.append(text)
            done = [waiting for waiting in self._asked if waiting.is_answered]
            self._asked = []
            self._waiting = [waiting for waiting in self._waiting if waiting not in done]
            if done:
                self._idle = False
                self._last_call = time.monotonic()
            for waiting in done:
                waiting.wake()

    def take_rewards(self) -> list[Any]:
        """The rewards that the program has reported since the last call, in order."""
        with self._changed:
            rewards, self._paid = self._paid, []
        return rewards

    def close(self) -> None:
        """Let the program's next call, and those that wait, raise :class:`ProgramClosed`."""
        with self._changed:
            self._closing.set()
            self._release()

    def wait_closed(self, seconds: float) -> bool:
        """Wait for the run to be closed; whether it is."""
        return self._closing.wait(seconds)

    def join(self, seconds: float) -> bool:
        """Wait for the thread to end; whether it has."""
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _next_calls(self) -> list[_Waiting]:
        """Calls of several threads have no order of their own, so texts decide it."""
        first: dict[str, _Waiting] = {}
        rank = {agent: number for number, agent in enumerate(self.agents)}
        for waiting in sorted(self._waiting, key=lambda w: (rank[w.call.agent], w.call.canonical)):
            first.setdefault(waiting.call.agent, waiting)
        return list(first.values())

    def _matching_calls(self, expected: Sequence[ProgramCall]) -> list[_Waiting]:
        """Calls that wait and equal those expected, in their order; none unless all are there."""
        there = self._next_calls() + self._waiting
        found = [next((w for w in there if w.call == call), None) for call in expected]
        return [w for w in found if w is not None] if None not in found else []

    def _seconds_until_quiet(self) -> float | None:
        """Seconds until the calls that wait are all that come; None: there are none yet."""
        if not self._waiting:
            return None
        if not self._elsewhere:
            return 0.0 if self._idle or not self._in_loop else None
        return max(0.0, self._last_call + self._together - time.monotonic())

    # the program's side

    def ask(self, call: ProgramCall, count: int) -> list[str]:
        """Wait in this thread for ``count`` answers."""
        here = threading.get_ident() == self._thread.ident
        if here and self._in_loop:
            raise ProgramError(
                "a coroutine that waits for an answer blocks; await client.aio instead"
            )
        answered = threading.Event()
        waiting = self._enter(call, count, answered.set, elsewhere=not here)
        answered.wait()
        return self._texts_of(waiting)

    async def ask_async(self, call: ProgramCall, count: int) -> list[str]:
        """Wait in this event loop for ``count`` answers. A call that is cancelled is not asked."""
        loop = asyncio.get_running_loop()
        in_program_thread = self._in_loop and threading.get_ident() == self._thread.ident
        answered = asyncio.Event()

        def on_delivered() -> None:
            with self._changed:
                self._woken -= in_program_thread
            answered.set()

        def wake() -> None:  # with the lock held
            with suppress(RuntimeError):  # the loop has ended without waiting for this call
                loop.call_soon_threadsafe(on_delivered)
                self._woken += in_program_thread

        waiting = self._enter(call, count, wake, elsewhere=not in_program_thread)
        try:
            await answered.wait()
        except asyncio.CancelledError:
            with self._changed:
                self._waiting = [other for other in self._waiting if other is not waiting]
                self._changed.notify_all()
            raise
        return self._texts_of(waiting)

    def add_reward(self, reward: float | Mapping[str, Any]) -> None:
        """Pay all agents, or those named. Raises :class:`ProgramError` for what is no reward."""
        checked = parse_agent_rewards(reward, self.agents)
        with self._changed:
            self._paid.append(checked)

    def _enter(
        self, call: ProgramCall, count: int, wake: Callable[[], None], *, elsewhere: bool
    ) -> _Waiting:
        waiting = _Waiting(call, count, wake)
        with self._changed:
            if self._closing.is_set() or self.is_over:
                raise ProgramClosed("the episode of this program is over")
            self._waiting.append(waiting)
            self._idle = False
            self._elsewhere |= elsewhere
            self._last_call = time.monotonic()
            self._changed.notify_all()
        return waiting

    def _texts_of(self, waiting: _Waiting) -> list[str]:
        if not waiting.is_answered:
            raise ProgramClosed("the episode of this program is over")
        return waiting.texts

    def _run(self) -> None:
        client = Client(self)
        try:
            if inspect.iscoroutinefunction(self._program):
                self._in_loop = True
            result = self._program(self._task, client)
            if inspect.isawaitable(result):
                self._in_loop = True
                self._run_loop(result)
            else:
                self._end(result, None)
        except BaseException as error:  # also SystemExit: a program must not end in silence
            self._end(None, error)

    def _end(self, result: Any, error: BaseException | None) -> None:
        with self._changed:
            if self.is_over:
                return
            self.result, self.error, self.is_over = result, error, True
            self._release()
            self._changed.notify_all()

    def _release(self) -> None:
        """Wake the calls that wait; those without an answer raise."""
        for waiting in self._waiting:
            waiting.wake()
        self._waiting = []

    def _run_loop(self, result: Awaitable[Any]) -> None:
        loop = asyncio.SelectorEventLoop(_Selector(self._on_loop_idle))
        try:
            self._end(loop.run_until_complete(_value_of(result)), None)
        except BaseException as error:
            self._end(None, error)
        finally:
            loop.run_until_complete(_cancel_tasks(asyncio.all_tasks(loop)))
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.run_until_complete(loop.shutdown_default_executor())
            loop.close()

    def _on_loop_idle(self) -> None:
        with self._changed:
            if self._woken == 0:
                self._idle = True
                self._changed.notify_all()


async def _value_of(result: Awaitable[Any]) -> Any:
    return await result


async def _cancel_tasks(tasks: Collection[asyncio.Task[Any]]) -> None:
    """Cancel what the program has left running, and wait for it."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


class _Selector(selectors.DefaultSelector):
    """Says when an event loop has nothing to do: it asks for events with time to wait."""

    def __init__(self, on_idle: Callable[[], None]):
        super().__init__()
        self._on_idle = on_idle

    def select(self, timeout: float | None = None) -> Any:
        if timeout is None or timeout > 0:
            self._on_idle()
        return super().select(timeout)
