"""Tasks: what a customer wants and knows, the records, and what the reference does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from llmzoo.envs.tools.airline.agent_tools import READ_TOOLS, TOOLS, WRITE_TOOLS
from llmzoo.envs.tools.airline.database import AirlineDatabase
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.service import conversations
from llmzoo.envs.tools.service.conversations import ConversationEntry
from llmzoo.envs.tools.service.tools import world_after, write_call

Intent = Literal[
    "booking", "cancellation", "change", "cabin", "baggage", "passengers", "insurance", "compensation"
]  # fmt: skip
INTENTS = get_args(Intent)
ANY = "any"  # the intent of a record of tau2-bench

AirlineConversation = conversations.ServiceConversation["AirlineTask", AirlineDatabase]


@dataclass(frozen=True, eq=False)
class AirlineTask:
    """A task.

    goal: the intent. reason, known_info, instructions, persona: what the customer reads. opening: what the customer
    says first. data: the records at the start. reference: its calls. communicate: what the agent must say.
    strict: such a thing must be said as a number of its own (see :mod:`.scoring`). form: a text that is the same
    for all tasks that count as one.
    """

    name: str
    goal: str
    reason: str
    known_info: str
    instructions: str
    persona: str
    opening: str
    data: AirlineDatabase
    reference: tuple[ToolCall, ...]
    communicate: tuple[str, ...]
    strict: bool
    form: str

    @property
    def reads(self) -> tuple[ToolCall, ...]:
        """What the reference looks up."""
        return tuple(call for call in self.reference if call.name in READ_TOOLS)

    @property
    def writes(self) -> tuple[ToolCall, ...]:
        """What the reference changes."""
        return tuple(call for call in self.reference if call.name in WRITE_TOOLS)

    @cached_property
    def end(self) -> AirlineDatabase:
        """The records after the reference's calls."""
        return world_after(TOOLS.values(), self.data, self.writes)


def start_conversation(task: AirlineTask) -> AirlineConversation:
    return AirlineConversation(
        task, task.data, (ConversationEntry("user", "message", task.opening),)
    )


def canonical(task: AirlineTask) -> str:
    return task.form


def content(task: AirlineTask) -> str:
    """All of a task but its name and the records."""
    calls = [write_call(call) for call in task.reference]
    customer_texts = [task.reason, task.known_info, task.instructions, task.persona]
    return json.dumps([customer_texts, calls, task.communicate])
