"""Plays an episode and adds up what it pays."""

from __future__ import annotations

from collections.abc import Callable

from pettingzoo import AECEnv


def returns(env: AECEnv, task: int, act: Callable[[str], str]) -> dict[str, float]:
    """The return of each agent in task ``task``, in which ``act(agent)`` answers for all of them."""
    env.reset(seed=0, options={"task": task})
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        total[agent] += reward
        env.step(None if terminated or truncated else act(agent))
    return total
