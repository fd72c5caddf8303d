r"""Builds the prompts of the math environments.

With ``feedback="verdict"``, an agent is told whether its own last answer is right. No prompt
contains the
right answer. Answers of other agents are truncated."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from llmzoo.envs.math.scoring import ParsedAnswer
from llmzoo.envs.math.tasks import MathTask
from llmzoo.envs.text import truncate

_MAX_ANSWER_CHARS = 120  # of an answer in a full prompt
_MAX_TERSE_ANSWER_CHARS = 60  # in a terse prompt

_ROLE_INSTRUCTIONS = {
    "reasoner": "Think step by step, and end with the final answer in \\boxed{}, fully evaluated, such as "
    "\\boxed{42}.",
    "tool": "Write a Python program that computes the answer and prints it, such as print(6 * 7). "
    "The last line that it prints is your answer. It may use the standard library, gets no input and has a few "
    "seconds to run.",
    "aggregator": "Compare the answers of the others, which may be wrong, and end with the correct answer "
    "in \\boxed{}, fully evaluated, such as \\boxed{42}.",
}
_ANSWERS_WITH = "You work with {}. All of you answer at the same time. "
_ANSWERED_BEFORE = "You see what {} answered in this round. "
_AFTER_ROUND = "After each round you see each other's answers. The game ends when all of you agree."
_AFTER_ROUND_WITH_VERDICT = (
    "After each round you see each other's answers, and whether your own is right."
)
_TERSE_VERDICTS = {None: "", True: " right", False: " wrong"}


def full(
    task: MathTask,
    agent: str,
    agents: Sequence[str],
    visible_answers: Mapping[str, ParsedAnswer],
    heading: str,
    verdict: bool | None,
) -> str:
    """The prompt in full sentences.

    visible_answers: the answers that the agent may read, including its own.
    verdict: whether the agent's last answer is right; None if the agent is not told.
    """
    others = [other for other in agents if other != agent]
    opening = _opening(
        agent, tuple(others), _AFTER_ROUND if verdict is None else _AFTER_ROUND_WITH_VERDICT
    )
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
    partner_message: str | None,
    heading: str,
    rule: str,
    verdict: bool | None,
) -> str:
    """The prompt in full sentences for a split problem, of which each agent reads one half.

    half: the half that this agent reads. own_answer: the agent's last answer.
    partner_message: what the other agent wrote.
    """
    (other,) = (each for each in agents if each != agent)
    opening = _opening(
        agent, (other,), _AFTER_ROUND if verdict is None else _AFTER_ROUND_WITH_VERDICT
    )
    lines = [opening, rule, "", "The problem:", half, "", heading]
    lines += [] if own_answer is None else [_own_answer_line(own_answer, verdict, alone=False)]
    lines += [] if partner_message is None else [f"{other} wrote:", partner_message]
    return "\n".join([*lines, "", "Your answer:"])


def terse_split(
    half: str,
    agent: str,
    own_answer: ParsedAnswer | None,
    partner_message: str | None,
    heading: str,
    verdict: bool | None,
) -> str:
    """The terse prompt for a split problem. The parameters are those of :func:`full_split`."""
    lines = [f"math half {role_of(agent)} {heading}", half]
    lines += [] if own_answer is None else [f"you {_terse_answer(own_answer, verdict)}"]
    lines += [] if partner_message is None else ["heard", partner_message]
    return "\n".join([*lines, "answer\n"])


def terse(
    task: MathTask,
    agent: str,
    agents: Sequence[str],
    visible_answers: Mapping[str, ParsedAnswer],
    heading: str,
    verdict: bool | None,
) -> str:
    """The terse prompt. A missing answer is shown as "none" and the error."""
    shared_roles = len({role_of(other) for other in agents}) < len(agents)
    lines = [f"math {role_of(agent)} {heading}", task.terse or task.question]
    for other in [agent, *(other for other in agents if other != agent)]:
        if other in visible_answers:
            name = "you" if other == agent else other if shared_roles else role_of(other)
            own_verdict = verdict if other == agent else None
            lines += [f"{name} {_terse_answer(visible_answers[other], own_verdict)}"]
    return "\n".join([*lines, "answer\n"])


def role_of(agent: str) -> str:
    """The role in an agent's name, such as ``"tool"`` for ``"tool_1"``."""
    return agent.rpartition("_")[0]


@cache
def _opening(agent: str, others: tuple[str, ...], after: str) -> str:
    """Describe an agent's role and the other agents, whatever the round and the problem."""
    role = role_of(agent)
    opening = f"You are {agent}. {_ROLE_INSTRUCTIONS[role]}"
    return f"{opening}\n{_describe_partners(role, others)}{after}" if others else opening


def _describe_partners(role: str, others: Sequence[str]) -> str:
    """Say which agents answer before, with and after this one."""
    if role == "aggregator":
        return _ANSWERED_BEFORE.format(_join_names(others))
    aggregators = [agent for agent in others if role_of(agent) == "aggregator"]
    simultaneous = [agent for agent in others if agent not in aggregators]
    line = _ANSWERS_WITH.format(_join_names(simultaneous)) if simultaneous else ""
    return line + (f"{aggregators[0]} then sees these answers and decides. " if aggregators else "")


def _join_names(agents: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(agents[:-1]), agents[-1])))


def _terse_answer(answer: ParsedAnswer, verdict: bool | None) -> str:
    if not answer.value:
        return f"none {truncate(answer.error, _MAX_TERSE_ANSWER_CHARS)}"
    return truncate(answer.value, _MAX_TERSE_ANSWER_CHARS) + _TERSE_VERDICTS[verdict]


def _own_answer_line(answer: ParsedAnswer, verdict: bool | None, *, alone: bool) -> str:
    if verdict is not None and answer.value:
        verdict_word = "right" if verdict else "not right"
        return f"Your last answer, {truncate(answer.value, _MAX_ANSWER_CHARS)}, is {verdict_word}."
    hint = ". The game ends when you give the same answer again." if alone and answer.value else ""
    return f"Your last answer: {_quote_answer(answer)}{hint}"


def _quote_answer(answer: ParsedAnswer) -> str:
    return truncate(answer.value, _MAX_ANSWER_CHARS) if answer.value else f"none ({answer.error})"
