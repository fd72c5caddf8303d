"""Degenerate policies that need to know nothing about the task: they look at the prompt at most."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Callable

from llmzoo.envs.base import TextEnv

Answer = Callable[[TextEnv, str], str]  # (environment, agent) -> answer


def empty(env: TextEnv, agent: str) -> str:
    return ""


def silent(env: TextEnv, agent: str) -> str:
    """Words that are no answer, the same in every environment."""
    return "I have nothing to say."


def copy_of_the_prompt(env: TextEnv, agent: str) -> str:
    return str(env.observe(agent))


def keyword_soup(env: TextEnv, agent: str) -> str:
    """The longer words of the prompt, each once, shuffled."""
    prompt = str(env.observe(agent))
    words = sorted(set(re.findall(r"\w{5,}", prompt)))
    random.Random(prompt).shuffle(words)
    return " ".join(words)


def constant(make: Callable[[], TextEnv], task: int) -> Answer:
    """The expert's first answer to another task, whatever is asked.

    It is of the right form and the right length, and wrong unless the answer hardly depends on
    the task.
    """
    env = make()
    answers: dict[str, str] = {}
    seeds = itertools.count(task)  # an agent that leaves before it acts answers in a later one
    while len(answers) < len(env.possible_agents):
        env.reset(seed=next(seeds))
        for agent in env.agent_iter():
            if env.terminations[agent] or env.truncations[agent]:
                env.step(None)
                continue
            if len(answers) == len(env.possible_agents):
                break
            answer = env.expert(agent)
            answers.setdefault(agent, answer)
            env.step(answer)
    return lambda _, agent: answers[agent]
