"""Tasks: how a call begins, what the customer knows, and what must hold at its end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from llmzoo.envs.tools.service.toolset import CallError, ServiceCall
from llmzoo.envs.tools.telecom.faults import ASSERTIONS, SETUP
from llmzoo.envs.tools.telecom.toolset import TOOLS
from llmzoo.envs.tools.telecom.world import Phone, TelecomDatabase, World, sync_sides


class ScenarioStep(NamedTuple):
    """A function of :mod:`.faults` and its arguments. ``side``: "user" or "assistant"."""

    side: str
    name: str
    arguments: Mapping[str, Any] = {}


class Goal(NamedTuple):
    """What a reason to call is about.

    test: the phone's tool that shows whether it is solved. asserts, fails: what holds at the end if the agent
    can solve it, and if it cannot.
    """

    test: str
    asserts: tuple[ScenarioStep, ...]
    fails: tuple[ScenarioStep, ...] = ()


_BILL = {"overdue_bill_id": "B1234321"}
GOALS: Mapping[str, Goal] = {
    "service_issue": Goal(
        "check_status_bar",
        (
            ScenarioStep("user", "assert_service_status", {"expected_status": "connected"}),
            ScenarioStep("assistant", "assert_no_overdue_bill", _BILL),
        ),
        (ScenarioStep("user", "assert_service_status", {"expected_status": "no_service"}),),
    ),
    "mobile_data_issue": Goal(
        "run_speed_test",
        (
            ScenarioStep("user", "assert_mobile_data_status", {"expected_status": True}),
            ScenarioStep(
                *("user", "assert_internet_speed"),
                {"expected_speed": 200, "expected_desc": "excellent"},
            ),
        ),
    ),
    "mms_issue": Goal(
        "can_send_mms", (ScenarioStep("user", "assert_can_send_mms", {"expected_status": True}),)
    ),
}


@dataclass(frozen=True, eq=False)
class TelecomTask:
    """A task.

    goal: the reason to call, a key of ``GOALS``. reason, known_info, instructions, persona: what the customer reads.
    setup: what breaks things, and world: the world after it. repairs: the reference's calls. required: calls
    that must be made, those without arguments with any. asserts: what must hold at the end; a step with the
    side's name and "not " must fail.
    """

    name: str
    goal: str
    reason: str
    known_info: str
    instructions: str
    persona: str
    setup: tuple[ScenarioStep, ...]
    world: World
    repairs: tuple[ServiceCall, ...]
    required: tuple[ServiceCall, ...]
    asserts: tuple[ScenarioStep, ...]
    refuted: tuple[ScenarioStep, ...] = ()

    @cached_property
    def repaired_world(self) -> World:
        """The world after the reference's calls."""
        return TOOLS.after(self.world, self.repairs)


def holds(world: World, step: ScenarioStep) -> bool:
    """Whether an assertion holds. One about a record that is not there does not."""
    try:
        return ASSERTIONS[step.side][step.name](world, **step.arguments)
    except CallError:
        return False


def build_world(
    data: TelecomDatabase, setup: Sequence[ScenarioStep], phone: Phone | None = None
) -> World:
    """The world after all steps of a setup. Raises ``ToolError``."""
    world = World(phone=phone or Phone(), data=data)
    for step in setup:
        world = sync_sides(SETUP[step.side][step.name](world, **step.arguments))
    return world


def canonical(task: TelecomTask) -> str:
    """What is wrong and what is wanted, whoever the customer is and in whatever order things broke."""
    who = {"customer_id", "line_id", "name", "phone_number", "data_used_gb"}
    steps = sorted(
        json.dumps([s.side, s.name, {k: v for k, v in s.arguments.items() if k not in who}])
        for s in task.setup
        if s.name != "set_user_info"
    )
    return json.dumps([task.goal, steps])


def content(task: TelecomTask) -> str:
    """All of a task but its name."""
    customer_texts = [task.reason, task.known_info, task.instructions, task.persona]
    assertions = [*task.asserts, *(("not", *step) for step in task.refuted)]
    return json.dumps(
        [customer_texts, task.setup, assertions, [c.name for c in task.required]], default=repr
    )
