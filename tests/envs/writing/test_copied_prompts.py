"""Copying the prompt pays nothing, be it the source or the instructions."""

from __future__ import annotations

import statistics

import pytest

import llmzoo


def earned(id, write, tasks=12):
    """The mean return of two authors who write a part of their prompts."""
    env = llmzoo.make(id, **llmzoo.spec(id).offline)
    returns = []
    for seed in range(tasks):
        env.reset(seed=seed)
        agents = env.possible_agents
        total = 0.0
        for agent in env.agent_iter():
            _, reward, terminated, truncated, _ = env.last()
            total += reward
            env.step(None if terminated or truncated else write(str(env.observe(agent))))
        returns.append(total / len(agents))
    return statistics.mean(returns)


def second_half(prompt):
    words = prompt.split()
    return " ".join(words[len(words) // 2 :])


@pytest.mark.parametrize("id", ["arxiv_v0", "story_v0", "tldr_v0"])
def test_the_second_half_of_the_prompt_earns_no_more_than_a_start(id):
    """It is half instructions, which are not copied from the source."""
    assert earned(id, second_half) < 0.1
