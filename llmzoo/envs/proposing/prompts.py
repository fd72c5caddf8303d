"""What the proposer and the solver read."""

from __future__ import annotations

from llmzoo.envs.proposing.expressions import MAX_CHARS
from llmzoo.envs.proposing.puzzles import KINDS, MOST_VALUE, Puzzle, PuzzleRules
from llmzoo.envs.proposing.tasks import ProposeTask

_PAID = {
    "absolute_zero": "You are paid if some of its answers are right and some are wrong: the fewer are right, "
    "the more you are paid. You are paid nothing if all or none are right.",
    "r_zero": "You are paid the most if half of its answers are right, and nothing if all or none are.",
    "pairs": "You are paid the most if half of its answers are right, and nothing if all or none are.",
}
_SET = {
    "sum": "Write an arithmetic expression from two or more of the numbers, each used at most once, the operators and "
    "parentheses. No part of it may equal 0, nothing may be multiplied by 1, and no intermediate result may exceed "
    f"{MOST_VALUE}. Write at most {MAX_CHARS} characters.",
    "countdown": "Choose two or more of the numbers, and a target from 1 to "
    f"{MOST_VALUE} that an expression makes from all chosen numbers, each used once, the operators and parentheses.",
}
_HOW = {
    "sum": "Put the expression alone on the last line.",
    "countdown": "On the last line, put the numbers, = and the target, such as 3 4 12 = 36.",
}


def proposer_prompt(
    kind: str, task: ProposeTask, difficulty: str, attempts: int, *, terse: bool
) -> str:
    numbers, signs = task.rules.numbers, task.rules.signs
    if terse:
        lines = [f"propose {kind}", f"numbers {_join_numbers(numbers)}", f"signs {signs}"]
        lines += [f"asked {puzzle.text('')}" for puzzle in task.earlier]
        return "\n".join([*lines, "answer", ""])
    before = [puzzle.text() for puzzle in task.earlier]
    lines = [
        f"You are proposer_0. You set a puzzle for solver_1, who answers it {attempts} times. {_PAID[difficulty]}",
        "",
        f"The numbers: {', '.join(map(str, numbers))}",
        f"The operators: {' '.join(signs)}",
        *([f"Already set, and not allowed again: {'; '.join(before)}"] if before else []),
        "",
        _SET[kind],
        "",
        _HOW[kind],
        "",
        "Your puzzle:",
    ]
    return "\n".join(lines)


def solver_prompt(
    agent: str, kind: str, rules: PuzzleRules, puzzle: Puzzle | None, *, terse: bool
) -> str:
    """``puzzle``: None before there is one."""
    if terse:
        shown = puzzle.text("") if puzzle else "none"
        signs = [] if kind == "sum" else [f"signs {rules.signs}"]
        return "\n".join([f"solve {kind}", shown, *signs, "answer", ""])
    allowed = "" if kind == "sum" else f" You may use {' '.join(rules.signs)} and parentheses."
    return (
        f"You are {agent}. {KINDS[kind].asks}{allowed}\n\n"
        f"{puzzle.text() if puzzle else '(not set yet)'}\n\n"
        f"Put {KINDS[kind].form} alone on the last line.\n\nYour answer:"
    )


def _join_numbers(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
