"""What the proposer and the solver read."""

from __future__ import annotations

from llmzoo.envs.proposing.expressions import MAX_CHARS
from llmzoo.envs.proposing.puzzles import KINDS, MOST_VALUE, Puzzle, Rules
from llmzoo.envs.proposing.tasks import Task

_PAID = {
    "absolute_zero": "You are paid if some of its answers are right and some are wrong, the more the fewer "
    "are right. You are paid nothing if all or none are right.",
    "r_zero": "You are paid the most if half of its answers are right, and nothing if all or none are.",
    "pairs": "You are paid the most if half of its answers are right, and nothing if all or none are.",
}
_SET = {
    "sum": "Write a sum of two or more of the numbers, each at most once, with the signs and parentheses. No "
    "part of it may be 0, nothing may be multiplied by 1, and no result on the way may be beyond "
    f"{MOST_VALUE}. Write at most {MAX_CHARS} characters.",
    "countdown": "Choose two or more of the numbers, and a target from 1 to "
    f"{MOST_VALUE} that a sum of all chosen numbers makes, each used once, with the signs and parentheses.",
}
_HOW = {
    "sum": "Answer with the sum alone on the last line.",
    "countdown": "Answer with the numbers, = and the target on the last line, such as 3 4 12 = 36.",
}


def for_proposer(kind: str, task: Task, difficulty: str, attempts: int, *, terse: bool) -> str:
    numbers, signs = task.rules.numbers, task.rules.signs
    if terse:
        lines = [f"propose {kind}", f"numbers {_listed(numbers)}", f"signs {signs}"]
        lines += [f"asked {puzzle.text('')}" for puzzle in task.earlier]
        return "\n".join([*lines, "answer", ""])
    before = [puzzle.text() for puzzle in task.earlier]
    lines = [
        f"You are proposer_0. You set a puzzle for solver_1, who answers it {attempts} times. {_PAID[difficulty]}",
        "",
        f"The numbers: {', '.join(map(str, numbers))}",
        f"The signs: {' '.join(signs)}",
        *([f"Set before, and not allowed: {'; '.join(before)}"] if before else []),
        "",
        _SET[kind],
        "",
        _HOW[kind],
        "",
        "Your puzzle:",
    ]
    return "\n".join(lines)


def for_solver(agent: str, kind: str, rules: Rules, puzzle: Puzzle | None, *, terse: bool) -> str:
    """``puzzle``: None before there is one."""
    if terse:
        shown = puzzle.text("") if puzzle else "none"
        signs = [] if kind == "sum" else [f"signs {rules.signs}"]
        return "\n".join([f"solve {kind}", shown, *signs, "answer", ""])
    allowed = "" if kind == "sum" else f" The signs are {' '.join(rules.signs)}, with parentheses."
    return (
        f"You are {agent}. {KINDS[kind].asks}{allowed}\n\n"
        f"{puzzle.text() if puzzle else '(not set yet)'}\n\n"
        f"Answer with {KINDS[kind].form} alone on the last line.\n\nYour answer:"
    )


def _listed(numbers: tuple[int, ...]) -> str:
    return " ".join(map(str, numbers))
