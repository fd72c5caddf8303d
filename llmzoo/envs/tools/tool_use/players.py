"""Scripted planners and executors: experts who follow a question's plan, and sloppy ones."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from typing import Any

from llmzoo.envs.tools.tool_use.questions import NeededCall, ToolQuestion

DONE = "done"  # the answer to a question whose result is a file
_REASONS = {
    "search": "the facts stand in the articles and nowhere else",
    "calculator": "the numbers are known now, and the result must be exact",
    "python": "that takes a program",
    "read_file": "the file says what there is to work with",
    "write_file": "the result is wanted in the file",
}


def plan(step: NeededCall | None) -> str:
    """The planner's advice: the next call, or to answer if no call is left."""
    if step is None:
        return "Everything is known now: answer with it."
    tool = step.tools[0]
    why = _REASONS.get(tool, "the question needs it")
    return f"Call {tool} next, because {why}. Arguments: {json.dumps(dict(step.arguments))}"


def act(step: NeededCall | None, question: ToolQuestion) -> str:
    """The executor's call, or its answer if no call is left."""
    if step is None:
        return format_answer(DONE if question.target.path else question.target.values[0])
    return format_call(step.tools[0], step.arguments)


def format_call(tool: str, arguments: Mapping[str, Any]) -> str:
    written = json.dumps({"name": tool, "arguments": dict(arguments)})
    return f"<tool_call>{written}</tool_call>"


def format_answer(text: str) -> str:
    return f"<answer>{text}</answer>"


def sloppy_plan(step: NeededCall | None, rng: random.Random) -> str:
    """Good advice, or vague, early or empty advice."""
    return rng.choice((plan(step), "Think it over and answer.", "Use a tool.", ""))


def sloppy_act(
    step: NeededCall | None, question: ToolQuestion, before: str | None, rng: random.Random
) -> str:
    """The right call, or a mistake: an unknown tool, unfinished JSON, a guess, an answer without tags, or
    the call ``before`` again."""
    right = act(step, question)
    wrong = rng.choice(question.target.values) + "1"
    slips = (
        right.replace('"name": "', '"name": "my_'),
        right[: 2 * len(right) // 3],
        format_answer(wrong),
        f"The answer is {wrong}",
        before or right,
    )
    return right if rng.random() < 0.6 else rng.choice(slips)
