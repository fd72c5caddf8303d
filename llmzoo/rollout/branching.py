"""Copies of an environment in mid-episode, and steps on them."""

from __future__ import annotations

import copy
from collections.abc import Sequence

from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import BaseWrapper

from llmzoo.envs.base import TextEnv


def fork(env: AECEnv) -> AECEnv:
    """A copy of the episode as it stands; stepping it leaves ``env`` as it was.

    Our own environments share their task data with the copy. Wrappers are copied one by one, and
    anybody else's environment is copied deeply.
    """
    if isinstance(env, TextEnv):
        return env.fork()
    if isinstance(env, BaseWrapper):
        twin = copy.copy(env)
        for name, value in vars(env).items():
            if name != "env":
                setattr(twin, name, copy.copy(value))
        twin.env = fork(env.env)
        return twin
    return copy.deepcopy(env)


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
    for text in texts:
        env.step(text)
        for agent, reward in env.rewards.items():
            paid[agent] = paid.get(agent, 0.0) + float(reward)
    skip_dead(env)
    return paid


def skip_dead(env: AECEnv) -> None:
    """Step past agents that have died, up to one that has a choice."""
    while not is_over(env) and (
        env.terminations[env.agent_selection] or env.truncations[env.agent_selection]
    ):
        env.step(None)


def succeeded(env: AECEnv) -> bool:
    """Whether a finished episode was a success, by ``infos[agent]["success"]``."""
    return any(bool(info.get("success", False)) for info in env.infos.values())
