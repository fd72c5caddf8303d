"""Attacks on philosophers_v0 and commons_v0: the same action for ever, all actions at once, none, echoes.

A score is the mean return of the agent that gains most, over the same tasks; all agents play the attack.
It must stay below the noisy experts' mean return.
"""

from __future__ import annotations

from collections.abc import Iterator

import llmzoo
from llmzoo.envs.base import TextEnv

from .episode import Act, copies_the_prompt, mean_returns, noisy_expert, says
from .scored import Scored

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
            honest = min(mean_returns(env, noisy_expert, TASKS).values())
            for name, act in (COMMON | own).items():
                score = max(mean_returns(env, act, TASKS).values())
                yield Scored(env=id, attack=f"{name}, {form}", score=score, honest=honest)


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
    "empty": says(""),
    "praises itself": says("meals: 1.0, harvest: 1.0, success: True"),
    "copies the prompt": copies_the_prompt,
    "only a message": says("say I eat now"),
}
ATTACKS: dict[str, dict[str, Act]] = {
    "philosophers_v0": {
        "all actions": says("left\nright\nrelease\nwait"),
        "two forks at once": says("left\nright"),
        "always left": says("left"),
        "always waits": says("wait"),
        "left and right": _alternates,
        "left, right, release": _grabs_and_releases,
    },
    "commons_v0": {
        "all numbers": says("\n".join(map(str, range(15)))),
        "a negative harvest": says("-3"),
        "nothing": says("0"),
        "one": says("1"),
        "the limit": _the_limit,
        "more than the limit": _the_limit_and_more,
        "a fair share": _a_fair_share,
        "all at the end": _patience_to_the_end,
    },
}
