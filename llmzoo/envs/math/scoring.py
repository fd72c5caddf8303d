r"""Reads and scores answers. Only reading a tool's answer runs anything: its program.

A reasoner's answer is what its last ``\boxed{}`` holds; a tool's is the last line that its program
prints.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.coding import judging, programs
from llmzoo.envs.math import answers, exact
from llmzoo.envs.math.tasks import MathTask
from llmzoo.envs.text import replace_surrogates, truncate
from llmzoo.sandbox.limits import Limits
from llmzoo.sandbox.results import Run

MAX_VALUE_CHARS = 500  # of an answer
_MAX_ERROR_CHARS = 160

REASONER_WEIGHTS = {"format": 0.2, "right": 0.8}
TOOL_WEIGHTS = {"parses": 0.05, "runs": 0.05, "prints": 0.1, "right": 0.8}
# attempts at an answer earn a little, so that a weak model's completions differ in reward
BOX_STARTED_REWARD, NUMBER_REWARD = 0.1, 0.05
LINE_PRINTED = 0.05

_BOX = re.compile(r"\\boxed *\{\s*[^\s{}\\]")  # an empty box begins nothing
_DIGIT = re.compile("[0-9]")
_RUN_ERRORS = {
    "timeout": "the program ran out of time",
    "memory": "the program ran out of memory",
    "output": "the program printed too much",
    "blocked": "the program did what the sandbox forbids",
}


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """An answer as it was read.

    value: the answer; empty if there is none.
    error: why there is no answer.
    parts: the reward components for the form of the answer.
    """

    value: str
    error: str
    parts: Mapping[str, float]


def parse_reasoner_answer(text: str, *, computed: bool) -> ParsedAnswer:
    """The answer in the last box of a text; with ``computed`` an expression is no answer."""
    error = ""
    value = ""
    if len(text) > MAX_ACTION_CHARS:
        error = f"malformed: longer than {MAX_ACTION_CHARS} characters"
    elif not (content := (answers.extract_boxed(text) or "").strip()):
        error = "malformed: no answer in \\boxed{}"
    else:
        value, error = _validate_answer(content, computed=computed)
    return ParsedAnswer(
        value,
        error,
        {"format": _partial_format_reward(text) if error else REASONER_WEIGHTS["format"]},
    )


def parse_tool_answer(text: str, limits: Limits, *, computed: bool) -> ParsedAnswer:
    """The last line that the program in a text prints; with ``computed`` an expression is no answer."""
    try:
        program = programs.extract(text)
    except programs.NoProgram as reason:
        return ParsedAnswer(
            "", f"malformed: {truncate(str(reason), _MAX_ERROR_CHARS)}", _tool_format_components()
        )
    run = judging.run_program(program, limits=limits)
    if run.status != "passed":
        return ParsedAnswer("", f"failed: {_run_error(run)}", _tool_format_components("parses"))
    printed = [line.strip() for line in run.stdout.splitlines() if line.strip()]
    if not printed:
        return ParsedAnswer(
            "", "failed: the program printed nothing", _tool_format_components("parses", "runs")
        )
    value, error = _validate_answer(printed[-1], computed=computed)
    earned = _tool_format_components("parses", "runs", "prints")
    return ParsedAnswer(value, error, {**earned, "prints": LINE_PRINTED} if error else earned)


def answers_equal(one: str, other: str, *, computed: bool) -> bool:
    """Whether two answers are the same. The task's own answer must be the first argument."""
    return one == other or (exact.exact_answers_match if computed else answers.answers_match)(
        one, other
    )


def is_correct(task: MathTask, value: str) -> bool:
    """Whether an answer is right; an empty one is not."""
    return bool(value) and answers_equal(task.answer, value, computed=task.computed)


def reward_components(answer: ParsedAnswer, *, correct: bool) -> dict[str, float]:
    """The local reward components of an agent: for the form of its answer and for being right."""
    return {**answer.parts, "right": REASONER_WEIGHTS["right"] if correct else 0.0}


def all_agree(values: Sequence[str], *, computed: bool) -> bool:
    """Whether there are at least two answers and all are the same."""
    return (
        len(values) > 1
        and all(values)
        and all(answers_equal(values[0], other, computed=computed) for other in values[1:])
    )


def majority_answer(values: Sequence[str], *, computed: bool) -> str:
    """The answer that most agents give; the earliest agent breaks ties. "" if no agent gives one."""
    votes: dict[str, int] = {}  # of the first agent that gave each answer
    for value in filter(None, values):
        first = next((a for a in votes if answers_equal(a, value, computed=computed)), value)
        votes[first] = votes.get(first, 0) + 1
    return max(votes, key=votes.__getitem__, default="")


def _validate_answer(value: str, *, computed: bool) -> tuple[str, str]:
    """An answer and "", or "" and what is wrong with the answer."""
    # on one line, and fit to be encoded: other agents read it
    value = " ".join(replace_surrogates(value).split())
    if len(value) > MAX_VALUE_CHARS:
        return "", f"malformed: an answer longer than {MAX_VALUE_CHARS} characters"
    if computed and exact.parse_exact(value) is None:
        return "", "malformed: not a number in its last form"
    return value, ""


def _partial_format_reward(text: str) -> float:
    """The format reward of a text without an answer, for something in a box or for a number."""
    if len(text) > MAX_ACTION_CHARS:
        return 0.0
    if _BOX.search(text):
        return BOX_STARTED_REWARD
    return NUMBER_REWARD if _DIGIT.search(text) else 0.0


def _tool_format_components(*earned: str) -> dict[str, float]:
    """The form of a tool's answer: the parts that it earned, in full."""
    return {
        name: TOOL_WEIGHTS[name] if name in earned else 0.0 for name in ("parses", "runs", "prints")
    }


def _run_error(run: Run) -> str:
    if run.status in _RUN_ERRORS:
        return _RUN_ERRORS[run.status]
    lines = run.stderr.strip().splitlines()
    return truncate(lines[-1], _MAX_ERROR_CHARS) if lines else "the program ended with an error"
