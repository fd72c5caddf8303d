"""A call: what was said and done so far, and what an answer of either side does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Generic, Literal, NamedTuple, TypeVar

from llmzoo.envs.text import cut, encodable
from llmzoo.envs.tools import call_syntax
from llmzoo.envs.tools.call_syntax import BadCall
from llmzoo.envs.tools.service.toolset import Call, ToolError, Toolset

Task = TypeVar("Task")
World = TypeVar("World")

MAX_MESSAGE_CHARS = 2_000
STOP = "###STOP###"  # in a message of the customer: ends the call, as in tau2-bench
TRANSFER = "transfer_to_human_agents"
SILENCE = "(says nothing)"


class Entry(NamedTuple):
    """A message, which both sides read, or a call, its result or a note, which only its own side reads."""

    side: str  # "assistant" or "user"
    kind: Literal["message", "call", "result", "note"]
    text: str


@dataclass(frozen=True)
class Talk(Generic[Task, World]):
    """The state of a call.

    made: the calls that were carried out. steps: the answers with calls that the side at turn has given in a
    row. answers, malformed: how many answers of agents there were, and how many of them could not be read.
    """

    task: Task
    world: World
    said: tuple[Entry, ...]
    made: tuple[Call, ...] = ()
    steps: int = 0
    answers: int = 0
    malformed: int = 0
    over: bool = False

    def of(self, side: str) -> tuple[Entry, ...]:
        """What a side has read."""
        return tuple(each for each in self.said if each.kind == "message" or each.side == side)

    def messages(self, side: str) -> list[str]:
        """What a side has said."""
        return [each.text for each in self.said if each.kind == "message" and each.side == side]

    def last_message(self, side: str) -> str:
        return (self.messages(side) or [""])[-1]

    def since_message(self, side: str) -> tuple[Entry, ...]:
        """What was said and done after the last message of a side."""
        last = max(
            (n for n, e in enumerate(self.said) if e.kind == "message" and e.side == side),
            default=-1,
        )
        return self.said[last + 1 :]

    def was_made(self, wanted: Call) -> bool:
        """Whether a call was carried out: by its side, with at least the arguments that it has."""
        return any(
            (made.side, made.name) == (wanted.side, wanted.name)
            and wanted.arguments.items() <= made.arguments.items()
            for made in self.made
        )


def answered(
    talk: Talk[Task, World], tools: Toolset[World], side: str, text: str, max_steps: int
) -> tuple[Talk[Task, World], str]:
    """The talk after an answer, and what was wrong with it ("" if nothing).

    All that a side without tools writes is a message. ``steps`` is above 0 afterwards if the same side answers
    next.
    """
    as_calls = bool(tools.tools[side]) or len(text) > call_syntax.MAX_CHARS
    read = call_syntax.read_calls(text) if as_calls else []
    bad = next((each.reason for each in read if isinstance(each, BadCall)), "")
    if not read and not text.strip():
        bad = "an empty answer"
    if bad:
        return _passed(_note(talk, side, f"Your last answer could not be read: {bad}"), side), (
            f"malformed: {bad}"
        )
    if not read:
        return _said(talk, side, text), ""
    wrong = ""
    for each in read:
        assert not isinstance(each, BadCall)
        call = Call(side, each.name, each.arguments)
        talk = _with(talk, Entry(side, "call", _one_line(call.written(), 400)))
        try:
            world, result = tools.run(talk.world, call)
        except ToolError as error:
            result = f"Error: {error}"
            wrong = wrong or f"wrong: {error}"
        else:
            talk = replace(talk, world=world, made=(*talk.made, call))
        talk = _with(talk, Entry(side, "result", _one_line(result, tools.most_chars)))
        if side == "assistant" and call.name == TRANSFER and not wrong:
            return replace(talk, over=True), ""
    if talk.steps + 1 < max_steps:
        return replace(talk, steps=talk.steps + 1), wrong
    return _passed(
        _note(talk, side, "You made many calls; it is the other's turn now."), side
    ), wrong


def written(calls: Iterable[Call]) -> str:
    """Calls as an agent writes them."""
    return "\n".join(
        f"<tool_call>{json.dumps({'name': c.name, 'arguments': dict(c.arguments)})}</tool_call>"
        for c in calls
    )


def _said(talk: Talk[Task, World], side: str, text: str) -> Talk[Task, World]:
    over = side == "user" and STOP in text
    message = "\n    ".join(encodable(cut(text.strip(), MAX_MESSAGE_CHARS)).splitlines())
    return replace(_with(talk, Entry(side, "message", message)), steps=0, over=over)


def _passed(talk: Talk[Task, World], side: str) -> Talk[Task, World]:
    """The talk after a turn in which nothing was said."""
    return replace(_with(talk, Entry(side, "message", SILENCE)), steps=0)


def _note(talk: Talk[Task, World], side: str, note: str) -> Talk[Task, World]:
    return _with(talk, Entry(side, "note", _one_line(note, 400)))


def _with(talk: Talk[Task, World], entry: Entry) -> Talk[Task, World]:
    return replace(talk, said=(*talk.said, entry))


def _one_line(text: str, most: int) -> str:
    return " ".join(encodable(cut(text, most)).split())


AnyTalk = Talk[Any, Any]
