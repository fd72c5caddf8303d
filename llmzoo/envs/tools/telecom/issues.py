"""What can be wrong with a customer's service, and the tasks that are composed of such issues.

The issues, their names, what they change, and which of them go together for each reason to call are those
of tau2-bench's task generator (its folder tasks/): 47 combinations about service, 254 about mobile data and
1,984 about picture messages, the 2,285 tasks of its full set. The customers and all texts are ours.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.telecom import personas
from llmzoo.envs.tools.telecom.conversations import OPENINGS
from llmzoo.envs.tools.telecom.records import build_database
from llmzoo.envs.tools.telecom.tasks import GOALS, ScenarioStep, TelecomTask, build_world
from llmzoo.envs.tools.telecom.world import TelecomDatabase

OVERDUE_BILL = "B1234321"
REFUEL_GB = 2.0
OVER_GB = 0.1  # what was used beyond the limit


class Owner(NamedTuple):
    """Whose phone it is, and the limit of the line's plan."""

    customer_id: str
    line_id: str
    name: str
    phone_number: str
    data_limit_gb: float

    @property
    def ids(self) -> dict[str, str]:
        return {"customer_id": self.customer_id, "line_id": self.line_id}


@dataclass(frozen=True, slots=True)
class Issue:
    """setup: what breaks things. repair: the calls that repair them, None if the agent cannot. asserts: what must
    hold at the end besides what the reason to call asks for."""

    setup: Callable[[Owner], Sequence[ScenarioStep]]
    repair: Callable[[Owner], Sequence[ToolCall]] | None
    asserts: Callable[[Owner], Sequence[ScenarioStep]] = lambda owner: ()


def _user_step(function: str, /, **arguments: Any) -> ScenarioStep:
    return ScenarioStep("user", function, arguments)


def _agent_step(function: str, /, **arguments: Any) -> ScenarioStep:
    return ScenarioStep("assistant", function, arguments)


def _phone_issue(setup: Sequence[ScenarioStep], *repair: ScenarioStep) -> Issue:
    """An issue that the phone alone is about."""
    return Issue(lambda owner: setup, lambda owner: [ToolCall(s.name, s.arguments) for s in repair])


def _customer_abroad(phone_roams: bool, line_roams: bool) -> Issue:
    """The customer is abroad, and roaming is off on the phone, on the line, or on both."""

    def setup(owner: Owner) -> list[ScenarioStep]:
        steps = [_user_step("set_user_location", abroad=True)]
        steps += [_user_step("turn_roaming_on" if phone_roams else "turn_roaming_off")]
        if line_roams:
            return [*steps, _agent_step("enable_roaming", **owner.ids)]
        return [
            *steps,
            _agent_step("disable_roaming", **owner.ids),
            _user_step("simulate_network_search"),
        ]

    def repair(owner: Owner) -> list[ToolCall]:
        line = [] if line_roams else [ToolCall("enable_roaming", owner.ids)]
        return [*line, *([] if phone_roams else [ToolCall("toggle_roaming")])]

    return Issue(setup, repair)


def _line_suspended(contract_ended: bool) -> Issue:
    """The line is suspended for a bill; the agent may lift that unless the contract has ended too."""

    def setup(owner: Owner) -> list[ScenarioStep]:
        ended = {"new_bill_id": OVERDUE_BILL, "contract_ended": contract_ended}
        return [
            _agent_step("suspend_line_for_overdue_bill", **owner.ids, **ended),
            _user_step("simulate_network_search"),
        ]

    def repair(owner: Owner) -> list[ToolCall]:
        bill = {"customer_id": owner.customer_id, "bill_id": OVERDUE_BILL}
        return [
            ToolCall("send_payment_request", bill),
            ToolCall("make_payment"),
            ToolCall("resume_line", owner.ids),
            ToolCall("reboot_device"),
        ]

    return Issue(setup, None if contract_ended else repair)


def _data_used_up() -> Issue:
    def setup(owner: Owner) -> list[ScenarioStep]:
        used = {"data_used_gb": owner.data_limit_gb + OVER_GB}
        return [_agent_step("set_data_usage", **owner.ids, **used)]

    def repair(owner: Owner) -> list[ToolCall]:
        return [ToolCall("refuel_data", {**owner.ids, "gb_amount": REFUEL_GB})]

    def asserts(owner: Owner) -> list[ScenarioStep]:
        expected = {"expected_amount": REFUEL_GB}
        return [_agent_step("assert_data_refueling_amount", **owner.ids, **expected)]

    return Issue(setup, repair, asserts)


def _permissions_removed(*permissions: str) -> Issue:
    """The messaging app has lost permissions."""
    named = [{"app_name": "messaging", "permission": each} for each in permissions]
    return _phone_issue(
        [_user_step("remove_app_permission", **each) for each in named],
        *(_user_step("grant_app_permission", **each) for each in named),
    )


_RESET = (_user_step("reset_apn_settings"), _user_step("reboot_device"))
ISSUES: Mapping[str, Issue] = {
    "airplane_mode_on": _phone_issue(
        [_user_step("turn_airplane_mode_on")], _user_step("toggle_airplane_mode")
    ),
    "unseat_sim_card": _phone_issue([_user_step("unseat_sim_card")], _user_step("reseat_sim_card")),
    "lock_sim_card_pin": Issue(lambda owner: [_user_step("lock_sim_card", mode="pin")], None),
    "break_apn_settings": _phone_issue([_user_step("break_apn_settings")], *_RESET),
    "overdue_bill_suspension": _line_suspended(contract_ended=False),
    "contract_end_suspension": _line_suspended(contract_ended=True),
    "user_abroad_roaming_enabled_off": _customer_abroad(phone_roams=False, line_roams=True),
    "user_abroad_roaming_disabled_on": _customer_abroad(phone_roams=True, line_roams=False),
    "user_abroad_roaming_disabled_off": _customer_abroad(phone_roams=False, line_roams=False),
    "data_mode_off": _phone_issue([_user_step("turn_data_off")], _user_step("toggle_data")),
    "data_saver_mode_on": _phone_issue(
        [_user_step("turn_data_saver_mode_on")], _user_step("toggle_data_saver_mode")
    ),
    "bad_network_preference": _phone_issue(
        [_user_step("set_network_mode_preference", mode="2g_only")],
        _user_step("set_network_mode_preference", mode="4g_5g_preferred"),
    ),
    "bad_vpn": _phone_issue([_user_step("break_vpn")], _user_step("disconnect_vpn")),
    "data_usage_exceeded": _data_used_up(),
    "bad_wifi_calling": _phone_issue(
        [_user_step("set_wifi_calling", enabled=True, mms_over_wifi=True)],
        _user_step("toggle_wifi_calling"),
    ),
    "break_apn_mms_setting": _phone_issue([_user_step("break_apn_mms_setting")], *_RESET),
    "break_app_sms_permission": _permissions_removed("sms"),
    "break_app_storage_permission": _permissions_removed("storage"),
    "break_app_both_permissions": _permissions_removed("sms", "storage"),
}

_AIRPLANE, _SIM, _DATA = ("airplane_mode_on",), ("unseat_sim_card",), ("data_mode_off",)
_USED, _NETWORK = ("data_usage_exceeded",), ("bad_network_preference",)
_ROAMING = tuple(name for name in ISSUES if name.startswith("user_abroad"))
# for each reason to call: groups of which one issue each may stand, those that matter for other reasons too
# and those of its own, of which at least one stands
GROUPS: Mapping[str, tuple[tuple[tuple[str, ...], ...], tuple[tuple[str, ...], ...]]] = {
    "service_issue": (
        (),
        (
            *(_AIRPLANE, _SIM, ("lock_sim_card_pin",), ("break_apn_settings",)),
            ("overdue_bill_suspension", "contract_end_suspension"),
        ),
    ),
    "mobile_data_issue": (
        (_AIRPLANE,),
        (_ROAMING, _DATA, ("data_saver_mode_on",), _NETWORK, ("bad_vpn",), _USED),
    ),
    "mms_issue": (
        (_AIRPLANE, _SIM, _DATA, _USED, _ROAMING),
        (
            *(_NETWORK, ("bad_wifi_calling",), ("break_apn_mms_setting",)),
            tuple(name for name in ISSUES if name.startswith("break_app_")),
        ),
    ),
}
INTENT_WEIGHTS = {"service_issue": 0.25, "mobile_data_issue": 0.35, "mms_issue": 0.4}


@cache
def combinations(intent: str) -> Mapping[int, tuple[tuple[str, ...], ...]]:
    """The sets of issues for a reason to call, by their number of issues; the issues are in order."""
    shared, intent_groups = GROUPS[intent]
    found: dict[int, list[tuple[str, ...]]] = {}
    for chosen in product(*([*group, ""] for group in (*shared, *intent_groups))):
        if any(chosen[len(shared) :]):
            names = tuple(sorted(filter(None, chosen)))
            found.setdefault(len(names), []).append(names)
    return {count: tuple(found[count]) for count in sorted(found)}


@lru_cache(maxsize=1)
def load_database() -> TelecomDatabase:
    """The carrier's records that llmzoo ships."""
    path = Path(__file__).parent / "database.json"
    return build_database(json.loads(path.read_text(encoding="utf-8")))


def eligible_owners(data: TelecomDatabase) -> list[Owner]:
    """The lines that issues can be about: active, within their limit, with nothing overdue."""
    found = []
    for customer in data.customers.values():
        if data.bills_of(customer, "Overdue"):
            continue
        for line_id in customer["line_ids"]:
            line = data.lookup("lines", line_id)
            limit = data.lookup("plans", line["plan_id"])["data_limit_gb"]
            if line["status"] == "Active" and line["data_used_gb"] < limit:
                found.append(
                    Owner(
                        *(customer["customer_id"], line_id, customer["full_name"]),
                        *(line["phone_number"], limit),
                    )
                )
    return found


def sample_task(rng: random.Random, *, intent: str | None, issues: int | None) -> TelecomTask:
    """A task. intent: the reason to call, None for any. issues: their number, None for any."""
    eligible = [each for each in INTENT_WEIGHTS if issues in (None, *combinations(each))]
    chosen = intent or rng.choices(eligible, [INTENT_WEIGHTS[each] for each in eligible])[0]
    counts = combinations(chosen)
    names = rng.choice(counts[rng.choice(tuple(counts)) if issues is None else issues])
    return compose_task(
        chosen,
        names,
        rng.choice(_shipped_owners()),
        rng.choice(tuple(personas.PERSONAS)),
        load_database(),
    )


@lru_cache(maxsize=1)
def _shipped_owners() -> tuple[Owner, ...]:
    return tuple(eligible_owners(load_database()))


def compose_task(
    intent: str, names: Sequence[str], owner: Owner, persona: str, data: TelecomDatabase
) -> TelecomTask:
    """The task of some issues. ``names``: in the order in which things break."""
    who = _user_step("set_user_info", name=owner.name, phone_number=owner.phone_number)
    setup = (who, *(step for name in names for step in ISSUES[name].setup(owner)))
    repairs: list[ToolCall] = []
    asserts = list(GOALS[intent].asserts)
    required: tuple[ToolCall, ...] = ()
    for name in names:
        issue = ISSUES[name]
        if issue.repair is None:
            transfer = ToolCall("transfer_to_human_agents", {"summary": "not fixable"})
            repairs, required = [transfer], (ToolCall(transfer.name),)
            asserts = list(GOALS[intent].unsolvable_asserts)
            break
        repairs += issue.repair(owner)
        asserts += issue.asserts(owner)
    abroad = any(name in _ROAMING for name in names)
    return TelecomTask(
        name=f"[{intent}]{'|'.join(names)}[CUSTOMER:{owner.customer_id}][PERSONA:{persona}]",
        goal=intent,
        reason=OPENINGS[intent],
        known_info=personas.known_info(owner.name, owner.phone_number, abroad),
        instructions=personas.INSTRUCTIONS[intent],
        persona=personas.PERSONAS[persona],
        setup=setup,
        world=build_world(data, setup),
        repairs=tuple(repairs),
        required=required,
        asserts=tuple(asserts),
    )
