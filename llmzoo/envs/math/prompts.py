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
    heard: Mapping[str, ParsedAnswer],
    heading: str,
    verdict: bool | None,
) -> str:
    """The prompt in sentences.

    heard: the answers that the agent may read, its own included.
    verdict: whether the agent's last answer is right; None if the agent is not told.
    """
    others = [other for other in agents if other != agent]
    opening = _opening(agent, tuple(others), _AFTER if verdict is None else _AFTER_JUDGED)
    lines = [opening, "", "The problem:", task.question, "", heading]
    if agent in heard:
        lines += [_own_answer_line(heard[agent], verdict, alone=not others)]
    lines += [
        f"The answer of {other}: {_quote_answer(heard[other])}"
        for other in others
        if other in heard
    ]
    return "\n".join([*lines, "", "Your answer:"])


def full_split(
    seen: str,
    agent: str,
    agents: Sequence[str],
    own: ParsedAnswer | None,
    heard: str | None,
    heading: str,
    rule: str,
    verdict: bool | None,
) -> str:
    """The prompt of the split view in sentences. ``seen``: the half of the problem. ``own``: the agent's last
    answer. ``heard``: the other's, quoted."""
    (other,) = (each for each in agents if each != agent)
    opening = _opening(agent, (other,), _AFTER if verdict is None else _AFTER_JUDGED)
    lines = [opening, rule, "", "The problem:", seen, "", heading]
    lines += [] if own is None else [_own_answer_line(own, verdict, alone=False)]
    lines += [] if heard is None else [f"{other} wrote:", heard]
    return "\n".join([*lines, "", "Your answer:"])


def terse_split(
    seen: str,
    agent: str,
    own: ParsedAnswer | None,
    heard: str | None,
    heading: str,
    verdict: bool | None,
) -> str:
    """The same in few words."""
    lines = [f"math half {role_of(agent)} {heading}", seen]
    lines += [] if own is None else [f"you {_terse_answer(own, verdict)}"]
    lines += [] if heard is None else ["heard", heard]
    return "\n".join([*lines, "answer\n"])


def terse(
    task: MathTask,
    agent: str,
    agents: Sequence[str],
    heard: Mapping[str, ParsedAnswer],
    heading: str,
    verdict: bool | None,
) -> str:
    """The prompt in few words. A missing answer reads "none", followed by the error."""
    several = len({role_of(other) for other in agents}) < len(agents)
    lines = [f"math {role_of(agent)} {heading}", task.terse or task.question]
    for other in [agent, *(other for other in agents if other != agent)]:
        if other in heard:
            name = "you" if other == agent else other if several else role_of(other)
            lines += [f"{name} {_terse_answer(heard[other], verdict if other == agent else None)}"]
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
    """Which agents answer before, with and after this one."""
    if role == "aggregator":
        return _BEFORE.format(_join_names(others))
    last = [agent for agent in others if role_of(agent) == "aggregator"]
    beside = [agent for agent in others if agent not in last]
    line = _TOGETHER.format(_join_names(beside)) if beside else ""
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
