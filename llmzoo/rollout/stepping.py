"""Steps environments, and measures the time that this takes."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, TypeVar

from pettingzoo import AECEnv

from llmzoo.envs.base import FastOrderEnforcingWrapper, TextEnv
from llmzoo.errors import ConfigError

Result = TypeVar("Result")
Infos = Mapping[str, Mapping[str, Any]]  # of each agent


def agents_to_act(env: AECEnv) -> list[str]:
    """The agents that act next without seeing each other's actions.

    In a turn-based task this is one agent, in a simultaneous one all live agents in their order, and in others
    the agents that the :class:`TextEnv` declares.
    """
    if isinstance(env.unwrapped, TextEnv):
        return env.unwrapped.agents_to_act()
    return declared_agents_to_act(env)


def declared_agents_to_act(env: AECEnv) -> list[str]:
    """The agents that act next, according to the metadata ``is_parallelizable``.

    If it is true these are all live agents, beginning with the selected one, otherwise only the selected one.
    """
    if not env.metadata.get("is_parallelizable", False):
        return [env.agent_selection]
    first = env.agents.index(env.agent_selection)
    return [*env.agents[first:], *env.agents[:first]]


def is_over(env: AECEnv) -> bool:
    """Whether every agent is done."""
    return not env.agents or all(env.terminations[a] or env.truncations[a] for a in env.agents)


def skip_dead(env: AECEnv) -> None:
    """Step over agents that are done, with ``step(None)``, to the next agent that can act."""
    while not is_over(env) and (
        env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
    ):
        env.step(None)


def step_joint_action(env: AECEnv, texts: Sequence[str]) -> dict[str, float]:
    """Step ``env`` with the actions of the next agents to act, and over agents that are done.

    Returns the total reward of each agent. It is nan for every agent if the step ended in a failure, because
    the rewards of the actions are then unknown.
    """
    rewards = dict.fromkeys(env.agents, 0.0)
    for step in step_each(env, texts):
        for agent, reward in step.items():
            rewards[agent] = rewards.get(agent, 0.0) + reward
    skip_dead(env)
    return nan_rewards(rewards) if service_failure(env) else rewards


def nan_rewards(rewards: Mapping[str, float]) -> dict[str, float]:
    """The rewards of a step that failed: nan for every agent."""
    return dict.fromkeys(rewards, math.nan)


def failure_reason(env: AECEnv) -> str:
    """Why the rewards of an episode are unknown, at its end."""
    return service_failure(env) or "the call of an endpoint failed"


def service_failure(env: AECEnv) -> str:
    """Why a service of the environment gave no result (``infos[agent]["failure"]``); "" if none failed."""
    return next((str(i["failure"]) for i in env.infos.values() if i.get("failure")), "")


def latest_infos(env: AECEnv) -> Infos:
    """The infos of the agents of a :class:`TextEnv`, also of those that have left; otherwise ``env.infos``."""
    game = env.unwrapped
    return {**game.last_infos, **env.infos} if isinstance(game, TextEnv) else env.infos


def read_infos(env: AECEnv, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The agents' infos, as a record keeps them: with the board of a game that has one, as ``board``
    (:meth:`llmzoo.envs.drawing.Board.to_dict`), unless :func:`choose_boards` left it out. Agents do not
    read it."""
    game, latest = env.unwrapped, latest_infos(env)
    board = game.picture() if isinstance(game, TextEnv) and game.keeps_boards else None
    drawn = {} if board is None else {"board": board.to_dict()}
    return {agent: {**latest.get(agent, {}), **drawn} for agent in agents}


def choose_boards(env_fn: Callable[[], AECEnv], keep: bool) -> Callable[[], AECEnv]:
    """``env_fn``, for rollouts whose records keep the boards of games, or leave them out.

    Drawing a board takes as long as a step, and most iterations of a run are not recorded.
    """

    def make_env() -> AECEnv:
        env = env_fn()
        if isinstance(env.unwrapped, TextEnv):
            env.unwrapped.keeps_boards = keep
        return env

    return make_env


def step_each(env: AECEnv, texts: Sequence[str]) -> list[dict[str, float]]:
    """Step ``env`` with the actions of the next agents to act; return each agent's reward at each step."""
    rewards = []
    for text in texts:
        env.step(text)
        rewards.append(step_rewards(env))
    return rewards


TOTAL = ""  # the name of the total reward, next to those of components


def rewards_by_component(
    before: Infos, after: Infos, rewards: Mapping[str, float], acting_agents: Collection[str]
) -> dict[tuple[str, str], float]:
    """Each agent's rewards between two states, by (agent, component). The total, ``rewards``, has the name
    ``TOTAL``; the others are the components that the environment names.

    ``before`` and ``after``: the infos of these states. Their ``reward_components`` are an agent's rewards
    since it last acted. ``acting_agents``: those that acted between the two states.
    """
    amounts = {(agent, TOTAL): amount for agent, amount in rewards.items()}
    for agent in rewards:
        earlier = (
            {} if agent in acting_agents else before.get(agent, {}).get("reward_components", {})
        )
        for name, amount in after.get(agent, {}).get("reward_components", {}).items():
            amounts[agent, name] = amount - earlier.get(name, 0.0)
    return amounts


def step_rewards(env: AECEnv) -> dict[str, float]:
    """Each agent's reward at the last step. Raises :class:`ConfigError` unless all are finite."""
    rewards = {agent: float(reward) for agent, reward in env.rewards.items()}
    for agent, reward in rewards.items():
        if not math.isfinite(reward):
            raise ConfigError(
                f"{env} gave {agent} the reward {reward}: rewards must be finite numbers"
            )
    return rewards


def is_success(env: AECEnv, agent: str | None = None) -> bool:
    """Whether a finished episode was a success for ``agent``, according to ``infos[agent]["success"]``.

    Without ``agent``, or if its infos are gone, the first agent with that entry decides. Its value differs
    between agents only if they play against each other; then an agent that has left keeps its own.
    """
    known = latest_infos(env) if env.metadata.get("sides") else env.infos
    infos = [known.get(agent, {}), *env.infos.values()] if agent else env.infos.values()
    return next((bool(info["success"]) for info in infos if "success" in info), False)


def read_outcomes(env: AECEnv) -> Mapping[str, str]:
    """For each agent "won", "drawn" or "lost", if a finished episode reports it; else empty.

    An agent that is there at the end reports those of all agents, also of those that have left.
    """
    return next((info["outcomes"] for info in env.infos.values() if "outcomes" in info), {})


@dataclass(frozen=True, slots=True)
class StepRequest:
    """A step of ``env``, in place, with the actions of the next agents to act: ``step_fn(env, texts)``."""

    env: AECEnv
    texts: tuple[str, ...]
    step_fn: Callable[[AECEnv, Sequence[str]], Any] = step_joint_action

    @property
    def slow(self) -> bool:
        """Whether the environment declares that its steps are slow enough for a thread."""
        return bool(self.env.metadata.get("slow_step", False))


class RemoteHost(ABC):
    """A server that plays environments. A call has a fixed cost, however many steps it makes."""

    @abstractmethod
    def step_all(self, requests: Sequence[StepRequest]) -> list[Any]:
        """Make all steps, in one call where possible; returns what each ``step_fn`` would return.

        If steps fail, the others are still made, and the first failure is raised.
        """


class RemotelyHosted(ABC):
    """Base of environments that run on a :class:`RemoteHost`."""

    @property
    @abstractmethod
    def host(self) -> RemoteHost: ...


def get_remote_host(step: StepRequest) -> RemoteHost | None:
    """The host that can make a step in one call with others; None for a local step.

    A wrapper may change what a step does. So a host steps only environments without a user's wrapper,
    and only with the two step functions that hosts support.
    """
    env: AECEnv = step.env.env if type(step.env) is FastOrderEnforcingWrapper else step.env
    if isinstance(env, RemotelyHosted) and step.step_fn in (step_joint_action, step_each):
        return env.host
    return None


@dataclass(slots=True)
class RolloutClock:
    """Seconds and counts of running rollouts; threads may share one.

    ``sampling_seconds``: time in which policies sampled. ``waiting_seconds``: time in which
    policies were idle, because every rollout of the current cohort waited for steps.
    ``step_seconds``: time of all steps, summed over threads. ``overlapped_seconds``: the part of it
    in which policies sampled.
    """

    sampling_seconds: float = 0.0
    waiting_seconds: float = 0.0
    step_seconds: float = 0.0
    overlapped_seconds: float = 0.0
    answers: int = 0
    steps: int = 0
    # seconds of earlier calls, and the start of the current one; one tuple, so that a thread reads
    # both at once
    _sampling: tuple[float, float | None] = field(default=(0.0, None), repr=False, compare=False)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Time a call of policies."""
        before, started = self._sampling[0], time.monotonic()
        self._sampling = (before, started)
        try:
            yield
        finally:
            seconds = time.monotonic() - started
            self._sampling = (before + seconds, None)
            self.sampling_seconds += seconds

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Time how long policies wait for environments."""
        started = time.monotonic()
        yield
        self.waiting_seconds += time.monotonic() - started

    def time_steps(self, step: Callable[[], Result], count: int) -> Result:
        """Time a call that makes ``count`` steps."""
        started, sampled = time.monotonic(), self._sampling_seconds_so_far()
        result = step()
        seconds, overlapped = time.monotonic() - started, self._sampling_seconds_so_far() - sampled
        with self._lock:
            self.steps += count
            self.step_seconds += seconds
            self.overlapped_seconds += min(seconds, overlapped)
        return result

    def _sampling_seconds_so_far(self) -> float:
        seconds, since = self._sampling
        return seconds if since is None else seconds + time.monotonic() - since
