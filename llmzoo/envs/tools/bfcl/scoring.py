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

from llmzoo.envs.text import cut
from llmzoo.envs.tools.bfcl.tasks import MAY_BE_LEFT_OUT, CallRequest, FunctionDescription, Truth
from llmzoo.envs.tools.call_syntax import ToolCall

FORM, CALLS = "form", "calls"  # an agent's own reward parts
WORTH = {FORM: 0.2, CALLS: 0.8}

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


def matches(calls: Sequence[ToolCall], truths: Sequence[Truth], request: CallRequest) -> int:
    """The number of right calls, each truth counted once: a maximum matching."""
    fits = [
        [number for number, truth in enumerate(truths) if right(call, truth, request)]
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


def all_right(calls: Sequence[ToolCall], request: CallRequest) -> bool:
    """Whether the calls are exactly the right ones."""
    return len(calls) == len(request.truths) == matches(calls, request.truths, request)


def own_parts(
    calls: Sequence[ToolCall], truths: Sequence[Truth], request: CallRequest
) -> dict[str, float]:
    """An agent's own reward parts for readable calls: 0.2, and 0.8 x F1 over its share of the right
    calls, so a call too many costs as much as a call too few."""
    number = len(calls) + len(truths)
    f1 = 2 * matches(calls, truths, request) / number if number else 1.0
    return {FORM: WORTH[FORM], CALLS: WORTH[CALLS] * f1}


def right(call: ToolCall, truth: Truth, request: CallRequest) -> bool:
    """Whether a call matches ``truth``."""
    if call.name != truth.name:
        return False
    function = request.functions[truth.name]
    left_out = [name for name in truth.accepted if name not in call.arguments]
    return (
        all(name in call.arguments for name in function.required)
        and all(MAY_BE_LEFT_OUT in truth.accepted[name] for name in left_out)
        and all(
            name in truth.accepted and _accepted(value, truth.accepted[name], function, name)
            for name, value in call.arguments.items()
        )
    )


def complaint(call: ToolCall, request: CallRequest) -> str | None:
    """What is wrong with a call by the descriptions alone, without the accepted values; None if nothing."""
    function = request.functions.get(call.name)
    if function is None:
        return f"there is no function {cut(call.name, 60)!r}"
    missing = [name for name in function.required if name not in call.arguments]
    if missing:
        return f"{call.name} needs {cut(', '.join(missing), 100)}"
    for name, value in call.arguments.items():
        if name not in function.properties:
            return f"{call.name} has no parameter {cut(name, 60)!r}"
        if not _is_declared(value, function, name):
            wanted = function.properties[name].get("type")
            return f"{name} of {call.name} is of type {wanted}, not {type(value).__name__}"
    return None


def _accepted(
    value: Any, accepted: Sequence[Any], function: FunctionDescription, name: str
) -> bool:
    # the set has accepted values of undeclared types; their types are accepted too
    kinds = {type(each) for each in accepted if each != MAY_BE_LEFT_OUT}
    if not _is_declared(value, function, name) and type(value) not in kinds:
        return False
    return any(_same(value, each) for each in accepted)


def _is_declared(value: Any, function: FunctionDescription, name: str) -> bool:
    """Whether a value has the declared type of a parameter. An unknown type accepts any value."""
    kind = function.properties.get(name, {}).get("type")
    kinds = _KINDS.get(kind) if isinstance(kind, str) else None
    return kinds is None or _is(value, kinds)


def _is(value: Any, kinds: tuple[type, ...]) -> bool:
    return isinstance(value, kinds) and (not isinstance(value, bool) or bool in kinds)


def _same(value: Any, accepted: Any) -> bool:
    if isinstance(value, str) and isinstance(accepted, str):
        return standard(value) == standard(accepted)
    if isinstance(value, list) and isinstance(accepted, list):
        return len(value) == len(accepted) and all(map(_same, value, accepted))
    if isinstance(value, dict) and isinstance(accepted, dict):
        return _same_dict(value, accepted)
    if isinstance(value, bool) or isinstance(accepted, bool):
        return value is accepted
    return bool(value == accepted)


def _same_dict(value: Mapping[str, Any], accepted: Mapping[str, Any]) -> bool:
    """Compare dicts: each key of an accepted dict has a list of accepted values."""
    alternatives = {
        key: each if isinstance(each, list) else [each] for key, each in accepted.items()
    }
    return all(
        key in alternatives and any(_same(inner, each) for each in alternatives[key])
        for key, inner in value.items()
    ) and all(key in value or MAY_BE_LEFT_OUT in each for key, each in alternatives.items())


def standard(text: str) -> str:
    """Text in the form in which it is compared."""
    return _IGNORED.sub("", text).lower().replace("'", '"')
