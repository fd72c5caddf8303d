"""Scripted callers: one who writes the accepted calls, and one who errs as people do."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from llmzoo.envs.tools.bfcl import call_format, scoring
from llmzoo.envs.tools.bfcl.tasks import OPTIONAL, AcceptedCall, CallRequest
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.errors import NoSolutionError

Pick = Callable[[Sequence[Any]], Any]  # takes one of several accepted values


def first(values: Sequence[Any]) -> Any:
    return values[0]


def build_call(truth: AcceptedCall, request: CallRequest, pick: Pick = first) -> ToolCall:
    """The call that a truth describes, with the values that ``pick`` takes; a parameter for which
    it takes ``""`` is left out where it may be."""
    required = request.functions[truth.name].required
    arguments = {}
    for name, values in truth.accepted_values.items():
        if not values:
            raise NoSolutionError(f"{request.name}: {truth.name} accepts no value of {name}")
        given = [value for value in values if value != OPTIONAL]
        if name in required and given:
            arguments[name] = _plain(pick(given), pick)
        elif name in required or pick(values) != OPTIONAL:
            arguments[name] = _plain(pick(values), pick)
    return ToolCall(truth.name, arguments)


def expert(truths: Sequence[AcceptedCall], request: CallRequest) -> str:
    """The right calls. Raises ``NoSolutionError`` if the first accepted values make no right call, or
    cannot be written."""
    written = call_format.format_calls(tuple(build_call(truth, request) for truth in truths))
    try:
        calls = call_format.parse_calls(written)
    except call_format.NoCalls as error:
        raise NoSolutionError(f"{request.name}: {written[:200]} cannot be read: {error}") from error
    for written_call, truth in zip(calls, truths, strict=True):
        if not scoring.is_correct_call(written_call, truth, request):
            raise NoSolutionError(
                f"{request.name}: {call_format.format_calls((written_call,))[:200]} is not right"
            )
    return written


def noisy_expert(truths: Sequence[AcceptedCall], request: CallRequest, rng: random.Random) -> str:
    """The right calls with a wrong value, a parameter left out, a call too many or too few, or an
    unfinished list; sometimes without a mistake."""
    calls = [build_call(truth, request) for truth in truths]
    slip = rng.randrange(6)
    if slip == 0:
        calls = [_corrupt(each, rng) for each in calls]
    elif slip == 1:
        calls = [replace(each, arguments=dict(list(each.arguments.items())[1:])) for each in calls]
    elif slip == 2:
        calls = [build_call(truth, request) for truth in request.truths]  # the other agent's too
    elif slip == 3:
        calls = calls[:-1]
    written = call_format.format_calls(tuple(calls))
    return written[: len(written) // 2] if slip == 4 else written


def _plain(value: Any, pick: Pick) -> Any:
    """A value to write. Each key of a dict has its own list of accepted values."""
    if isinstance(value, list):
        return [_plain(inner, pick) for inner in value]
    if not isinstance(value, dict):
        return value
    if [] in value.values():
        raise NoSolutionError(f"no value is accepted within {value!r:.100}")
    chosen = {
        key: pick(inner) if isinstance(inner, list) else inner for key, inner in value.items()
    }
    return {key: _plain(inner, pick) for key, inner in chosen.items() if inner != OPTIONAL}


def _corrupt(right: ToolCall, rng: random.Random) -> ToolCall:
    """A call with one value changed; a number by one."""
    if not right.arguments:
        return right
    name = rng.choice(sorted(right.arguments))
    value = right.arguments[name]
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return replace(right, arguments={**right.arguments, name: value + 1 if number else "unknown"})
