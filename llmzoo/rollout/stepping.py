"""Copies of an environment in mid-episode, and steps on them."""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from gymnasium.spaces import Space
from gymnasium.utils import EzPickle
from pettingzoo import AECEnv, ParallelEnv

from llmzoo.envs.base import InOrder, TextEnv
from llmzoo.errors import ConfigError


def fork(env: AECEnv) -> AECEnv:
    """A copy of the episode as it stands; stepping it leaves ``env`` as it was.

    Our own environments share their task data with the copy; anybody else's are copied deeply, but
    for their spaces, which the copy shares. Raises :class:`ConfigError` for an environment that
    holds what cannot be copied, such as a window.
    """
    return _twin(env, {})


def _twin(value: Any, memo: dict[int, Any]) -> Any:
    """A deep copy.

    Most environments of PettingZoo are :class:`EzPickle`, of which ``copy.deepcopy`` makes a new
    one from the constructor's arguments: it would silently start the game from its beginning. So
    environments are copied attribute by attribute, unless they say themselves how to copy them.
    """
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, Space):
        return value
    twin: Any
    if isinstance(value, TextEnv):
        twin = memo[id(value)] = value.fork()
    elif isinstance(value, AECEnv | ParallelEnv | EzPickle) and not hasattr(value, "__deepcopy__"):
        twin = memo[id(value)] = object.__new__(type(value))
        for name, held in vars(value).items():
            twin.__dict__[name] = _twin(held, memo)
    elif type(value) is dict:
        twin = memo[id(value)] = {}
        twin.update((_twin(key, memo), _twin(held, memo)) for key, held in value.items())
    elif type(value) is list:
        twin = memo[id(value)] = []
        twin.extend(_twin(held, memo) for held in value)
    elif type(value) is tuple:
        twin = tuple(_twin(held, memo) for held in value)
        twin = memo.setdefault(id(value), twin)  # where it holds what holds it, it is there already
    else:
        try:
            twin = copy.deepcopy(value, memo)
        except TypeError as error:
            raise ConfigError(
                f"an environment that holds a {type(value).__name__} cannot be copied in "
                f"mid-episode ({error}); make it without a render_mode"
            ) from error
    return twin


def deciders(env: AECEnv) -> list[str]:
    """The seats that choose next without seeing each other's choice.

    One seat in a task in turns; all live seats, in their order, in a simultaneous one.
    """
    if not env.metadata.get("is_parallelizable", False):
        return [env.agent_selection]
    first = env.agents.index(env.agent_selection)
    return [*env.agents[first:], *env.agents[:first]]


def is_over(env: AECEnv) -> bool:
    """Whether nobody has a choice left."""
    return not env.agents or all(env.terminations[a] or env.truncations[a] for a in env.agents)


def advance(env: AECEnv, texts: Sequence[str]) -> dict[str, float]:
    """Step ``env`` with the answers of the next deciders, past agents that have died.

    Returns what each agent was paid meanwhile.
    """
    paid = dict.fromkeys(env.agents, 0.0)
    for step in step_each(env, texts):
        for agent, reward in step.items():
            paid[agent] = paid.get(agent, 0.0) + reward
    skip_dead(env)
    return paid


def step_each(env: AECEnv, texts: Sequence[str]) -> list[dict[str, float]]:
    """Step ``env`` with the answers of the next deciders; returns what each step paid each agent."""
    paid = []
    for text in texts:
        env.step(text)
        paid.append(paid_now(env))
    return paid


def paid_now(env: AECEnv) -> dict[str, float]:
    """What each agent was paid at the last step.

    Raises :class:`ConfigError` for what is no finite number, of which nothing can be learned.
    """
    paid = {agent: float(reward) for agent, reward in env.rewards.items()}
    for agent, reward in paid.items():
        if not math.isfinite(reward):
            raise ConfigError(f"{env} paid {agent} {reward}: rewards are finite numbers")
    return paid


def skip_dead(env: AECEnv) -> None:
    """Step past agents that have died, up to one that has a choice."""
    while not is_over(env) and (
        env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
    ):
        env.step(None)


def succeeded(env: AECEnv, agent: str | None = None) -> bool:
    """Whether a finished episode was a success of ``agent``, by ``infos[agent]["success"]``: by
    default, and where its infos are gone, of the first agent that still has one. Agents differ in
    it only where they play against each other."""
    infos = [env.infos.get(agent, {}), *env.infos.values()] if agent else env.infos.values()
    return next((bool(info["success"]) for info in infos if "success" in info), False)


@dataclass(frozen=True, slots=True)
class Act:
    """Step ``env``, in host, with the answers of the next deciders, as ``by`` does."""

    env: AECEnv
    texts: tuple[str, ...]
    by: Callable[[AECEnv, Sequence[str]], Any] = advance

    @property
    def slow(self) -> bool:
        """Whether the environment says that its steps are worth a thread."""
        return bool(self.env.metadata.get("slow_step", False))


class RemoteHost(ABC):
    """Where environments are played; a call there has a cost, whatever its acts."""

    @abstractmethod
    def act(self, acts: Sequence[Act]) -> list[Any]:
        """Make all acts, in one call as far as it can be; returns what each ``by`` would.

        Raises what the first of those that fail would; the others have been made.
        """


class RemotelyHosted(ABC):
    """Mixed into an environment that is played at a ``host``."""

    @property
    @abstractmethod
    def host(self) -> RemoteHost: ...


def host_of(act: Act) -> RemoteHost | None:
    """Where an act can be made in one call with others; None: it is made here.

    A wrapper may change what a step does, so only an environment without one of its own is taken
    elsewhere, and only with the two ways of stepping that are known there.
    """
    env: AECEnv = act.env.env if type(act.env) is InOrder else act.env
    if isinstance(env, RemotelyHosted) and act.by in (advance, step_each):
        return env.host
    return None
