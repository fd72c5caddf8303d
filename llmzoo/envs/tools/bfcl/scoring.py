"""Calls compared with the accepted ones, by the rules of BFCL's AST evaluation, reimplemented.

Berkeley Function Calling Leaderboard (Patil et al., ICML 2025): a call is right if it names the
function, gives every required parameter and none that is not accepted, and each value has the
declared type and is one of the accepted ones. Text is compared in lower case, without spaces and
``,./-_*^``, and with both kinds of quotes alike. A whole number is accepted for a float, a truth value
is no number, and a tuple is a list. The order of parallel calls does not matter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from llmzoo.envs.text import truncate
from llmzoo.envs.tools.bfcl.tasks import OPTIONAL, AcceptedCall, CallRequest, FunctionDescription
from llmzoo.envs.tools.call_syntax import ToolCall

FORM, CALLS = "form", "calls"  # an agent's own reward components
REWARD_WEIGHTS = {FORM: 0.2, CALLS: 0.8}

_IGNORED = re.compile(r"[ ,./\-_*^]")
_KINDS: dict[str, tuple[type, ...]] = {
    "integer": (int,),
    "float": (int, float),
    "number": (int, float),
    "string": (str,),
    "boolean": (bool,),
    "array": (list,),
    "tuple": (list,),
    "dict": (dict,),
    "object": (dict,),
}


def count_matches(
    calls: Sequence[ToolCall], truths: Sequence[AcceptedCall], request: CallRequest
) -> int:
    """The number of right calls, each truth counted once: a maximum matching."""
    fits = [
        [number for number, truth in enumerate(truths) if is_correct_call(call, truth, request)]
        for call in calls
    ]
    taken: dict[int, int] = {}  # number of a truth -> number of the call that has it

    def assign(call: int, tried: set[int]) -> bool:
        for truth in fits[call]:
            if truth not in tried:
                tried.add(truth)
                if truth not in taken or assign(taken[truth], tried):
                    taken[truth] = call
                    return True
        return False

    return sum(assign(call, set()) for call in range(len(calls)))


def is_exact_match(calls: Sequence[ToolCall], request: CallRequest) -> bool:
    """Whether the calls are exactly the right ones."""
    return len(calls) == len(request.truths) == count_matches(calls, request.truths, request)


def agent_reward_components(
    calls: Sequence[ToolCall], truths: Sequence[AcceptedCall], request: CallRequest
) -> dict[str, float]:
    """An agent's own reward components for readable calls: 0.2, and 0.8 x F1 over its share of the right
    calls, so a call too many costs as much as a call too few."""
    number = len(calls) + len(truths)
    f1 = 2 * count_matches(calls, truths, request) / number if number else 1.0
    return {FORM: REWARD_WEIGHTS[FORM], CALLS: REWARD_WEIGHTS[CALLS] * f1}


def is_correct_call(call: ToolCall, truth: AcceptedCall, request: CallRequest) -> bool:
    """Whether a call matches ``truth``."""
    if call.name != truth.name:
        return False
    function = request.functions[truth.name]
    left_out = [name for name in truth.accepted_values if name not in call.arguments]
    return (
        all(name in call.arguments for name in function.required)
        and all(OPTIONAL in truth.accepted_values[name] for name in left_out)
        and all(
            name in truth.accepted_values
            and _is_accepted(value, truth.accepted_values[name], function, name)
            for name, value in call.arguments.items()
        )
    )


def find_schema_error(call: ToolCall, request: CallRequest) -> str | None:
    """What is wrong with a call by the descriptions alone, without the accepted values; None if nothing."""
    function = request.functions.get(call.name)
    if function is None:
        return f"there is no function {truncate(call.name, 60)!r}"
    missing = [name for name in function.required if name not in call.arguments]
    if missing:
        return f"{call.name} needs {truncate(', '.join(missing), 100)}"
    for name, value in call.arguments.items():
        if name not in function.properties:
            return f"{call.name} has no parameter {truncate(name, 60)!r}"
        if not _is_declared(value, function, name):
            wanted = function.properties[name].get("type")
            return f"{name} of {call.name} is of type {wanted}, not {type(value).__name__}"
    return None


def _is_accepted(
    value: Any, accepted: Sequence[Any], function: FunctionDescription, name: str
) -> bool:
    # the set has accepted values of undeclared types; their types are accepted too
    kinds = {type(each) for each in accepted if each != OPTIONAL}
    if not _is_declared(value, function, name) and type(value) not in kinds:
        return False
    return any(_values_equal(value, each) for each in accepted)


def _is_declared(value: Any, function: FunctionDescription, name: str) -> bool:
    """Whether a value has the declared type of a parameter. An unknown type accepts any value."""
    kind = function.properties.get(name, {}).get("type")
    kinds = _KINDS.get(kind) if isinstance(kind, str) else None
    return kinds is None or _is_instance(value, kinds)


def _is_instance(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _values_equal(value: Any, accepted: Any) -> bool:
    if isinstance(value, str) and isinstance(accepted, str):
        return normalize_text(value) == normalize_text(accepted)
    if isinstance(value, list) and isinstance(accepted, list):
        return len(value) == len(accepted) and all(map(_values_equal, value, accepted))
    if isinstance(value, dict) and isinstance(accepted, dict):
        return _dicts_equal(value, accepted)
    if isinstance(value, bool) or isinstance(accepted, bool):
        return value is accepted
    return bool(value == accepted)


def _dicts_equal(value: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    """Compare dicts: each key of an accepted dict has a list of accepted values."""
    alternatives = {
        key: each if isinstance(each, list) else [each] for key, each in accepted.items()
    }
    return all(
        key in alternatives and any(_values_equal(inner, each) for each in alternatives[key])
        for key, inner in value.items()
    ) and all(key in value or OPTIONAL in each for key, each in alternatives.items())


def normalize_text(text: str) -> str:
    """Text in the form in which it is compared."""
    return _IGNORED.sub("", text).lower().replace("'", '"')
