"""The team's reward: what is repaired on the way, and what holds at the end."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from llmzoo.envs.tools.service.env import VERDICT
from llmzoo.envs.tools.telecom import talk as calls
from llmzoo.envs.tools.telecom.talk import Talk
from llmzoo.envs.tools.telecom.tasks import Task, holds
from llmzoo.envs.tools.telecom.world import World

REPAIRS, ASSERTIONS, FORM = "repairs", "assertions", "form"
WORTH = {REPAIRS: 0.3, ASSERTIONS: 0.2, FORM: 0.1, VERDICT: 0.4}

_SWITCHES = (
    *("airplane_mode", "sim_card_missing", "data_enabled", "roaming_enabled", "data_saver_mode"),
    *("network_mode_preference", "wifi_calling_enabled", "vpn_connected"),
)
_OF_LINE = ("status", "roaming_enabled", "data_refueling_gb")


def settings(world: World) -> Mapping[str, Any]:
    """What an agent can set on the phone and in the database, by name."""
    phone, data = world.phone, world.data
    found = {name: getattr(phone, name) for name in _SWITCHES}
    found |= {"apn": phone.apn.apn_name, "mmsc": phone.apn.mmsc_url}
    found |= {f"{app} {name}": on for app, own in phone.apps.items() for name, on in own.items()}
    number = world.place.phone_number or ""
    line = data.line_with(number)
    found |= {f"line {name}": line.get(name) for name in _OF_LINE}
    bills = data.bills_of(data.customer_with(number))
    return found | {f"bill {each['bill_id']}": each["status"] == "Paid" for each in bills}


@lru_cache(maxsize=4_096)
def wanted(task: Task) -> Mapping[str, Any]:
    """The settings that the reference's calls change, and their values after them."""
    before = settings(task.world)
    after = settings(task.repaired)
    return {name: value for name, value in after.items() if before.get(name) != value}


def repaired(talk: Talk) -> float:
    """The share of what the reference changes that is so now, or was handed over as it must be."""
    due = wanted(talk.task)
    now = settings(talk.world)
    done = sum(now.get(name) == value for name, value in due.items())
    done += sum(talk.was_made(call) for call in talk.task.required)
    return done / max(1, len(due) + len(talk.task.required))


def fulfilled(talk: Talk) -> list[bool]:
    """Which of the task's assertions hold now, and which of its required calls were made."""
    task, world = talk.task, talk.world
    return [
        *(holds(world, each) for each in task.asserts),
        *(not holds(world, each) for each in task.refuted),
        *(talk.was_made(call) for call in task.required),
    ]


def step_parts(before: float | None, talk: Talk) -> tuple[dict[str, float], float]:
    """What a step pays, and what is repaired after it.

    before: what was repaired before the step; None at the start of the episode.
    """
    now = fulfilled(talk) if talk.over else []
    solved = bool(now) and all(now)
    share = 1.0 if solved else repaired(talk)
    parts = dict.fromkeys(WORTH, 0.0)
    parts[REPAIRS] = WORTH[REPAIRS] * (share - (before or 0.0))
    if talk.over:
        start = sum(fulfilled(calls.begin(talk.task)))
        gained = (sum(now) - start) / max(1, len(now) - start)
        parts[ASSERTIONS] = WORTH[ASSERTIONS] * (1.0 if solved else max(0.0, gained))
        parts[FORM] = WORTH[FORM] * (1 - talk.malformed / max(1, talk.answers))
        parts[VERDICT] = WORTH[VERDICT] * solved
    return parts, share
