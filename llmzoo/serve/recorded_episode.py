"""Records an episode of a program that runs elsewhere: policies answer its calls."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from llmzoo.envs.programs.errors import ProgramClosed
from llmzoo.envs.programs.http_server import RequestError
from llmzoo.envs.programs.messages import ProgramCall
from llmzoo.envs.programs.rewards import (
    Shares,
    add_earlier_rewards,
    parse_agent_rewards,
    parse_outcome,
)
from llmzoo.models.noise import noise_key
from llmzoo.policies.base import PolicyRequest
from llmzoo.records import Decision, Episode
from llmzoo.serve.batching import (
    REMOTE_ENV_PLACEHOLDER,
    Batcher,
    CallSettings,
    PolicyCall,
    ServerBusyError,
)
from llmzoo.spaces import Conversation

ENV_ID = "gateway"
_REWARD_TOLERANCE = 1e-9  # tolerance for rounding in sums of rewards
Keep = Callable[[Episode], object]


@dataclass(frozen=True, slots=True)
class GatewaySettings:
    """What the episodes of a gateway share. ``success``: the lowest team reward that counts as a success."""

    batcher: Batcher
    agents: tuple[str, ...]
    greedy: bool = False
    success: float = 1.0


class RecordedEpisode:
    """The :class:`llmzoo.envs.programs.client.CallHandler` of one episode.

    Completions are recorded in the order in which their calls finish. Those of cancelled calls are not
    recorded. The sampling noise of a completion depends on the episode's id and on how many completions
    of the agent were requested before, and not on other episodes.
    """

    def __init__(self, id: str, shared: GatewaySettings):
        self.id = id
        self.agents: Sequence[str] = shared.agents
        self.seed = noise_key(0, f"{ENV_ID}/{id}", 0)
        self._shared = shared
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._requested: Counter[str] = Counter()  # completions requested from each agent
        self._running: set[PolicyCall] = set()
        self._decisions: list[Decision] = []
        self._turns: Counter[str] = Counter()
        self._rewards: list[float | Shares] = []
        self._last_call = time.monotonic()

    def ask(self, call: ProgramCall, count: int) -> list[str]:
        """Wait in this thread for ``count`` completions."""
        return asyncio.run(self.ask_async(call, count))

    async def ask_async(self, call: ProgramCall, count: int) -> list[str]:
        """Wait in this event loop for ``count`` completions. A call that is cancelled is not recorded.

        Raises :class:`ProgramClosed` if the episode has ended, and :class:`RequestError` if the
        policy is busy or fails.
        """
        observation = call.observation()
        policy_call = self._submit_call(call.agent, observation, count)
        try:
            groups = await policy_call.groups()
        except asyncio.CancelledError:
            self._shared.batcher.cancel(policy_call)
            raise
        except ServerBusyError as error:
            raise RequestError(503, str(error)) from error
        except Exception as error:
            raise RequestError(500, f"the policy of {call.agent} failed: {error!r:.500}") from error
        finally:
            with self._lock:
                self._running.discard(policy_call)
                self._last_call = time.monotonic()
        completions = [completion for group in groups for completion in group]
        with self._lock:
            if self._ended.is_set() or len(completions) < count:
                raise self._closed_error()
            for completion in completions:
                turn = self._turns[call.agent]
                self._turns[call.agent] += 1
                self._decisions.append(
                    Decision(
                        agent=call.agent,
                        turn=turn,
                        observation=observation,
                        completion=completion,
                        reward=0.0,
                    )
                )
        return [completion.text for completion in completions]

    def wait_closed(self, seconds: float) -> bool:
        """Wait for the episode to end. Returns whether it has."""
        return self._ended.wait(seconds)

    def add_reward(self, reward: Any) -> None:
        """Reward all agents, or those named.

        Raises :class:`llmzoo.envs.programs.ProgramError` if ``reward`` is invalid.
        """
        checked = parse_agent_rewards(reward, self.agents)
        with self._lock:
            self._rewards.append(checked)

    def idle_s(self) -> float:
        """Seconds since the last call; 0 while one is running."""
        with self._lock:
            return 0.0 if self._running else time.monotonic() - self._last_call

    def end(self, result: Any, keep: Keep) -> bool:
        """Pass the episode's record to ``keep``, and end it. Returns whether there was anything to record.

        ``result``: what the program returned, as for :func:`parse_outcome`; None ends the episode without
        a reward. Raises :class:`llmzoo.envs.programs.ProgramError` if ``result`` is invalid,
        :class:`ProgramClosed` if the episode has ended, and any exception of ``keep``; the episode then stays open.
        """
        with self._lock:
            if self._ended.is_set():
                raise self._closed_error()
            if self._decisions:
                keep(self._record(result))
            elif result is not None:
                raise RequestError(
                    409, f"episode {self.id!r} has no completion yet that could be rewarded"
                )
            self._ended.set()
            running = list(self._running)
        for call in running:
            self._shared.batcher.cancel(call)
        return bool(self._decisions)

    def _submit_call(self, agent: str, observation: Conversation, count: int) -> PolicyCall:
        with self._lock:
            if self._ended.is_set():
                raise self._closed_error()
            first = self._requested[agent]
            self._requested[agent] += count
            requests = [
                PolicyRequest(
                    agent=agent,
                    observation=observation,
                    env=REMOTE_ENV_PLACEHOLDER,
                    seed=self.seed + number,
                    noise=noise_key(self.seed, agent, number),
                )
                for number in range(first, first + count)
            ]
            settings = CallSettings(group_size=1, greedy=self._shared.greedy, sampling=None)
            policy_call = PolicyCall(requests, settings)
            self._running.add(policy_call)
        try:
            self._shared.batcher.submit(policy_call)
        except ServerBusyError as error:
            with self._lock:
                self._running.discard(policy_call)
            raise RequestError(503, str(error)) from error
        return policy_call

    def _record(self, result: Any) -> Episode:
        outcome = parse_outcome(0.0 if result is None else result, self.agents)
        outcome = add_earlier_rewards(outcome, self._rewards)
        assert isinstance(outcome.team, float)
        team = outcome.team
        totals = {a: team + sum(outcome.local.get(a, {}).values()) for a in self.agents}
        reached_threshold = result is not None and team >= self._shared.success - _REWARD_TOLERANCE
        last_decisions = {decision.agent: number for number, decision in enumerate(self._decisions)}
        final = len(self._decisions) - 1
        decisions = list(self._decisions)
        for agent, number in last_decisions.items():
            if amount := totals[agent]:
                decisions[number] = replace(
                    decisions[number], reward=amount, paid_after=((final, amount),)
                )
        return Episode(
            env_id=ENV_ID,
            seed=self.seed,
            decisions=tuple(decisions),
            terminated=result is not None,
            truncated=result is None,
            success=reached_threshold if outcome.success is None else outcome.success,
            totals=totals,
            info={"task_name": self.id, "rewarded": result is not None},
        )

    def _closed_error(self) -> ProgramClosed:
        return ProgramClosed(f"episode {self.id!r} has ended")
