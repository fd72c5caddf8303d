"""Tasks: the state in which a customer calls, what the customer knows, and what must hold at the end."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tools import world_after
from llmzoo.envs.tools.telecom.faults import ASSERTIONS, SETUP
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.envs.tools.telecom.world import Phone, TelecomDatabase, World, sync_sides
from llmzoo.envs.tools.toolbox import ToolError


class ScenarioStep(NamedTuple):
    """A function of :mod:`.faults`, which breaks or asserts something, and its arguments. ``side``: "user" or
    "assistant"."""

    side: str
    name: str
    arguments: Mapping[str, Any] = {}


class Goal(NamedTuple):
    """What the customer wants to work again.

    test_tool: the phone's tool that shows whether it works. asserts: what must hold at the end.
    unsolvable_asserts: what must hold instead if the agent cannot solve the problem.
    """

    test_tool: str
    asserts: tuple[ScenarioStep, ...]
    unsolvable_asserts: tuple[ScenarioStep, ...] = ()


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
                "user",
                "assert_internet_speed",
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
    """One customer's call for help.

    goal: what the customer wants, a key of ``GOALS``. reason, known_info, instructions, persona: what the
    customer reads. setup: the steps that break things. world: the world after the setup. repairs: the calls
    of the reference solution. required: calls that must be made; a call may have more arguments than are listed here.
    asserts: what must hold at the end. negated_asserts: what must not hold at the end.
    """

    name: str
    goal: str
    reason: str
    known_info: str
    instructions: str
    persona: str
    setup: tuple[ScenarioStep, ...]
    world: World
    repairs: tuple[ToolCall, ...]
    required: tuple[ToolCall, ...]
    asserts: tuple[ScenarioStep, ...]
    negated_asserts: tuple[ScenarioStep, ...] = ()

    @cached_property
    def repaired_world(self) -> World:
        """The world after the calls of the reference solution."""
        return world_after(TOOLS.values(), self.world, self.repairs)


def holds(world: World, step: ScenarioStep) -> bool:
    """Whether an assertion holds. An assertion about a missing record does not hold."""
    try:
        return ASSERTIONS[step.side][step.name](world, **step.arguments)
    except ToolError:
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
    """A key of the goal and the faults. Tasks that differ only in the customer or the order of the faults share it."""
    who = {"customer_id", "line_id", "name", "phone_number", "data_used_gb"}
    steps = sorted(
        json.dumps([s.side, s.name, {k: v for k, v in s.arguments.items() if k not in who}])
        for s in task.setup
        if s.name != "set_user_info"
    )
    return json.dumps([task.goal, steps])


def content(task: TelecomTask) -> str:
    """Everything that sets a task apart except its name, as JSON."""
    customer_texts = [task.reason, task.known_info, task.instructions, task.persona]
    assertions = [*task.asserts, *(("not", *step) for step in task.negated_asserts)]
    return json.dumps(
        [customer_texts, task.setup, assertions, [c.name for c in task.required]], default=repr
    )
