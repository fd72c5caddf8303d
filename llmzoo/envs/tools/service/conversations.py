"""A call: what was said and done so far, and what an answer of either side does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools import call_syntax
from llmzoo.envs.tools.call_syntax import BadCall, ToolCall
from llmzoo.envs.tools.service.tools import WORLD, write_call
from llmzoo.envs.tools.toolbox import Toolbox

Task = TypeVar("Task")
World = TypeVar("World")

MAX_MESSAGE_CHARS = 2_000
STOP = "###STOP###"  # in a message of the customer: ends the call, as in tau2-bench
TRANSFER = "transfer_to_human_agents"
SILENCE = "(says nothing)"


class ConversationEntry(NamedTuple):
    """A message, which both sides read, or a call, its result or a note, which only its own side reads."""

    side: str  # "assistant" or "user"
    kind: Literal["message", "call", "result", "note"]
    text: str


@dataclass(frozen=True)
class ServiceConversation(Generic[Task, World]):
    """The state of a call.

    made: the calls that were carried out. steps: the answers with calls that the side at turn has given in a
    row. answers, malformed: how many answers of agents there were, and how many of them could not be read.
    """

    task: Task
    world: World
    entries: tuple[ConversationEntry, ...]
    made: tuple[ToolCall, ...] = ()
    steps: int = 0
    answers: int = 0
    malformed: int = 0
    over: bool = False

    def entries_for(self, side: str) -> tuple[ConversationEntry, ...]:
        """What a side has read."""
        return tuple(each for each in self.entries if each.kind == "message" or each.side == side)

    def messages(self, side: str) -> list[str]:
        """What a side has said."""
        return [each.text for each in self.entries if each.kind == "message" and each.side == side]

    def last_message_from(self, side: str) -> str:
        return (self.messages(side) or [""])[-1]

    def entries_since_message_from(self, side: str) -> tuple[ConversationEntry, ...]:
        """What was said and done after the last message of a side."""
        last = max(
            (n for n, e in enumerate(self.entries) if e.kind == "message" and e.side == side),
            default=-1,
        )
        return self.entries[last + 1 :]

    def has_call(self, wanted: ToolCall) -> bool:
        """Whether a call was carried out, with at least the arguments that it has."""
        return any(
            made.name == wanted.name and wanted.arguments.items() <= made.arguments.items()
            for made in self.made
        )


def apply_action(
    conversation: ServiceConversation[Task, World],
    tools: Toolbox,
    side: str,
    text: str,
    max_steps: int,
) -> tuple[ServiceConversation[Task, World], str]:
    """The talk after an answer, and what was wrong with it ("" if nothing).

    All that a side without tools writes is a message. ``steps`` is above 0 afterwards if the same side answers
    next.
    """
    as_calls = bool(tools.tools) or len(text) > call_syntax.MAX_CHARS
    parsed = call_syntax.parse_tool_calls(text) if as_calls else []
    bad = next((each.reason for each in parsed if isinstance(each, BadCall)), "")
    if not parsed and not text.strip():
        bad = "an empty answer"
    if bad:
        note = f"Your last answer could not be read: {bad}"
        return _with_silence(conversation, side, note), f"malformed: {bad}"
    if not parsed:
        return _with_message(conversation, side, text), ""
    wrong = ""
    for call in parsed:
        assert not isinstance(call, BadCall)
        reply, states = tools.call(call, {WORLD: conversation.world})
        made = conversation.made
        if reply.error is None:
            made = (*made, call)
        else:
            wrong = wrong or f"wrong: {reply.error}"
        shown = ConversationEntry(side, "call", _one_line(write_call(call), 400))
        result = _one_line(reply.text, tools.reply_format.max_chars)
        entries = (*conversation.entries, shown, ConversationEntry(side, "result", result))
        conversation = replace(conversation, world=states[WORLD], made=made, entries=entries)
        if side == "assistant" and call.name == TRANSFER and not wrong:
            return replace(conversation, over=True), ""
    if conversation.steps + 1 < max_steps:
        return replace(conversation, steps=conversation.steps + 1), wrong
    note = "You made many calls; it is the other's turn now."
    return _with_silence(conversation, side, note), wrong


def format_calls(calls: Iterable[ToolCall]) -> str:
    """Calls as an agent writes them."""
    return "\n".join(
        f"<tool_call>{json.dumps({'name': c.name, 'arguments': dict(c.arguments)})}</tool_call>"
        for c in calls
    )


def _with_message(
    conversation: ServiceConversation[Task, World], side: str, text: str
) -> ServiceConversation[Task, World]:
    over = side == "user" and STOP in text
    message = "\n    ".join(
        replace_surrogates(truncate(text.strip(), MAX_MESSAGE_CHARS)).splitlines()
    )
    entries = (*conversation.entries, ConversationEntry(side, "message", message))
    return replace(conversation, entries=entries, steps=0, over=over)


def _with_silence(
    conversation: ServiceConversation[Task, World], side: str, note: str
) -> ServiceConversation[Task, World]:
    """The talk after a turn in which nothing was said. note: what the side reads about it."""
    about = ConversationEntry(side, "note", _one_line(note, 400))
    entries = (*conversation.entries, about, ConversationEntry(side, "message", SILENCE))
    return replace(conversation, entries=entries, steps=0)


def _one_line(text: str, most: int) -> str:
    return " ".join(replace_surrogates(truncate(text, most)).split())


AnyConversation = ServiceConversation[Any, Any]
