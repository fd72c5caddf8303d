"""The split view of a contest problem: the tester reads its statement, the coder its examples."""

from __future__ import annotations

from collections.abc import Mapping

from llmzoo.envs.coding.contests import prompts
from llmzoo.envs.coding.contests.prompts import CODER, TESTER, ContestState
from llmzoo.envs.coding.contests.tasks import Problem, format_call, format_example, is_shown_in
from llmzoo.envs.messages import quote_message

NOTHING: Mapping[str, float] = {"parses": 0.0, "runs": 0.0, "tests": 0.0}

TESTER_ROLE = (
    "You are the tester. You see the statement of a problem. The coder sees only examples: inputs with their "
    "correct outputs. Only the coder writes the program, which must be correct on other inputs too. The coder "
    "knows nothing of the statement except what you write to it. You read the first {limit} characters of its "
    "answer before you write again."
)
CODER_ROLE = (
    "You are the coder. Write a Python program for a problem. You see only examples of it; the tester sees "
    "its statement. The program must be correct on other inputs too. The tester reads the first {limit} "
    "characters of your answer before it writes again."
)


def example_texts(problem: Problem) -> list[str]:
    """The examples as a statement shows them."""
    return [format_example(test, problem.function) for test in problem.public]


def statement_without_examples(problem: Problem) -> str:
    """The statement without the examples that stand behind it."""
    behind = "".join(f"\n\n{text}" for text in example_texts(problem))
    return problem.statement.removesuffix(behind)


def can_split(problem: Problem) -> bool:
    """Whether a problem has examples, and a statement that does not show them."""
    text = statement_without_examples(problem)
    if problem.function is None:
        inside = any(is_shown_in(test, text) for test in problem.public)
    else:
        inside = any(format_call(problem.function, test) in text for test in problem.public)
    return bool(problem.public) and not inside


def tester_prompt(contest: ContestState, heading: str, limit: int) -> str:
    """What the tester reads."""
    lines = [
        TESTER_ROLE.format(limit=limit),
        "",
        statement_without_examples(contest.problem),
        "",
        heading,
    ]
    if contest.notice:
        lines += ["", contest.notice]
    elif TESTER in contest.answers:
        lines += ["", "Your last message:", quote_message(contest.answers[TESTER])]
    if contest.last_program:
        lines += ["", "The coder's last answer:", quote_message(contest.last_program, limit)]
    order = f"Write a message to the coder, of at most {limit} characters."
    return "\n".join([*lines, "", order, "Your message:"])


def coder_prompt(contest: ContestState, heading: str, limit: int) -> str:
    """What the coder reads."""
    problem = contest.problem
    lines = [CODER_ROLE.format(limit=limit), ""]
    for text in example_texts(problem):
        lines += [text, ""]
    lines += [heading, ""]
    if TESTER in contest.answers:
        lines += ["The tester wrote:", quote_message(contest.answers[TESTER]), ""]
    if contest.last_program:
        lines += [
            "Your last answer:",
            quote_message(contest.last_program, prompts.MAX_CODE_SHOWN),
            "",
        ]
    if CODER in contest.errors:
        lines += [f"No program could be read in it: {contest.errors[CODER]}", ""]
    elif contest.public is not None:
        lines += prompts.examples_report(problem, contest.public)
    return "\n".join([*lines, prompts.answer_instruction(problem), "Your answer:"])
