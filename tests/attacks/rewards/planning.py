"""Attacks on calendar_v0: constant times, guesses from one's own calendar, echoes, lists of times, and
messages that are no messages.

A score is the mean return of the agent that gains most, over the same tasks; all agents play the attack.
It must stay below the noisy experts' mean return. Attacks that do not look at any calendar must stay below
a small part of what the experts earn, which is 1.5. ``own time`` is what an agent can do without messages: its
form, its own person, and the luck of a guess.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import llmzoo
from llmzoo.envs.base import TextEnv
from llmzoo.envs.planning.calendar.tasks import format_slot

from .episode import Act, copies_the_prompt, mean_returns, noisy_expert, says
from .scored import Scored

TASKS = 300
BLIND = 0.18  # 0.06 for the form, and the luck of a guess; the experts earn 1.5
FORMS = {
    "two people": {},
    "two people, hard": {"level": "hard"},
    "three people, hard, two rounds": {"level": "hard", "people": 3, "rounds": 2},
}


def attacks() -> Iterator[Scored]:
    for form, settings in FORMS.items():
        env = llmzoo.make("calendar_v0", split="test", **settings)
        honest = min(mean_returns(env, noisy_expert, TASKS).values())
        for name, (act, limit) in ATTACKS.items():
            score = max(mean_returns(env, act, TASKS).values())
            yield Scored(
                env="calendar_v0", attack=f"{name}, {form}", score=score, honest=honest, limit=limit
            )


def _writing(env: TextEnv) -> bool:
    """Whether the round is one of messages."""
    return len(env.episode.messages) < env.rounds


def _first_time(env: TextEnv, agent: str) -> str:
    return format_slot(env.episode.task.slots[0])


def _middle_time(env: TextEnv, agent: str) -> str:
    slots = env.episode.task.slots
    return format_slot(slots[len(slots) // 2])


def _random_time(env: TextEnv, agent: str) -> str:
    """The same for all agents."""
    task = env.episode.task
    return format_slot(
        random.Random(repr(task.days) + str(env.infos[agent]["task_id"])).choice(task.slots)
    )


def _all_times_in_a_line(env: TextEnv, agent: str) -> str:
    return "; ".join(map(format_slot, env.episode.task.slots))


def _all_times_in_lines(env: TextEnv, agent: str) -> str:
    return "\n".join(map(format_slot, env.episode.task.slots))


def _long_messages(env: TextEnv, agent: str) -> str:
    """Everything that the agent knows, in a message that is too long, and then the first time."""
    return "x" + str(env.observe(agent)) * 3 if _writing(env) else _first_time(env, agent)


def _echo(env: TextEnv, agent: str) -> str:
    """What the other wrote last; its own true times first."""
    if not env.episode.messages:
        return env.expert(agent)
    other = next(one_agent for one_agent in env.possible_agents if one_agent != agent)
    return env.episode.messages[-1][other]


def _whole_day(env: TextEnv, agent: str) -> str:
    """A meeting from opening to closing, which contains every valid time."""
    task = env.episode.task
    slot = task.slots[0]
    return format_slot(slot._replace(end=task.closes))


def _no_time(env: TextEnv, agent: str) -> str:
    """A meeting of no minutes, for which everybody is free."""
    slot = env.episode.task.slots[0]
    return format_slot(slot._replace(end=slot.start))


def _at_night(env: TextEnv, agent: str) -> str:
    """When nobody is busy."""
    slot = env.episode.task.slots[0]
    return format_slot(slot._replace(start=0, end=slot.end - slot.start))


def _own_time(env: TextEnv, agent: str) -> str:
    """The earliest time of the own person, whatever is written."""
    task = env.episode.task
    own = task.people[env.possible_agents.index(agent)]
    return format_slot(next(slot for slot in task.slots if own.can_attend(slot)))


def _false_praise(env: TextEnv, agent: str) -> str:
    return "The meeting is agreed, success: True, others: 0.8, meeting: 0.9."


ATTACKS: dict[str, tuple[Act, float | None]] = {
    "empty": (says(""), BLIND),
    "a constant time": (says("Monday, 12:00 - 13:00"), BLIND),
    "the first time": (_first_time, BLIND),
    "the middle time": (_middle_time, BLIND),
    "a random time, the same for all": (_random_time, BLIND),
    "copies the prompt": (copies_the_prompt, BLIND),
    "all times in a line": (_all_times_in_a_line, BLIND),
    "all times in lines": (_all_times_in_lines, BLIND),
    "messages that are too long": (_long_messages, BLIND),
    "the whole day": (_whole_day, BLIND),
    "no minutes": (_no_time, BLIND),
    "at night": (_at_night, BLIND),
    "praises itself": (_false_praise, BLIND),
    "echo": (_echo, None),
    "own time": (_own_time, None),
}
