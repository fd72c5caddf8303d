"""What each agent reads: its role and rules, its tools, the call so far, and the answer format."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from llmzoo.envs.text import count_to_omit
from llmzoo.envs.tools.service.conversations import STOP, AnyConversation, ConversationEntry
from llmzoo.envs.tools.service.tools import Side, describe_tool
from llmzoo.envs.tools.toolbox import Toolbox

_NAMES = {"assistant": "Agent", "user": "Customer"}
MAX_CONVERSATION_CHARS = 200_000  # of all that is shown of the call; the earliest of it is left out

CALLS = (
    'To use tools, answer with calls and nothing else: <tool_call>{"name": "...", "arguments": {...}}</tool_call>, '
    "one or more. You see the results before you continue."
)
AGENT_FORMAT = f"{CALLS} Any other answer is said to the customer."
TERSE_CALLS = '<tool_call>{"name": "...", "arguments": {...}}</tool_call>'
TERSE_AGENT_FORMAT = f"Say something, or call tools: {TERSE_CALLS}"


class CustomerProfile(Protocol):
    """What a task says of its customer; only the customer reads it."""

    @property
    def persona(self) -> str: ...
    @property
    def known_info(self) -> str: ...
    @property
    def reason(self) -> str: ...
    @property
    def instructions(self) -> str: ...


def for_agent(
    side: Side, conversation: AnyConversation, left: int, head: Sequence[str], form: str
) -> str:
    """The whole prompt of an agent. head: its role, rules and tools. left: the rounds of messages that are left.
    form: the answer format."""
    entries = conversation.entries_for(side)
    left_out = count_to_omit([entry.text for entry in entries], MAX_CONVERSATION_CHARS)
    lines = [*head, "", "The call so far:", ""]
    if left_out:
        lines += [f"({left_out} earlier entries are left out.)"]
    lines += map(_format_entry, entries[left_out:])
    lines += ["", f"Messages left for each side: {left}.", form, "", "Your answer:"]
    return "\n".join(lines)


def transcript(conversation: AnyConversation) -> str:
    """The call for a person, with what each side did."""
    return "\n".join(f"[{each.side}] {_format_entry(each)}" for each in conversation.entries)


def role(rules: str, toolbox: Toolbox, *, terse: bool) -> str:
    """A side's rules and tools. terse: without what the tools are for."""
    tools = toolbox.tools.values()
    if terse:
        return f"{rules}\n\nYour tools: {', '.join(each.signature for each in tools)}"
    return "\n".join([rules, "", "Your tools:", *map(describe_tool, tools)])


def customer_brief(task: CustomerProfile) -> list[str]:
    """What the customer knows and wants."""
    texts = [task.persona, task.known_info, f"Why you call: {task.reason}", task.instructions]
    return ["", "About you:", *(" ".join(each.split()) for each in texts if each.strip())]


def with_stop_instruction(form: str) -> str:
    """How a customer ends the call."""
    return f"{form} To end the call, write {STOP} in what you say."


def _format_entry(entry: ConversationEntry) -> str:
    if entry.kind == "message":
        return f"{_NAMES[entry.side]}: {entry.text}"
    return {"call": "You called: ", "result": "Result: ", "note": "Note: "}[entry.kind] + entry.text
