"""Prompts: role, question, tools, the calls so far, and the answer format."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.envs.tools.toolbox import MAX_REPLY_CHARS, Toolbox

PLANNER, EXECUTOR, ALONE = "planner_0", "executor_1", "agent_0"

MAX_ENTRIES = 12  # calls that are shown, the last ones
MAX_CALL_CHARS = 1_500
MAX_RESULT_CHARS = MAX_REPLY_CHARS + 100  # with what is said after the reply
MAX_ADVICE_CHARS = 1_500

_ROLES = {
    PLANNER: "You are the planner. You and an executor answer a question together with tools. Each round you "
    "say which tool to call next, with which arguments and why, or that it is time to answer. The executor "
    "reads that and makes the call or gives the answer. Both of you see the result.",
    EXECUTOR: "You are the executor. You and a planner answer a question together with tools. Each round the "
    "planner says what to do next, and you make one call or give the answer. Both of you see the "
    "result.",
    ALONE: "You answer a question with tools. Each round you make one call and see its result, or "
    "give the answer.",
}
_RULES = (
    "Call only what the question needs. A call that fails, repeats an earlier one or is not needed costs a "
    "little; a round without a call costs a little more. The answer ends the task. A wrong answer costs as "
    "much as making no call in all remaining rounds."
)
_ADVICE = "Say in one or two sentences what to do next. Do not write the call itself in tags."
_FORMAT = (
    'To call a tool, write <tool_call>{"name": "...", "arguments": {...}}</tool_call>, one call in a '
    "round. To answer, write <answer>...</answer> with nothing but the answer in it, and make no call in "
    "the same round."
)


@dataclass(frozen=True, slots=True)
class ToolUseEntry:
    """A round's call, or the text written instead, and its result, as they are shown."""

    called: str
    result: str


def make_entry(action: str, result: str) -> ToolUseEntry:
    return ToolUseEntry(
        replace_surrogates(truncate(action, MAX_CALL_CHARS)),
        replace_surrogates(truncate(result, MAX_RESULT_CHARS)),
    )


def for_agent(
    agent: str,
    *,
    question: str,
    tools: str,
    entries: Sequence[ToolUseEntry],
    advice: str,
    heading: str,
) -> str:
    """The whole prompt of an agent; ``tools`` as :func:`schemas` or :func:`summaries` write them."""
    lines = [_ROLES[agent], _RULES, "", "The question:", question, "", "The tools:", tools, ""]
    left_out = max(len(entries) - MAX_ENTRIES, 0)
    if left_out:
        lines += [f"({left_out} earlier rounds are left out.)", ""]
    for number, each in enumerate(entries[left_out:], start=left_out + 1):
        lines += [f"Round {number}: {each.called}", f"Result: {each.result}", ""]
    lines += [heading]
    if agent == EXECUTOR:
        lines += [f"The planner says: {advice or '(nothing)'}"]
    return "\n".join([*lines, "", _ADVICE if agent == PLANNER else _FORMAT, "", "Your answer:"])


def schemas(toolbox: Toolbox) -> str:
    """The tools for an executor: JSON schemas, one a line."""
    return "\n".join(
        json.dumps(schema["function"], ensure_ascii=False) for schema in toolbox.schemas()
    )


def summaries(toolbox: Toolbox) -> str:
    """The tools for a planner: name, parameters and description."""
    return "\n".join(f"{each.signature}: {each.description}" for each in toolbox.tools.values())
