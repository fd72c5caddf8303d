"""Plays episodes and adds up what they pay; and what attacks on several environments have in common."""

from __future__ import annotations

import random
from collections.abc import Callable

from pettingzoo import AECEnv

from llmzoo.envs.base import TextEnv

Act = Callable[[TextEnv, str], str]  # of the environment and an agent: its action


def returns(env: AECEnv, task: int, act: Callable[[str], str]) -> dict[str, float]:
    """The return of each agent in task ``task``, in which ``act(agent)`` answers for all of them."""
    env.reset(seed=0, options={"task": task})
    total = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, truncated, _ = env.last()
        total[agent] += reward
        env.step(None if terminated or truncated else act(agent))
    return total


def mean_returns(env: AECEnv, act: Act, tasks: int) -> dict[str, float]:
    """The mean return of each agent over the first tasks; ``act`` answers for all agents."""
    total = dict.fromkeys(env.possible_agents, 0.0)
    for task in range(tasks):
        for agent, value in returns(env, task, lambda agent: act(env.unwrapped, agent)).items():
            total[agent] += value / tasks
    return total


def noisy_expert(env: TextEnv, agent: str) -> str:
    return env.noisy_expert(agent, random.Random(f"{env.observe(agent)} {agent}"))


def says(text: str) -> Act:
    return lambda env, agent: text


def copies_the_prompt(env: TextEnv, agent: str) -> str:
    return str(env.observe(agent))
