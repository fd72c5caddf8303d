"""Reading an answer of a crowd: one action for each member that the agent plays, and a message.

An action stands on a line of its own. Lines of prose around it are ignored. An agent that plays several
members writes the name of the member before its action.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.messages import parse_message
from llmzoo.envs.text import MalformedError, content_lines

Value = TypeVar("Value")

_LEAD = re.compile(r"(?:[-*•][ \t]+)?(?:(?:my )?(?:action|move|harvest)[ \t]*[:=][ \t]*)?", re.I)
_NAMED = re.compile(r"(\w{1,40})[ \t]*[:=]?[ \t]*(.*)")
_SAY = re.compile(r"say\b[ \t]*:?[ \t]*(.*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Answer(Generic[Value]):
    """``values``: the action of each member that has one. ``problems``: what cannot be read."""

    values: Mapping[str, Value]
    message: str
    problems: tuple[str, ...]


def read_answer(
    text: str,
    members: Sequence[str],
    read: Callable[[str], Value | None],
    *,
    named: bool,
    message_chars: int,
) -> Answer[Value]:
    """The actions and the message of an answer.

    ``read`` maps a line to an action, or to None if it is none, and raises :class:`MalformedError` for an
    action that is not allowed. ``named``: each action stands behind the name of its member. ``message_chars``:
    the longest message, 0 for none. The time is linear in the length of the text.
    """
    if len(text) > MAX_ACTION_CHARS:
        return Answer({}, "", (f"longer than {MAX_ACTION_CHARS} characters",))
    values: dict[str, Value] = {}
    wrong: dict[str, str] = {}  # by member
    spoken: list[str] = []
    for line in content_lines(text):
        line = line[len(_LEAD.match(line)[0]) :]  # type: ignore[index]
        said = _SAY.fullmatch(line) if message_chars else None
        if said:
            spoken.append(said[1].strip())
            continue
        name, line = _split_name(line) if named else (members[0], line)
        if name not in members:
            continue
        try:
            value = read(line.strip().removesuffix(".").strip("`\"'* \t").removesuffix("."))
        except MalformedError as reason:
            wrong[name] = str(reason)
            continue
        if value is None:
            continue
        if values.get(name, value) != value:
            wrong[name] = "more than one action"
        values[name] = value
    problems = []
    for name in members:
        problem = wrong.get(name, "" if name in values else "no action")
        if problem:
            values.pop(name, None)
            problems.append(f"{name}: {problem}" if named else problem)
    message, problem = _single_message(spoken, message_chars)
    return Answer(values, message, (*problems, problem) if problem else tuple(problems))


def _split_name(line: str) -> tuple[str, str]:
    match = _NAMED.fullmatch(line)
    return (match[1].lower(), match[2]) if match else ("", line)


def _single_message(spoken: Sequence[str], limit: int) -> tuple[str, str]:
    """The message, and why it is not delivered."""
    if not spoken:
        return "", ""
    if len(spoken) > 1:
        return "", "more than one message"
    return parse_message(spoken[0], limit)
