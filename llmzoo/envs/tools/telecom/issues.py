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

from llmzoo.envs.tools.service.toolset import Call
from llmzoo.envs.tools.telecom import personas
from llmzoo.envs.tools.telecom.records import database_of
from llmzoo.envs.tools.telecom.talk import OPENINGS
from llmzoo.envs.tools.telecom.tasks import GOALS, Step, Task, begun
from llmzoo.envs.tools.telecom.world import Database

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

    setup: Callable[[Owner], Sequence[Step]]
    repair: Callable[[Owner], Sequence[Call]] | None
    asserts: Callable[[Owner], Sequence[Step]] = lambda owner: ()


def _user(function: str, /, **arguments: Any) -> Step:
    return Step("user", function, arguments)


def _desk(function: str, /, **arguments: Any) -> Step:
    return Step("assistant", function, arguments)


def _on_phone(setup: Sequence[Step], *repair: Step) -> Issue:
    """An issue that the phone alone is about."""
    return Issue(lambda owner: setup, lambda owner: [Call(*each) for each in repair])


def _abroad(phone_roams: bool, line_roams: bool) -> Issue:
    """The customer is abroad, and roaming is off on the phone, on the line, or on both."""

    def setup(owner: Owner) -> list[Step]:
        steps = [_user("set_user_location", abroad=True)]
        steps += [_user("turn_roaming_on" if phone_roams else "turn_roaming_off")]
        if line_roams:
            return [*steps, _desk("enable_roaming", **owner.ids)]
        return [*steps, _desk("disable_roaming", **owner.ids), _user("simulate_network_search")]

    def repair(owner: Owner) -> list[Call]:
        line = [] if line_roams else [Call("assistant", "enable_roaming", owner.ids)]
        return [*line, *([] if phone_roams else [Call("user", "toggle_roaming")])]

    return Issue(setup, repair)


def _suspend(contract_ended: bool) -> Issue:
    """The line is suspended for a bill; the agent may lift that unless the contract has ended too."""

    def setup(owner: Owner) -> list[Step]:
        ended = {"new_bill_id": OVERDUE_BILL, "contract_ended": contract_ended}
        return [
            _desk("suspend_line_for_overdue_bill", **owner.ids, **ended),
            _user("simulate_network_search"),
        ]

    def repair(owner: Owner) -> list[Call]:
        bill = {"customer_id": owner.customer_id, "bill_id": OVERDUE_BILL}
        return [
            Call("assistant", "send_payment_request", bill),
            Call("user", "make_payment"),
            Call("assistant", "resume_line", owner.ids),
            Call("user", "reboot_device"),
        ]

    return Issue(setup, None if contract_ended else repair)


def _used_up() -> Issue:
    def setup(owner: Owner) -> list[Step]:
        used = {"data_used_gb": owner.data_limit_gb + OVER_GB}
        return [_desk("set_data_usage", **owner.ids, **used)]

    def repair(owner: Owner) -> list[Call]:
        return [Call("assistant", "refuel_data", {**owner.ids, "gb_amount": REFUEL_GB})]

    def asserts(owner: Owner) -> list[Step]:
        expected = {"expected_amount": REFUEL_GB}
        return [_desk("assert_data_refueling_amount", **owner.ids, **expected)]

    return Issue(setup, repair, asserts)


def _without(*permissions: str) -> Issue:
    """The messaging app has lost permissions."""
    named = [{"app_name": "messaging", "permission": each} for each in permissions]
    return _on_phone(
        [_user("remove_app_permission", **each) for each in named],
        *(_user("grant_app_permission", **each) for each in named),
    )


_RESET = (_user("reset_apn_settings"), _user("reboot_device"))
ISSUES: Mapping[str, Issue] = {
    "airplane_mode_on": _on_phone([_user("turn_airplane_mode_on")], _user("toggle_airplane_mode")),
    "unseat_sim_card": _on_phone([_user("unseat_sim_card")], _user("reseat_sim_card")),
    "lock_sim_card_pin": Issue(lambda owner: [_user("lock_sim_card", mode="pin")], None),
    "break_apn_settings": _on_phone([_user("break_apn_settings")], *_RESET),
    "overdue_bill_suspension": _suspend(contract_ended=False),
    "contract_end_suspension": _suspend(contract_ended=True),
    "user_abroad_roaming_enabled_off": _abroad(phone_roams=False, line_roams=True),
    "user_abroad_roaming_disabled_on": _abroad(phone_roams=True, line_roams=False),
    "user_abroad_roaming_disabled_off": _abroad(phone_roams=False, line_roams=False),
    "data_mode_off": _on_phone([_user("turn_data_off")], _user("toggle_data")),
    "data_saver_mode_on": _on_phone(
        [_user("turn_data_saver_mode_on")], _user("toggle_data_saver_mode")
    ),
    "bad_network_preference": _on_phone(
        [_user("set_network_mode_preference", mode="2g_only")],
        _user("set_network_mode_preference", mode="4g_5g_preferred"),
    ),
    "bad_vpn": _on_phone([_user("break_vpn")], _user("disconnect_vpn")),
    "data_usage_exceeded": _used_up(),
    "bad_wifi_calling": _on_phone(
        [_user("set_wifi_calling", enabled=True, mms_over_wifi=True)],
        _user("toggle_wifi_calling"),
    ),
    "break_apn_mms_setting": _on_phone([_user("break_apn_mms_setting")], *_RESET),
    "break_app_sms_permission": _without("sms"),
    "break_app_storage_permission": _without("storage"),
    "break_app_both_permissions": _without("sms", "storage"),
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
SHARES = {"service_issue": 0.25, "mobile_data_issue": 0.35, "mms_issue": 0.4}


@cache
def combinations(intent: str) -> Mapping[int, tuple[tuple[str, ...], ...]]:
    """The sets of issues for a reason to call, by their number of issues; the issues are in order."""
    shared, own = GROUPS[intent]
    found: dict[int, list[tuple[str, ...]]] = {}
    for chosen in product(*([*group, ""] for group in (*shared, *own))):
        if any(chosen[len(shared) :]):
            names = tuple(sorted(filter(None, chosen)))
            found.setdefault(len(names), []).append(names)
    return {count: tuple(found[count]) for count in sorted(found)}


@lru_cache(maxsize=1)
def database() -> Database:
    """The carrier's records that llmzoo ships."""
    path = Path(__file__).parent / "database.json"
    return database_of(json.loads(path.read_text(encoding="utf-8")))


def owners(data: Database) -> list[Owner]:
    """The lines that issues can be about: active, within their limit, with nothing overdue."""
    found = []
    for customer in data.customers.values():
        if data.bills_of(customer, "Overdue"):
            continue
        for line_id in customer["line_ids"]:
            line = data.of("lines", line_id)
            limit = data.of("plans", line["plan_id"])["data_limit_gb"]
            if line["status"] == "Active" and line["data_used_gb"] < limit:
                found.append(
                    Owner(
                        *(customer["customer_id"], line_id, customer["full_name"]),
                        *(line["phone_number"], limit),
                    )
                )
    return found


def draw(rng: random.Random, *, intent: str | None, issues: int | None) -> Task:
    """A task. intent: the reason to call, None for any. issues: their number, None for any."""
    able = [each for each in SHARES if issues in (None, *combinations(each))]
    chosen = intent or rng.choices(able, [SHARES[each] for each in able])[0]
    counts = combinations(chosen)
    names = rng.choice(counts[rng.choice(tuple(counts)) if issues is None else issues])
    return composed(
        chosen, names, rng.choice(_owners()), rng.choice(tuple(personas.PERSONAS)), database()
    )


@lru_cache(maxsize=1)
def _owners() -> tuple[Owner, ...]:
    return tuple(owners(database()))


def composed(intent: str, names: Sequence[str], owner: Owner, persona: str, data: Database) -> Task:
    """The task of some issues. ``names``: in the order in which things break."""
    who = _user("set_user_info", name=owner.name, phone_number=owner.phone_number)
    setup = (who, *(step for name in names for step in ISSUES[name].setup(owner)))
    repairs: list[Call] = []
    asserts = list(GOALS[intent].asserts)
    required: tuple[Call, ...] = ()
    for name in names:
        issue = ISSUES[name]
        if issue.repair is None:
            handed = Call("assistant", "transfer_to_human_agents", {"summary": "not fixable"})
            repairs, required = [handed], (Call(handed.side, handed.name),)
            asserts = list(GOALS[intent].fails)
            break
        repairs += issue.repair(owner)
        asserts += issue.asserts(owner)
    abroad = any(name in _ROAMING for name in names)
    return Task(
        name=f"[{intent}]{'|'.join(names)}[CUSTOMER:{owner.customer_id}][PERSONA:{persona}]",
        goal=intent,
        reason=OPENINGS[intent],
        known=personas.known(owner.name, owner.phone_number, abroad),
        instructions=personas.INSTRUCTIONS[intent],
        persona=personas.PERSONAS[persona],
        setup=setup,
        world=begun(data, setup),
        repairs=tuple(repairs),
        required=required,
        asserts=tuple(asserts),
    )
