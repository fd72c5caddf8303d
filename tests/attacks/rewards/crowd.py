"""Attacks on philosophers_v0 and commons_v0: the same action for ever, all actions at once, none, echoes.

A score is the mean return of the agent that gains most, over the same tasks; all agents play the attack.
It must stay below the noisy experts' mean return.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

import llmzoo
from llmzoo.envs.base import TextEnv

from .episode import returns
from .scored import Scored

Act = Callable[[TextEnv, str], str]
TASKS = 100
FORMS = {
    "full": {},
    "terse": {"prompt": "terse"},
    "messages": {"message_chars": 60},
    "five": {"num_agents": 5},
}


def attacks() -> Iterator[Scored]:
    for id, own in ATTACKS.items():
        for form, settings in FORMS.items():
            env = llmzoo.make(id, split="test", **settings)
            honest = min(_means(env, _noisy_expert).values())
            for name, act in (COMMON | own).items():
                score = max(_means(env, act).values())
                yield Scored(env=id, attack=f"{name}, {form}", score=score, honest=honest)


def _means(env, act: Act) -> dict[str, float]:
    """The mean return of each agent."""
    total = dict.fromkeys(env.possible_agents, 0.0)
    for task in range(TASKS):
        for agent, value in returns(env, task, lambda agent: act(env.unwrapped, agent)).items():
            total[agent] += value / TASKS
    return total


def _noisy_expert(env: TextEnv, agent: str) -> str:
    return env.noisy_expert(agent, random.Random(f"{env.observe(agent)} {agent}"))


def _says(text: str) -> Act:
    return lambda env, agent: text


def _copies_the_prompt(env: TextEnv, agent: str) -> str:
    return str(env.observe(agent))


def _alternates(env: TextEnv, agent: str) -> str:
    return ("left", "right")[env.episode.round % 2]


def _grabs_and_releases(env: TextEnv, agent: str) -> str:
    return ("left", "right", "release")[env.episode.round % 3]


def _the_limit(env: TextEnv, agent: str) -> str:
    return str(env.episode.task.limit)


def _the_limit_and_more(env: TextEnv, agent: str) -> str:
    return str(env.episode.task.limit + 1)


def _a_fair_share(env: TextEnv, agent: str) -> str:
    pond = env.episode.task
    return str(min(pond.limit, env.episode.world.stock // pond.fishers))


def _patience_to_the_end(env: TextEnv, agent: str) -> str:
    pond = env.episode.task
    return str(pond.limit if env.episode.round == pond.rounds - 1 else 0)


COMMON: dict[str, Act] = {
    "empty": _says(""),
    "praises itself": _says("meals: 1.0, harvest: 1.0, success: True"),
    "copies the prompt": _copies_the_prompt,
    "only a message": _says("say I eat now"),
}
ATTACKS: dict[str, dict[str, Act]] = {
    "philosophers_v0": {
        "all actions": _says("left\nright\nrelease\nwait"),
        "two forks at once": _says("left\nright"),
        "always left": _says("left"),
        "always waits": _says("wait"),
        "left and right": _alternates,
        "left, right, release": _grabs_and_releases,
    },
    "commons_v0": {
        "all numbers": _says("\n".join(map(str, range(15)))),
        "a negative harvest": _says("-3"),
        "nothing": _says("0"),
        "one": _says("1"),
        "the limit": _the_limit,
        "more than the limit": _the_limit_and_more,
        "a fair share": _a_fair_share,
        "all at the end": _patience_to_the_end,
    },
}
