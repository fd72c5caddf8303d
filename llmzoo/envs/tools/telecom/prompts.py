"""What each agent reads: its role and rules, and its tools."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from llmzoo.envs.tools.service import prompts
from llmzoo.envs.tools.service.conversations import STOP
from llmzoo.envs.tools.service.tools import Side
from llmzoo.envs.tools.telecom.conversations import TelecomConversation
from llmzoo.envs.tools.telecom.tools import TOOLS


def for_agent(side: Side, conversation: TelecomConversation, left: int, *, terse: bool) -> str:
    """The whole prompt of an agent. left: the rounds of messages that are left. terse: without the manual and what
    the tools are for."""
    head = [
        _role(side, terse),
        *(prompts.customer_brief(conversation.task) if side == "user" else ()),
    ]
    form = _TERSE_FORMATS[side] if terse else _FORMATS[side]
    return prompts.for_agent(side, conversation, left, head, form)


@lru_cache(maxsize=4)
def _role(side: Side, terse: bool) -> str:
    rules = _TERSE[side] if terse else _POLICY if side == "assistant" else _ROLE
    return prompts.role(rules, TOOLS[side], terse=terse)


_FORMATS = {
    "assistant": prompts.AGENT_FORMAT,
    "user": prompts.with_stop_instruction(
        f"{prompts.CALLS} Any other answer is said to the agent."
    ),
}
_TERSE_FORMATS = {
    "assistant": prompts.TERSE_AGENT_FORMAT,
    "user": f"Say something ({STOP} ends the call), or call tools: {prompts.TERSE_CALLS}",
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
    "You are a customer who calls a telephone company about your phone. The agent tells you what to do. Only you can do "
    "it, with tools that represent what people do on a phone. You cannot see what the agent looks up, and the agent "
    "cannot see your phone, so say what it shows. When your problem is solved, end the call."
)
_POLICY = (Path(__file__).parent / "policy.txt").read_text(encoding="utf-8").rstrip()
