"""A call: what was said and done so far, and what an answer of either side does."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from llmzoo.envs.text import cut, encodable
from llmzoo.envs.tools import call_syntax
from llmzoo.envs.tools.call_syntax import BadCall
from llmzoo.envs.tools.telecom import toolset
from llmzoo.envs.tools.telecom.tasks import Task
from llmzoo.envs.tools.telecom.toolset import Call
from llmzoo.envs.tools.telecom.world import ToolError, World

MAX_MESSAGE_CHARS = 2_000
STOP = "###STOP###"  # in a message of the customer: ends the call, as in tau2-bench
TRANSFER = "transfer_to_human_agents"
SILENCE = "(says nothing)"

OPENINGS = {
    "service_issue": "My phone has had no service for some hours.",
    "mobile_data_issue": (
        "The mobile data on my phone does not work properly: it is very slow, or there is none."
    ),
    "mms_issue": "I have not been able to send picture messages for some hours.",
}


class Entry(NamedTuple):
    """A message, which both sides read, or a call, its result or a note, which only its own side reads."""

    side: str  # "assistant" or "user"
    kind: Literal["message", "call", "result", "note"]
    text: str


@dataclass(frozen=True, slots=True)
class Talk:
    """The state of an episode.

    made: the calls that were carried out. steps: the answers with calls that the side at turn has given in a
    row. answers, malformed: how many answers of seats there were, and how many of them could not be read.
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

    def last_message(self, side: str) -> str:
        found = (e.text for e in reversed(self.said) if e.kind == "message" and e.side == side)
        return next(found, "")

    def since_message(self, side: str) -> tuple[Entry, ...]:
        """What was said and done after the last message of a side."""
        last = max(
            (n for n, e in enumerate(self.said) if e.kind == "message" and e.side == side),
            default=-1,
        )
        return self.said[last + 1 :]


def begin(task: Task) -> Talk:
    who = task.world.place
    opening = f"Hello, this is {who.name}, my number is {who.phone_number}. {OPENINGS[task.goal]}"
    return Talk(task, task.world, (Entry("user", "message", opening),))


def answered(talk: Talk, side: str, text: str, max_steps: int) -> tuple[Talk, str]:
    """The talk after an answer, and what was wrong with it ("" if nothing).

    ``steps`` is above 0 afterwards if the same side answers next.
    """
    read = call_syntax.read_calls(text)
    bad = next((each.reason for each in read if isinstance(each, BadCall)), "")
    if not read and not text.strip():
        bad = "an empty answer"
    if bad:
        return _passed(_noted(talk, side, f"Your last answer could not be read: {bad}"), side), (
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
            world, result = toolset.run(talk.world, call)
        except ToolError as error:
            result = f"Error: {error}"
            wrong = wrong or f"wrong: {error}"
        else:
            talk = replace(talk, world=world, made=(*talk.made, call))
        talk = _with(talk, Entry(side, "result", _one_line(result, toolset.MAX_RESULT_CHARS)))
        if side == "assistant" and call.name == TRANSFER and not wrong:
            return replace(talk, over=True), ""
    if talk.steps + 1 < max_steps:
        return replace(talk, steps=talk.steps + 1), wrong
    return _passed(
        _noted(talk, side, "You made many calls; it is the other's turn now."), side
    ), wrong


def written(calls: Iterable[Call]) -> str:
    """Calls as a seat writes them."""
    return "\n".join(
        f"<tool_call>{json.dumps({'name': c.name, 'arguments': dict(c.arguments)})}</tool_call>"
        for c in calls
    )


def _said(talk: Talk, side: str, text: str) -> Talk:
    over = side == "user" and STOP in text
    message = "\n    ".join(encodable(cut(text.strip(), MAX_MESSAGE_CHARS)).splitlines())
    return replace(_with(talk, Entry(side, "message", message)), steps=0, over=over)


def _passed(talk: Talk, side: str) -> Talk:
    """The talk after a turn in which nothing was said."""
    return replace(_with(talk, Entry(side, "message", SILENCE)), steps=0)


def _noted(talk: Talk, side: str, note: str) -> Talk:
    return _with(talk, Entry(side, "note", _one_line(note, 400)))


def _with(talk: Talk, entry: Entry) -> Talk:
    return replace(talk, said=(*talk.said, entry))


def _one_line(text: str, most: int) -> str:
    return " ".join(encodable(cut(text, most)).split())
