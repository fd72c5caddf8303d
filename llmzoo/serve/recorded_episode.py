"""An episode of a program that runs elsewhere: policies answer its calls, and it keeps what they sample."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from llmzoo.envs.programs.chat_server import Refused
from llmzoo.envs.programs.errors import ProgramClosed
from llmzoo.envs.programs.messages import Call
from llmzoo.envs.programs.rewards import Shares, outcome_of, payment, together
from llmzoo.models.noise import noise_key
from llmzoo.policies.base import Request
from llmzoo.records import Completion, Decision, Episode
from llmzoo.serve.policies_batching import Batcher, Busy, PolicyCall, Wanted
from llmzoo.serve.policies_hosted import ELSEWHERE
from llmzoo.spaces import Conversation

ENV_ID = "gateway"
_ROUNDING = 1e-9  # of sums of rewards
Keep = Callable[[Episode], object]


@dataclass(frozen=True, slots=True)
class Answering:
    """What the episodes of a gateway share. ``success``: the least team reward that counts as one."""

    batcher: Batcher
    agents: tuple[str, ...]
    greedy: bool = False
    success: float = 1.0


class SampledEpisode:
    """Answers the calls of one episode, as :class:`llmzoo.envs.programs.client.Asked` says.

    An answer is recorded when its call is answered, in that order. What nobody waits for any more is not
    recorded. The sampling noise depends on the episode's id and on the number of the agent's call, and
    not on other episodes.
    """

    def __init__(self, id: str, shared: Answering):
        self.id = id
        self.agents: Sequence[str] = shared.agents
        self.seed = noise_key(0, f"{ENV_ID}/{id}", 0)
        self._shared = shared
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._asked: Counter[str] = Counter()  # answers asked of each agent
        self._running: set[PolicyCall] = set()
        self._decisions: list[Decision] = []
        self._turns: Counter[str] = Counter()
        self._paid: list[float | Shares] = []
        self._last_call = time.monotonic()

    def ask(self, call: Call, count: int) -> list[str]:
        """Wait in this thread for ``count`` answers."""
        return asyncio.run(self.ask_async(call, count))

    async def ask_async(self, call: Call, count: int) -> list[str]:
        """Wait in this event loop for ``count`` answers. A call that is cancelled is not recorded.

        Raises :class:`ProgramClosed` if the episode has ended, and :class:`Refused` if the policy
        fails.
        """
        seen = call.observation()
        asked = self._begin(call.agent, seen, count)
        try:
            completions = await asked.completions()
        except asyncio.CancelledError:
            self._shared.batcher.give_up(asked)
            raise
        except Busy as error:
            raise Refused(503, str(error)) from error
        except Exception as error:
            raise Refused(500, f"the policy of {call.agent} failed: {error!r:.500}") from error
        finally:
            with self._lock:
                self._running.discard(asked)
                self._last_call = time.monotonic()
        with self._lock:
            if self._over.is_set() or len(completions) < count:
                raise self._closed()
            for completion in completions:
                turn = self._turns[call.agent]
                self._turns[call.agent] += 1
                self._decisions.append(
                    Decision(
                        agent=call.agent,
                        turn=turn,
                        observation=seen,
                        completion=completion,
                        reward=0.0,
                    )
                )
        return [completion.text for completion in completions]

    def wait_closed(self, seconds: float) -> bool:
        """Wait for the episode to end; whether it has."""
        return self._over.wait(seconds)

    def pay(self, reward: Any) -> None:
        """Pay all agents, or those named. Raises :class:`ProgramError` for what is no reward."""
        checked = payment(reward, self.agents)
        with self._lock:
            self._paid.append(checked)

    def idle_s(self) -> float:
        """Seconds since the last call; 0 while one is running."""
        with self._lock:
            return 0.0 if self._running else time.monotonic() - self._last_call

    def end(self, result: Any, keep: Keep) -> bool:
        """End the episode, after ``keep`` has its record; whether there was anything to keep.

        ``result``: what the program returned, as for :func:`outcome_of`; None ends it without a reward.
        Raises :class:`ProgramError` for what is no result, :class:`ProgramClosed` if it has ended, and
        what ``keep`` raises; then the episode goes on.
        """
        with self._lock:
            if self._over.is_set():
                raise self._closed()
            if self._decisions:
                keep(self._record(result))
            elif result is not None:
                raise Refused(409, f"episode {self.id!r} has no answer yet that could be paid")
            self._over.set()
            running = list(self._running)
        for call in running:
            self._shared.batcher.give_up(call)
        return bool(self._decisions)

    def _begin(self, agent: str, seen: Conversation, count: int) -> _Awaited:
        with self._lock:
            if self._over.is_set():
                raise self._closed()
            first = self._asked[agent]
            self._asked[agent] += count
            requests = [
                Request(
                    agent=agent,
                    observation=seen,
                    env=ELSEWHERE,
                    seed=self.seed + number,
                    noise=noise_key(self.seed, agent, number),
                )
                for number in range(first, first + count)
            ]
            wanted = Wanted(group_size=1, greedy=self._shared.greedy, sampling=None)
            asked = _Awaited(requests, wanted)
            self._running.add(asked)
        try:
            self._shared.batcher.take(asked)
        except Busy as error:
            with self._lock:
                self._running.discard(asked)
            raise Refused(503, str(error)) from error
        return asked

    def _record(self, result: Any) -> Episode:
        outcome, said = outcome_of(0.0 if result is None else result, self.agents)
        outcome = together(outcome, self._paid)
        assert isinstance(outcome.team, float)
        team = outcome.team
        totals = {a: team + sum(outcome.local.get(a, {}).values()) for a in self.agents}
        enough = result is not None and team >= self._shared.success - _ROUNDING
        last = {decision.agent: number for number, decision in enumerate(self._decisions)}
        end = len(self._decisions) - 1
        decisions = list(self._decisions)
        for agent, number in last.items():
            if amount := totals[agent]:
                decisions[number] = replace(
                    decisions[number], reward=amount, paid_after=((end, amount),)
                )
        return Episode(
            env_id=ENV_ID,
            seed=self.seed,
            decisions=tuple(decisions),
            terminated=result is not None,
            truncated=result is None,
            success=enough if said is None else said,
            totals=totals,
            info={"task_name": self.id, "rewarded": result is not None},
        )

    def _closed(self) -> ProgramClosed:
        return ProgramClosed(f"episode {self.id!r} has ended")


class _Awaited(PolicyCall):
    """A call whose answers an event loop waits for."""

    def __init__(self, requests: list[Request], wanted: Wanted):
        super().__init__(requests, wanted)
        self._loop = asyncio.get_running_loop()
        self._complete = asyncio.Event()

    def end(self, error: Exception | None = None) -> None:
        super().end(error)
        with suppress(RuntimeError):  # the loop has ended without waiting for this call
            self._loop.call_soon_threadsafe(self._complete.set)

    async def completions(self) -> list[Completion]:
        """The answers in order, fewer if the call was given up. Raises what the policy raised."""
        await self._complete.wait()
        answered = dict(answer for part in self.answers() for answer in part)
        return [answered[number][0] for number in sorted(answered)]
