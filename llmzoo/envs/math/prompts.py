r"""The prompts. With ``feedback="verdict"`` an agent reads whether its own last answer is right. No prompt
contains the right answer, and answers of other agents are cut to a maximum length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from llmzoo.envs.math.scoring import ParsedAnswer
from llmzoo.envs.math.tasks import MathTask
from llmzoo.envs.text import truncate

_MAX_SHOWN = 120  # characters of an answer
_MAX_TERSE = 60  # in a terse prompt

_TASKS = {
    "reasoner": "Think step by step, and end with the final answer in \\boxed{}, fully evaluated, such as "
    "\\boxed{42}.",
    "tool": "Write a Python program that computes the answer and prints it, such as print(6 * 7). "
    "The last line that it prints is your answer. It may use the standard library, gets no input and has a few "
    "seconds to run.",
    "aggregator": "Compare the answers of the others, which may be wrong, and end with the correct answer "
    "in \\boxed{}, fully evaluated, such as \\boxed{42}.",
}
_TOGETHER = "You work with {}. All of you answer at the same time. "
_BEFORE = "You see what {} answered in this round. "
_AFTER = "After each round you see each other's answers. The game ends when all of you agree."
_AFTER_JUDGED = "After each round you see each other's answers, and whether your own is right."
_BRIEFLY = {None: "", True: " right", False: " wrong"}


def full(
    task: MathTask,
    agent: str,
    agents: Sequence[str],
    visible_answers: Mapping[str, ParsedAnswer],
    heading: str,
    verdict: bool | None,
) -> str:
    """The prompt in sentences.

    visible_answers: the answers that the agent may read, including its own.
    verdict: whether the agent's last answer is right; None without verdicts.
    """
    others = [other for other in agents if other != agent]
    opening = _opening(agent, tuple(others), _AFTER if verdict is None else _AFTER_JUDGED)
    lines = [opening, "", "The problem:", task.question, "", heading]
    if agent in visible_answers:
        lines += [_own_answer_line(visible_answers[agent], verdict, alone=not others)]
    lines += [
        f"The answer of {other}: {_quote_answer(visible_answers[other])}"
        for other in others
        if other in visible_answers
    ]
    return "\n".join([*lines, "", "Your answer:"])


def full_split(
    half: str,
    agent: str,
    agents: Sequence[str],
    own_answer: ParsedAnswer | None,
    message: str | None,
    heading: str,
    rule: str,
    verdict: bool | None,
) -> str:
    """The split-view prompt in sentences.

    half: the agent's half of the problem.
    own_answer: the agent's last answer.
    message: the other agent's last answer, quoted.
    """
    (other,) = (each for each in agents if each != agent)
    opening = _opening(agent, (other,), _AFTER if verdict is None else _AFTER_JUDGED)
    lines = [opening, rule, "", "The problem:", half, "", heading]
    lines += [] if own_answer is None else [_own_answer_line(own_answer, verdict, alone=False)]
    lines += [] if message is None else [f"{other} wrote:", message]
    return "\n".join([*lines, "", "Your answer:"])


def terse_split(
    half: str,
    agent: str,
    own_answer: ParsedAnswer | None,
    message: str | None,
    heading: str,
    verdict: bool | None,
) -> str:
    """The split-view prompt in few words."""
    lines = [f"math half {role_of(agent)} {heading}", half]
    lines += [] if own_answer is None else [f"you {_terse_answer(own_answer, verdict)}"]
    lines += [] if message is None else ["heard", message]
    return "\n".join([*lines, "answer\n"])


def terse(
    task: MathTask,
    agent: str,
    agents: Sequence[str],
    visible_answers: Mapping[str, ParsedAnswer],
    heading: str,
    verdict: bool | None,
) -> str:
    """The prompt in few words. A missing answer reads "none", followed by the error."""
    several = len({role_of(other) for other in agents}) < len(agents)
    lines = [f"math {role_of(agent)} {heading}", task.terse or task.question]
    for other in [agent, *(other for other in agents if other != agent)]:
        if other in visible_answers:
            name = "you" if other == agent else other if several else role_of(other)
            lines += [
                f"{name} {_terse_answer(visible_answers[other], verdict if other == agent else None)}"
            ]
    return "\n".join([*lines, "answer\n"])


def role_of(agent: str) -> str:
    """``"tool"`` of ``"tool_1"``."""
    return agent.rpartition("_")[0]


@cache
def _opening(agent: str, others: tuple[str, ...], after: str) -> str:
    """The role of an agent and the other agents; it depends on neither the round nor the problem."""
    role = role_of(agent)
    opening = f"You are {agent}. {_TASKS[role]}"
    return f"{opening}\n{_describe_partners(role, others)}{after}" if others else opening


def _describe_partners(role: str, others: Sequence[str]) -> str:
    """The agents that answer before, together with and after this one."""
    if role == "aggregator":
        return _BEFORE.format(_join_names(others))
    last = [agent for agent in others if role_of(agent) == "aggregator"]
    simultaneous = [agent for agent in others if agent not in last]
    line = _TOGETHER.format(_join_names(simultaneous)) if simultaneous else ""
    return line + (f"{last[0]} then sees these answers and decides. " if last else "")


def _join_names(agents: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(agents[:-1]), agents[-1])))


def _terse_answer(answer: ParsedAnswer, verdict: bool | None) -> str:
    if not answer.value:
        return f"none {truncate(answer.error, _MAX_TERSE)}"
    return truncate(answer.value, _MAX_TERSE) + _BRIEFLY[verdict]


def _own_answer_line(answer: ParsedAnswer, verdict: bool | None, *, alone: bool) -> str:
    if verdict is not None and answer.value:
        known = "right" if verdict else "not right"
        return f"Your last answer, {truncate(answer.value, _MAX_SHOWN)}, is {known}."
    again = ". The game ends when you give the same answer again." if alone and answer.value else ""
    return f"Your last answer: {_quote_answer(answer)}{again}"


def _quote_answer(answer: ParsedAnswer) -> str:
    return truncate(answer.value, _MAX_SHOWN) if answer.value else f"none ({answer.error})"
