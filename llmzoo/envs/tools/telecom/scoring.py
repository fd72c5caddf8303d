"""The team's reward: what is repaired on the way, and what holds at the end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter
from typing import Any

from llmzoo.envs.tools.service.env import VERDICT
from llmzoo.envs.tools.telecom import conversations as calls
from llmzoo.envs.tools.telecom.conversations import TelecomConversation
from llmzoo.envs.tools.telecom.tasks import TelecomTask, holds
from llmzoo.envs.tools.telecom.world import World

REPAIRS, ASSERTIONS, FORM = "repairs", "assertions", "form"
REWARD_WEIGHTS = {REPAIRS: 0.3, ASSERTIONS: 0.2, FORM: 0.1, VERDICT: 0.4}

_SWITCHES = (
    *("airplane_mode", "sim_card_missing", "data_enabled", "roaming_enabled", "data_saver_mode"),
    *("network_mode_preference", "wifi_calling_enabled", "vpn_connected"),
)
_read_switches = attrgetter(*_SWITCHES)
_LINE_FIELDS = ("status", "roaming_enabled", "data_refueling_gb")


def settings(world: World) -> Mapping[str, Any]:
    """What an agent can set on the phone and in the database, by name."""
    phone, data = world.phone, world.data
    found = dict(zip(_SWITCHES, _read_switches(phone), strict=True))
    found |= {"apn": phone.apn.apn_name, "mmsc": phone.apn.mmsc_url}
    found |= {f"{app} {name}": on for app, own in phone.apps.items() for name, on in own.items()}
    number = world.place.phone_number or ""
    line = data.line_by_number(number)
    found |= {f"line {name}": line.get(name) for name in _LINE_FIELDS}
    bills = data.bills_of(data.customer_by_number(number))
    return found | {f"bill {each['bill_id']}": each["status"] == "Paid" for each in bills}


@lru_cache(maxsize=4_096)
def expected_changes(task: TelecomTask) -> Mapping[str, Any]:
    """The settings that the reference's calls change, and their values after them."""
    before = settings(task.world)
    after = settings(task.repaired_world)
    return {name: value for name, value in after.items() if before.get(name) != value}


def repaired_share(conversation: TelecomConversation) -> float:
    """The share of what the reference changes that is so now, or was handed over as it must be."""
    expected = expected_changes(conversation.task)
    now = settings(conversation.world)
    done = sum(now.get(name) == value for name, value in expected.items())
    done += sum(conversation.has_call(call) for call in conversation.task.required)
    return done / max(1, len(expected) + len(conversation.task.required))


def check_assertions(conversation: TelecomConversation) -> list[bool]:
    """Which of the task's assertions hold now, and which of its required calls were made."""
    task, world = conversation.task, conversation.world
    return [
        *(holds(world, each) for each in task.asserts),
        *(not holds(world, each) for each in task.negated_asserts),
        *(conversation.has_call(call) for call in task.required),
    ]


def step_rewards(
    before: float | None, conversation: TelecomConversation
) -> tuple[dict[str, float], float]:
    """What a step pays, and what is repaired after it.

    before: what was repaired before the step; None at the start of the episode.
    """
    holding = check_assertions(conversation) if conversation.over else []
    solved = bool(holding) and all(holding)
    share = 1.0 if solved else repaired_share(conversation)
    rewards = dict.fromkeys(REWARD_WEIGHTS, 0.0)
    rewards[REPAIRS] = REWARD_WEIGHTS[REPAIRS] * (share - (before or 0.0))
    if conversation.over:
        start = sum(check_assertions(calls.start_conversation(conversation.task)))
        gained = (sum(holding) - start) / max(1, len(holding) - start)
        rewards[ASSERTIONS] = REWARD_WEIGHTS[ASSERTIONS] * (1.0 if solved else max(0.0, gained))
        rewards[FORM] = REWARD_WEIGHTS[FORM] * (
            1 - conversation.malformed / max(1, conversation.answers)
        )
        rewards[VERDICT] = REWARD_WEIGHTS[VERDICT] * solved
    return rewards, share
