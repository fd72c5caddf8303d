"""Scripted players: those who make the ground truth's calls, and those who err."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from llmzoo.envs.tools.bfcl import call_format
from llmzoo.envs.tools.bfcl_multi_turn.tasks import Dialogue
from llmzoo.envs.tools.bfcl_multi_turn.tools import make_api_toolbox
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.schemas import BadArguments
from llmzoo.errors import NoSolutionError

CALLS_PER_ANSWER = 12  # calls in one answer
CORRECT_RATE = 0.7  # how often a noisy expert makes no mistake
DONE = "Nothing is left to do: give the word back to the user."
NO_CALLS = "[]"


def reference_calls(dialogue: Dialogue, turn: int, step: int) -> Sequence[ToolCall]:
    """The calls of the ground truth for a step of a turn."""
    return dialogue.truths[turn][CALLS_PER_ANSWER * step : CALLS_PER_ANSWER * (step + 1)]


def act(calls: Sequence[ToolCall], dialogue: Dialogue) -> str:
    """The caller's answer. Raises ``NoSolutionError`` for calls that no answer can hold."""
    written = call_format.format_calls(
        tuple(_with_named_arguments(call, dialogue) for call in calls)
    )
    try:
        parsed = call_format.parse_calls(written)
    except call_format.NoCalls as error:
        raise NoSolutionError(
            f"{dialogue.name}: {written[:200]} cannot be read: {error}"
        ) from error
    if len(parsed) != len(calls):
        raise NoSolutionError(f"{dialogue.name}: {written[:200]} is read as other calls")
    return written


def plan(calls: Sequence[ToolCall], dialogue: Dialogue) -> str:
    """The planner's advice."""
    return f"Call {act(calls, dialogue)[1:-1]}." if calls else DONE


def sloppy_plan(calls: Sequence[ToolCall], dialogue: Dialogue, rng: random.Random) -> str:
    """Good advice in most cases, or vague, early or empty advice."""
    if rng.random() < CORRECT_RATE:
        return plan(calls, dialogue)
    return rng.choice(("Do what the user asks for.", DONE, ""))


def sloppy_act(
    calls: Sequence[ToolCall], dialogue: Dialogue, rng: random.Random, *, advice: str | None
) -> str:
    """The right calls, or a mistake: one left out, one with a wrong value, an unfinished list, a function that
    does not exist, or nothing. Mistakes are more frequent where ``advice`` is not the expert's."""
    right = act(calls, dialogue)
    helped = advice is None or plan(calls, dialogue) in advice
    if rng.random() < (CORRECT_RATE if helped else CORRECT_RATE / 2):
        return right
    named = [_with_named_arguments(call, dialogue) for call in calls]
    corrupted = [
        ToolCall(call.name, {name: _alter(value) for name, value in call.arguments.items()})
        for call in named
    ]
    return rng.choice(
        (
            call_format.format_calls(tuple(named[:-1])),
            call_format.format_calls(tuple(corrupted)),
            right[: len(right) // 2],
            "[do_it_all()]",
            "I have done that.",
            NO_CALLS,
        )
    )


def _with_named_arguments(call: ToolCall, dialogue: Dialogue) -> ToolCall:
    """The call with every argument named. Raises ``NoSolutionError`` if an argument has no name."""
    try:
        arguments = make_api_toolbox(dialogue.apis).tools[call.name].name_arguments(call)
    except BadArguments as error:
        raise NoSolutionError(f"{dialogue.name}: {error}") from error
    return ToolCall(call.name, arguments)


def _alter(value: Any) -> Any:
    return f"{value}_2" if isinstance(value, str) else value
