"""The world of telecom_v0: what each action does, against values worked out from tau2-bench's published source
(user_tools.py, tools.py and environment.py)."""

from __future__ import annotations

import json
import re

import pytest

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service.tools import WORLD, describe_tool, run_call, world_after
from llmzoo.envs.tools.telecom import agent_tools, issues, phone
from llmzoo.envs.tools.telecom.faults import ASSERTIONS, SETUP
from llmzoo.envs.tools.telecom.tasks import build_world
from llmzoo.envs.tools.telecom.tools import TOOLS
from llmzoo.envs.tools.telecom.world import World, search_network, sync_sides
from llmzoo.envs.tools.toolbox import ToolError

OWNER = issues.eligible_owners(issues.load_database())[0]  # C1001, a line with 12 GB at 2.50 a GB


def begin(*steps) -> World:
    who = ("user", "set_user_info", {"name": OWNER.name, "phone_number": OWNER.phone_number})
    return build_world(
        issues.load_database(), [issues.ScenarioStep(*each) for each in (who, *steps)]
    )


def use(world: World, *calls: str, **arguments) -> World:
    """The world after calls of the customer's or the agent's tools."""
    return world_after(TOOLS.values(), world, [ToolCall(name, arguments) for name in calls])


def shown(world: World, name: str, **arguments) -> str:
    side = "user" if name in phone.FUNCTIONS else "assistant"
    return run_call(TOOLS[side], world, ToolCall(name, arguments))[1]


def test_both_sides_have_the_tools_of_tau2_bench():
    assert (len(phone.FUNCTIONS), len(agent_tools.FUNCTIONS)) == (30, 13)
    assert phone.FUNCTIONS.keys().isdisjoint(agent_tools.FUNCTIONS)  # a call's name says its side
    assert (len(ASSERTIONS["user"]), len(ASSERTIONS["assistant"])) == (9, 4)
    own = {name for name in SETUP["user"] if name not in phone.FUNCTIONS}
    assert own == {
        *("set_user_info", "set_user_location", "turn_airplane_mode_on", "turn_airplane_mode_off"),
        *("unseat_sim_card", "lock_sim_card", "turn_data_on", "turn_data_off", "turn_roaming_on"),
        *("turn_roaming_off", "turn_data_saver_mode_on", "turn_data_saver_mode_off", "break_vpn"),
        *("break_apn_settings", "break_apn_mms_setting", "set_wifi_calling"),
        *("remove_app_permission", "simulate_network_search"),
    }


@pytest.mark.parametrize(
    ("steps", "mbps", "name"),
    [
        ([], 220.0, "Excellent"),  # 5G as it starts, with a good signal: 275 x 0.8
        ([("simulate_network_search", {})], 275.0, "Excellent"),  # 5G's signal is excellent
        ([("set_network_mode_preference", {"mode": "4g_only"})], 44.0, "Good"),  # 55 x 0.8
        ([("set_network_mode_preference", {"mode": "3g_only"})], 1.5, "Poor"),  # 3 x 0.5
        ([("set_network_mode_preference", {"mode": "2g_only"})], 0.05, "Very Poor"),  # 0.25 x 0.2
        ([("set_network_mode_preference", {"mode": "5g"})], 220.0, "Excellent"),  # no such mode
        ([("turn_data_saver_mode_on", {})], 44.0, "Good"),  # 220 x 0.2
        ([("break_vpn", {})], 22.0, "Fair"),  # 220 x 0.1
        ([("connect_vpn", {})], 220.0, "Excellent"),  # its server is good
        ([("break_vpn", {}), ("turn_data_saver_mode_on", {})], 4.4, "Poor"),
        ([("break_vpn", {}), ("disconnect_vpn", {})], 220.0, "Excellent"),
    ],
)
def test_the_speed_is_the_networks_times_its_signal_vpn_and_data_saver(steps, mbps, name):
    assert begin(*(("user", *each) for each in steps)).speed == (mbps, name)


NO_SERVICE = [
    ("turn_airplane_mode_on", {}, "toggle_airplane_mode"),
    ("unseat_sim_card", {}, "reseat_sim_card"),
    ("break_apn_settings", {}, "reset_apn_settings reboot_device"),
    ("lock_sim_card", {"mode": "pin"}, None),
    ("lock_sim_card", {"mode": "puk"}, None),
]


@pytest.mark.parametrize(("name", "arguments", "repair"), NO_SERVICE)
def test_what_cuts_the_service_and_what_restores_it(name, arguments, repair):
    world = begin(("user", name, arguments))
    assert world.phone.network_connection_status == "no_service"
    assert world.phone.network_technology_connected == "none"
    assert world.speed == (None, "No Connection")
    assert not world.can_send_mms
    for call in ("reboot_device", "toggle_data", "toggle_data"):  # none of these helps
        assert use(world, call).phone.network_connection_status == "no_service"
    if repair:
        after = use(world, *repair.split())
        assert after.phone.network_connection_status == "connected"
        assert after.speed == (275.0, "Excellent")


@pytest.mark.parametrize(
    ("steps", "repair"),
    [
        ([("turn_data_off", {})], [("toggle_data", {})]),
        (
            [("set_network_mode_preference", {"mode": "2g_only"})],
            [("set_network_mode_preference", {"mode": "3g_only"})],
        ),
        (
            [("set_wifi_calling", {"enabled": True, "mms_over_wifi": True})],
            [("toggle_wifi_calling", {})],
        ),
        ([("break_apn_mms_setting", {})], [("reset_apn_settings", {}), ("reboot_device", {})]),
        *(
            (
                [("remove_app_permission", {"app_name": "messaging", "permission": each})],
                [("grant_app_permission", {"app_name": "messaging", "permission": each.upper()})],
            )
            for each in ("sms", "storage")
        ),
    ],
)
def test_what_stops_picture_messages_and_what_mends_them(steps, repair):
    world = begin(*(("user", *each) for each in steps))
    assert not world.can_send_mms
    for number, (name, arguments) in enumerate(repair):
        world = use(world, name, **arguments)
        assert world.can_send_mms == (number == len(repair) - 1)


@pytest.mark.parametrize(
    "harmless",
    [
        ("set_wifi_calling", {"enabled": True, "mms_over_wifi": False}),
        ("remove_app_permission", {"app_name": "messaging", "permission": "phone"}),
        ("remove_app_permission", {"app_name": "browser", "permission": "storage"}),
        ("break_vpn", {}),
        ("turn_data_saver_mode_on", {}),
    ],
)
def test_what_does_not_stop_picture_messages(harmless):
    assert begin(("user", *harmless)).can_send_mms


@pytest.mark.parametrize("phone_roams", [False, True])
@pytest.mark.parametrize("line_roams", [False, True])
def test_data_abroad_needs_roaming_on_the_phone_and_on_the_line(phone_roams, line_roams):
    world = begin(
        ("user", "set_user_location", {"abroad": True}),
        ("user", "turn_roaming_on" if phone_roams else "turn_roaming_off", {}),
        ("assistant", "enable_roaming" if line_roams else "disable_roaming", OWNER.ids),
    )
    assert world.has_mobile_data == (phone_roams and line_roams)
    assert world.phone.network_connection_status == "connected"  # calls work without roaming
    world = use(world, "enable_roaming", **OWNER.ids)
    assert world.has_mobile_data == phone_roams  # at once, without a new search


def test_used_up_data_comes_back_with_more():
    def used(gb: float) -> World:
        return begin(("assistant", "set_data_usage", {**OWNER.ids, "data_used_gb": gb}))

    assert used(11.99).has_mobile_data
    assert not used(12.0).has_mobile_data  # the limit itself is too much
    world = used(12.1)
    assert use(world, "refuel_data", gb_amount=0.1, **OWNER.ids).has_mobile_data is False
    after = use(world, "refuel_data", gb_amount=2.0, **OWNER.ids)
    assert after.has_mobile_data
    draft = after.data.bills_of(after.data.lookup("customers", OWNER.customer_id), "Draft")
    assert [bill["total_due"] for bill in draft] == [5.0]  # 2 GB at 2.50
    assert after.data.lookup("lines", OWNER.line_id)["data_refueling_gb"] == 2.0


@pytest.mark.parametrize("contract_ended", [False, True])
def test_a_suspended_line_is_paid_resumed_and_searched_for(contract_ended):
    bill = {"new_bill_id": "B1234321", "contract_ended": contract_ended}
    world = begin(
        ("assistant", "suspend_line_for_overdue_bill", {**OWNER.ids, **bill}),
        ("user", "simulate_network_search", {}),
    )
    line, due = world.data.lookup("lines", OWNER.line_id), world.data.lookup("bills", "B1234321")
    assert world.phone.network_connection_status == "no_service"
    assert (line["status"], line["suspension_start_date"]) == ("Suspended", "2025-02-25")
    assert (line["contract_end_date"] < "2025-02-25") == contract_ended
    assert (due["status"], due["total_due"], due["due_date"]) == ("Overdue", 46.0, "2025-01-15")
    assert shown(world, "make_payment") == "There is no request for a payment"
    ids = {"customer_id": OWNER.customer_id}
    world = use(world, "send_payment_request", bill_id="B1234321", **ids)
    assert "46.00 USD for bill B1234321" in shown(world, "check_payment_request")
    with pytest.raises(ToolError, match="awaiting payment"):
        use(world, "send_payment_request", bill_id="B1002", **ids)
    world = use(world, "make_payment")
    assert world.data.lookup("bills", "B1234321")["status"] == "Paid"
    assert world.place.payment_request is None
    assert not world.place.line_active
    world = use(world, "resume_line", **OWNER.ids)
    assert world.place.line_active
    assert world.phone.network_connection_status == "no_service"  # until the phone searches
    assert use(world, "reboot_device").phone.network_connection_status == "connected"
    assert use(world, "toggle_roaming").phone.network_connection_status == "connected"


def test_a_reset_of_the_access_point_waits_for_the_restart():
    world = use(begin(("user", "break_apn_mms_setting", {})), "reset_apn_settings")
    assert shown(world, "check_apn_settings") == "APN: internet; MMSC: not set"
    after = use(world, "reboot_device")
    assert after.phone.apn.mmsc_url
    assert not after.phone.apn.reset_at_reboot
    entered = use(world, "set_apn_settings", apn_settings={"mmsc_url": "http://m.example"})
    assert entered.can_send_mms


def test_airplane_mode_cuts_the_vpn_and_wifi():
    world = use(begin(("user", "break_vpn", {})), "toggle_wifi", "toggle_airplane_mode")
    assert not world.phone.vpn_connected
    assert shown(world, "check_status_bar") == "Status bar: airplane mode, battery 80%"
    assert "cannot be changed" in shown(world, "toggle_wifi")
    back = use(world, "toggle_airplane_mode")
    assert back.speed == (275.0, "Excellent")
    assert back.phone.wifi_enabled


def test_a_setup_that_turns_on_what_is_on_leaves_it_on():
    world = begin(("user", "turn_airplane_mode_on", {}), ("user", "turn_airplane_mode_on", {}))
    assert world.phone.airplane_mode


def test_a_phone_without_5g_takes_4g_even_without_a_signal():
    world = begin().with_place(signal_strength={"3G": "good"})
    found = search_network(world).phone
    assert (found.network_technology_connected, found.network_signal_strength) == ("4G", "none")
    assert found.network_connection_status == "connected"
    assert not search_network(world).has_mobile_data


def test_customers_are_found_by_number_id_and_name_with_date_of_birth():
    world = begin()
    by_number = json.loads(shown(world, "get_customer_by_phone", phone_number="(555) 010 2107"))
    assert by_number["customer_id"] == "C1001"
    second = world.data.lookup("lines", "L1002")["phone_number"]
    assert json.loads(shown(world, "get_customer_by_phone", phone_number=second)) == by_number
    given = {"full_name": "  ínes ALDANA", "dob": "1984-03-09"}
    assert json.loads(shown(world, "get_customer_by_name", **given)) == [by_number]
    assert shown(world, "get_customer_by_name", **{**given, "dob": "1984-03-10"}) == "[]"
    bills = json.loads(shown(world, "get_bills_for_customer", customer_id="C1001", limit=2))
    assert [bill["issue_date"] for bill in bills] == ["2025-03-01", "2025-02-04"]


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("toggle_everything", {}, "there is no tool 'toggle_everything'"),
        ("get_details_by_id", {}, "needs the argument id"),
        ("get_details_by_id", {"id": "X1"}, "begins with C, L, D, B or P"),
        ("get_details_by_id", {"id": "L9"}, "no line has the id 'L9'"),
        ("get_details_by_id", {"id": 3}, "id of get_details_by_id must be text"),
        ("get_details_by_id", {"id": "L1001", "of": 1}, "has no argument 'of'; it has: id"),
        ("get_customer_by_phone", {"phone_number": "none"}, "no customer has the phone number"),
        ("resume_line", {"customer_id": "C1001", "line_id": "L1003"}, "C1001 has no line 'L1003'"),
        ("resume_line", {"customer_id": "C1001", "line_id": "L1001"}, "L1001 is Active"),
        ("refuel_data", {**OWNER.ids, "gb_amount": 0}, "more than 0"),
        ("refuel_data", {**OWNER.ids, "gb_amount": 10**400}, "more than 0"),
        ("refuel_data", {**OWNER.ids, "gb_amount": True}, "must be number"),
        ("send_payment_request", {"customer_id": "C1001", "bill_id": "B1"}, "has no bill 'B1'"),
    ],
)
def test_calls_that_cannot_be_carried_out(name, arguments, message):
    with pytest.raises(ToolError, match=message):
        run_call(TOOLS["assistant"], begin(), ToolCall(name, arguments))


@pytest.mark.parametrize("side", ["user", "assistant"])
def test_no_tool_raises_anything_else_or_changes_the_world_it_is_given(side):
    values = ["", "messaging", "sms", 0, -1, 2.5, 10**400, None, True, [], {}, {"apn_name": []}]
    world = begin()
    before = repr(world)
    for name, tool in TOOLS[side].tools.items():
        for value in values:
            call = ToolCall(name, dict.fromkeys(tool.parameters["properties"], value))
            reply, states = TOOLS[side].call(call, {WORLD: world})
            # an error that a tool did not mean for a model begins with its type
            assert re.match(r"[A-Z]\w+: ", reply.error or "") is None
            assert sync_sides(states[WORLD]) == states[WORLD]
    assert repr(world) == before


def test_a_description_names_every_argument():
    permission = json.loads(describe_tool(TOOLS["user"].tools["grant_app_permission"]))
    assert list(permission["arguments"]) == ["app_name", "permission"]
    for box in TOOLS.values():
        about = [json.loads(describe_tool(each)) for each in box.tools.values()]
        assert [each["name"] for each in about] == list(box.tools)
        assert all(each["description"].endswith(".") for each in about)


def test_turning_data_on_in_a_setup_looks_for_no_network():
    off = ("user", "turn_data_off", {})
    mode = begin(off).with_phone(network_mode_preference="2g_only")
    assert SETUP["user"]["turn_data_on"](mode).phone.network_technology_connected == "5G"
    assert use(mode, "toggle_data").phone.network_technology_connected == "2G"


@pytest.mark.parametrize(
    ("status", "holds"), [("Overdue", False), ("Awaiting Payment", False), ("Paid", True)]
)
def test_a_bill_counts_as_settled_once_it_is_paid(status, holds):
    world = begin().put("bills", "B1234321", bill_id="B1234321", status=status)
    settled = ASSERTIONS["assistant"]["assert_no_overdue_bill"]
    assert settled(world, overdue_bill_id="B1234321") == holds
    assert settled(world, overdue_bill_id="B0")  # one that there is not


def test_assertions_about_records():
    world = use(begin(), "refuel_data", gb_amount=2.0, **OWNER.ids)
    about = ASSERTIONS["assistant"]
    assert about["assert_data_refueling_amount"](world, expected_amount=2.0, **OWNER.ids)
    assert not about["assert_data_refueling_amount"](world, expected_amount=2.1, **OWNER.ids)
    assert about["assert_line_status"](world, expected_status="Active", **OWNER.ids)
    assert not about["assert_line_status"](world, expected_status="Suspended", **OWNER.ids)
    bill = {"customer_id": "C1006", "overdue_bill_id": "B1014"}
    overdue = [b["bill_id"] for b in world.data.bills.values() if b["status"] == "Overdue"]
    assert about["assert_overdue_bill_exists"](world, **{**bill, "overdue_bill_id": overdue[0]})
    assert not about["assert_overdue_bill_exists"](world, **{**bill, "overdue_bill_id": "B1001"})
