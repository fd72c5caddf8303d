"""The team's reward: the records, what the agent has said, and both together.

The two checks are those of tau2-bench's evaluator (evaluator_env.py, evaluator_communicate.py; arXiv 2506.07982):
the records at the end are those after the reference's calls, and each information occurs in a message of the agent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from llmzoo.envs.tools.airline.database import changes
from llmzoo.envs.tools.airline.tasks import Talk, Task
from llmzoo.envs.tools.service.env import VERDICT
from llmzoo.envs.tools.service.talk import SILENCE

DATABASE, COMMUNICATION, FORM = "database", "communication", "form"
WORTH = {DATABASE: 0.3, COMMUNICATION: 0.2, FORM: 0.1, VERDICT: 0.4}

MOST_NUMBERS = 12  # of a message, that can be the figure asked for
# a number that stands alone: no part of a date, a time, an id or a flight number
_NUMBER = re.compile(
    r"(?<![\w.,:/-])-?\$?-?(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d+)?(?![\w:/-]|[.,]\d)"
)


class Done(NamedTuple):
    """What of a task is done: the share of the work on the records, and of what must be said."""

    work: float
    said: float


@lru_cache(maxsize=4_096)
def wanted(task: Task) -> Mapping[tuple[str, str, str], Any]:
    """The fields that the reference's calls change, and their values after them."""
    return changes(task.data, task.end)


def worked(talk: Talk) -> float:
    """The share of the reference's look-ups that were made and of its changes that are so now; each field that
    is otherwise than it should be counts as one more that is missing."""
    task = talk.task
    due, now = wanted(task), changes(task.data, talk.world)
    right = sum(name in now and now[name] == value for name, value in due.items())
    wrong = sum(name not in due or due[name] != value for name, value in now.items())
    looked = sum(talk.was_made(call) for call in task.reads)
    return (right + looked) / max(1, len(due) + len(task.reads) + wrong)


def communicated(talk: Talk) -> list[bool]:
    """Which of what the agent must say was said."""
    messages = [each for each in talk.messages("assistant") if each != SILENCE]
    if talk.task.strict:
        figures = {figure for each in messages for figure in figures_in(each)}
        return [each in figures for each in talk.task.communicate]
    plain = [each.lower().replace(",", "") for each in messages]
    return [any(each.lower() in message for message in plain) for each in talk.task.communicate]


@lru_cache(maxsize=256)  # each step of an episode reads all its messages again
def figures_in(message: str) -> tuple[str, ...]:
    """The whole numbers among the first numbers of a message, without sign, dollar and commas."""
    found = list(_NUMBER.finditer(message))[:MOST_NUMBERS]
    return tuple(f[1].replace(",", "") for f in found if not (f[2] or "").strip(".0"))


def solved(talk: Talk) -> bool:
    """Whether both checks hold."""
    return talk.world == talk.task.end and all(communicated(talk))


def step_parts(before: Done | None, talk: Talk) -> tuple[dict[str, float], Done]:
    """What a step pays, and what is done after it. before: None at the start of the episode."""
    won = talk.over and solved(talk)
    said = communicated(talk)
    # who has nothing to say, or looked up other things, is paid all of it with the verdict
    done = Done(1.0, 1.0) if won else Done(worked(talk), sum(said) / max(1, len(said)))
    was = before or Done(0.0, 0.0)
    parts = dict.fromkeys(WORTH, 0.0)
    parts[DATABASE] = WORTH[DATABASE] * (done.work - was.work)
    parts[COMMUNICATION] = WORTH[COMMUNICATION] * (done.said - was.said)
    if talk.over:
        parts[FORM] = WORTH[FORM] * (1 - talk.malformed / max(1, talk.answers))
        parts[VERDICT] = WORTH[VERDICT] * won
    return parts, done
