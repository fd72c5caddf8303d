"""What each seat reads: its role and rules, its tools, the call so far, and the answer format."""

from __future__ import annotations

from functools import lru_cache

from llmzoo.envs.tools.telecom import toolset
from llmzoo.envs.tools.telecom.talk import STOP, Entry, Talk
from llmzoo.envs.tools.telecom.tasks import Task
from llmzoo.envs.tools.telecom.toolset import Side, parameters_of

_NAMES = {"assistant": "Agent", "user": "Customer"}
MAX_TALK_CHARS = 200_000  # of all that is shown of the call; the earliest of it is left out


def for_seat(side: Side, talk: Talk, left: int, *, terse: bool) -> str:
    """The whole prompt of a seat. left: the rounds of messages that are left. terse: without the manual and what
    the tools are for."""
    lines = [_fixed(side, terse)]
    if side == "user":
        lines += _customer(talk.task)
    shown, left_out = _last(talk.of(side))
    lines += ["", "The call so far:", ""]
    if left_out:
        lines += [f"({left_out} earlier entries are left out.)"]
    lines += map(_line, shown)
    form = _TERSE_FORMATS[side] if terse else _FORMATS[side]
    lines += ["", f"Messages that are left to each side: {left}.", form, "", "Your answer:"]
    return "\n".join(lines)


def whole(talk: Talk) -> str:
    """The call for a person, with what each side did."""
    return "\n".join(f"[{each.side}] {_line(each)}" for each in talk.said)


@lru_cache(maxsize=4)
def _fixed(side: Side, terse: bool) -> str:
    if terse:
        calls = (f"{n}({', '.join(parameters_of(t))})" for n, t in toolset.TOOLS[side].items())
        return f"{_TERSE[side]}\n\nYour tools: {', '.join(calls)}"
    tools = [toolset.described(side, name) for name in toolset.TOOLS[side]]
    return "\n".join([_POLICY if side == "assistant" else _ROLE, "", "Your tools:", *tools])


def _customer(task: Task) -> list[str]:
    about = [task.persona, task.known, f"Why you call: {task.reason}", task.instructions]
    return ["", "About you:", *(" ".join(each.split()) for each in about if each.strip())]


def _line(entry: Entry) -> str:
    if entry.kind == "message":
        return f"{_NAMES[entry.side]}: {entry.text}"
    return {"call": "You called: ", "result": "Result: ", "note": "Note: "}[entry.kind] + entry.text


def _last(entries: tuple[Entry, ...]) -> tuple[tuple[Entry, ...], int]:
    """The last entries that fit, and the number of those before them."""
    room = MAX_TALK_CHARS
    for number in range(len(entries) - 1, -1, -1):
        room -= len(entries[number].text)
        if room < 0:
            return entries[number + 1 :], number + 1
    return entries, 0


_CALLS = (
    'To use tools, answer with calls and nothing else: <tool_call>{"name": "...", "arguments": {...}}</tool_call>, '
    "one or several; you see the results before you go on."
)
_FORMATS = {
    "assistant": f"{_CALLS} An answer without calls is said to the customer.",
    "user": f"{_CALLS} An answer without calls is said to the agent. To end the call, write {STOP} in what you say.",
}
_TERSE_CALLS = '<tool_call>{"name": "...", "arguments": {...}}</tool_call>'
_TERSE_FORMATS = {
    "assistant": f"Say something, or call tools: {_TERSE_CALLS}",
    "user": f"Say something ({STOP} ends the call), or call tools: {_TERSE_CALLS}",
}
_TERSE = {
    "assistant": (
        "You are a telephone company's agent. Mend the customer's phone service: look up the records, tell the "
        "customer which tools to use on the phone (check_network_status, toggle_data, run_speed_test and others), "
        "add 2 GB if the data is used up, enable roaming abroad, resume a line after its bill is paid, and hand "
        "over a locked SIM card or an ended contract."
    ),
    "user": "You are a customer. Use your phone as the agent says, and say what it shows.",
}
_ROLE = (
    "You are a customer who calls a telephone company about your phone. The agent tells you what to do; only you can "
    "do it, with tools that stand for what people do on a phone. You do not see what the agent looks up, and the agent "
    "does not see your phone: say what it shows. When your problem is solved, end the call."
)
_POLICY = """\
You are a service agent of a telephone company. It is 2025-02-25. A customer calls. You can read and change the \
company's records with your tools; only the customer can do something on the phone, so say what to do, and ask \
what came of it. Rely on what tools and the customer tell you, and refuse what these rules do not allow.

Customers. Find out who calls first: by phone number, by id, or by name and date of birth.

Bills. Help to pay an overdue bill: check that it is overdue, send a payment request (one at a time), and ask the \
customer to use check_payment_request and make_payment. Check that the bill is paid before you go on.

Suspended lines. A line is suspended for an overdue bill or because its contract has ended. Resume it when all \
overdue bills are paid, but never if its contract_end_date is past. After that the phone must be restarted.

Data. A line that has used more than its plan allows has no mobile data. With the customer's consent, and after \
you have named the price, add exactly 2 GB. Roaming is free: enable it on the line of a customer who is abroad.

Human colleagues. Hand over what you cannot solve with these rules and tools, and nothing else.

On the phone, check in this order what the problem needs, and test again after each change:
1. Service. check_status_bar shows whether there is a signal. If not: check_network_status (airplane mode on: \
toggle_airplane_mode); check_sim_status (missing: reseat_sim_card; locked: hand over); check_apn_settings \
(not "internet": reset_apn_settings, then reboot_device); then whether the line is suspended.
2. Mobile data. run_speed_test shows it. None: there must be service; mobile data must be on (toggle_data); abroad, \
roaming must be on both on the phone (toggle_roaming) and on the line; data must be left. Slower than excellent: \
data saver off (check_data_restriction_status, toggle_data_saver_mode); network mode "4g_5g_preferred" \
(check_network_mode_preference, set_network_mode_preference); no slow VPN (check_vpn_status, disconnect_vpn).
3. Picture messages. can_send_mms shows whether they work. They need service, mobile data, a network of 3G or more, \
Wi-Fi calling off (check_wifi_calling_status, toggle_wifi_calling), the permissions "sms" and "storage" of the app \
"messaging" (check_app_permissions, grant_app_permission), and an MMSC (check_apn_settings; not set: \
reset_apn_settings, then reboot_device)."""
