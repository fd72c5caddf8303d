"""The team's reward: the records, what the agent has said, and both together.

The two checks are those of tau2-bench's evaluator (evaluator_env.py, evaluator_communicate.py; arXiv 2506.07982):
the records at the end are those after the reference's calls, and each information occurs in a message of the agent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from llmzoo.envs.tools.airline.database import changed_fields
from llmzoo.envs.tools.airline.tasks import AirlineConversation, AirlineTask
from llmzoo.envs.tools.service.conversations import SILENCE
from llmzoo.envs.tools.service.env import VERDICT

DATABASE, COMMUNICATION, FORM = "database", "communication", "form"
REWARD_WEIGHTS = {DATABASE: 0.3, COMMUNICATION: 0.2, FORM: 0.1, VERDICT: 0.4}

MAX_NUMBERS = 12  # of a message, that can be the figure asked for
# a number that stands alone: no part of a date, a time, an id or a flight number
_NUMBER = re.compile(
    r"(?<![\w.,:/-])-?\$?-?(\d{1,3}(?:,\d{3})+|\d{1,12})(\.\d+)?(?![\w:/-]|[.,]\d)"
)


class TaskProgress(NamedTuple):
    """What of a task is done: the share of the work on the records, and of what must be said."""

    work: float
    said: float


@lru_cache(maxsize=4_096)
def expected_changes(task: AirlineTask) -> Mapping[tuple[str, str, str], Any]:
    """The fields that the reference's calls change, and their values after them."""
    return changed_fields(task.data, task.end)


def work_share(conversation: AirlineConversation) -> float:
    """The share of the reference's look-ups that were made and of its changes that are so now; each field that
    is otherwise than it should be counts as one more that is missing."""
    task = conversation.task
    expected, changed = expected_changes(task), changed_fields(task.data, conversation.world)
    right = sum(name in changed and changed[name] == value for name, value in expected.items())
    wrong = sum(name not in expected or expected[name] != value for name, value in changed.items())
    looked_up = sum(conversation.has_call(call) for call in task.reads)
    return (right + looked_up) / max(1, len(expected) + len(task.reads) + wrong)


def communication_checks(conversation: AirlineConversation) -> list[bool]:
    """Which of what the agent must say was said."""
    messages = [each for each in conversation.messages("assistant") if each != SILENCE]
    if conversation.task.strict:
        figures = {figure for each in messages for figure in extract_figures(each)}
        return [each in figures for each in conversation.task.communicate]
    plain = [each.lower().replace(",", "") for each in messages]
    return [
        any(each.lower() in message for message in plain) for each in conversation.task.communicate
    ]


@lru_cache(maxsize=256)  # each step of an episode reads all its messages again
def extract_figures(message: str) -> tuple[str, ...]:
    """The whole numbers among the first numbers of a message, without sign, dollar and commas."""
    found = list(_NUMBER.finditer(message))[:MAX_NUMBERS]
    return tuple(f[1].replace(",", "") for f in found if not (f[2] or "").strip(".0"))


def is_solved(conversation: AirlineConversation) -> bool:
    """Whether both checks hold."""
    return conversation.world == conversation.task.end and all(communication_checks(conversation))


def step_rewards(
    before: TaskProgress | None, conversation: AirlineConversation
) -> tuple[dict[str, float], TaskProgress]:
    """What a step pays, and what is done after it. before: None at the start of the episode."""
    succeeded = conversation.over and is_solved(conversation)
    checks = communication_checks(conversation)
    # who has nothing to say, or looked up other things, is paid all of it with the verdict
    done = (
        TaskProgress(1.0, 1.0)
        if succeeded
        else TaskProgress(work_share(conversation), sum(checks) / max(1, len(checks)))
    )
    previous = before or TaskProgress(0.0, 0.0)
    rewards = dict.fromkeys(REWARD_WEIGHTS, 0.0)
    rewards[DATABASE] = REWARD_WEIGHTS[DATABASE] * (done.work - previous.work)
    rewards[COMMUNICATION] = REWARD_WEIGHTS[COMMUNICATION] * (done.said - previous.said)
    if conversation.over:
        rewards[FORM] = REWARD_WEIGHTS[FORM] * (
            1 - conversation.malformed / max(1, conversation.answers)
        )
        rewards[VERDICT] = REWARD_WEIGHTS[VERDICT] * succeeded
    return rewards, done
