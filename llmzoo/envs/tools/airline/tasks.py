"""Tasks: what a customer wants and knows, the records, and what the reference does."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property

from llmzoo.envs.tools.airline.agent_tools import CHANGING, READING, TOOLS
from llmzoo.envs.tools.airline.database import Database
from llmzoo.envs.tools.service import talk
from llmzoo.envs.tools.service.talk import Entry
from llmzoo.envs.tools.service.toolset import Call

INTENTS = (
    *("booking", "cancellation", "change", "cabin", "baggage", "passengers", "insurance"),
    "compensation",
)
ANY = "any"  # the intent of a record of tau2-bench

Talk = talk.Talk["Task", Database]


@dataclass(frozen=True, eq=False)
class Task:
    """A task.

    goal: the intent. reason, known, instructions, persona: what the customer reads. opening: what the customer
    says first. data: the records at the start. reference: its calls. communicate: what the agent must say.
    strict: such a thing must be said as a number of its own (see :mod:`scoring`). form: a text that is the same
    for all tasks that count as one.
    """

    name: str
    goal: str
    reason: str
    known: str
    instructions: str
    persona: str
    opening: str
    data: Database
    reference: tuple[Call, ...]
    communicate: tuple[str, ...]
    strict: bool
    form: str

    @property
    def reads(self) -> tuple[Call, ...]:
        """What the reference looks up."""
        return tuple(call for call in self.reference if call.name in READING)

    @property
    def writes(self) -> tuple[Call, ...]:
        """What the reference changes."""
        return tuple(call for call in self.reference if call.name in CHANGING)

    @cached_property
    def end(self) -> Database:
        """The records after the reference's calls."""
        return TOOLS.after(self.data, self.writes)


def begin(task: Task) -> Talk:
    return Talk(task, task.data, (Entry("user", "message", task.opening),))


def canonical(task: Task) -> str:
    return task.form


def content(task: Task) -> str:
    """All of a task but its name and the records."""
    calls = [call.written() for call in task.reference]
    told = [task.reason, task.known, task.instructions, task.persona]
    return json.dumps([told, calls, task.communicate])
