"""Scripted reasoners and tools: experts, and noisy experts who make mistakes."""

from __future__ import annotations

import random
import re

from llmzoo.envs.math.tasks import MathTask

_NUMBER = re.compile(r"\d+")


def reasoner_answer(task: MathTask) -> str:
    r"""The answer in a box; braces of a set are written ``\{ \}`` there."""
    return _box(task.answer)


def tool_program(task: MathTask) -> str:
    """The task's program; one that prints the answer where the task has none."""
    return task.program or f"print({task.answer!r})"


def sloppy_reasoner_answer(task: MathTask, rng: random.Random) -> str:
    """Right in four of ten answers; else a number is wrong, the box is missing or it is cut off."""
    kind = rng.randrange(10)
    if kind < 4:
        return _box(task.answer)
    if kind < 8:
        return _box(_change_number(task.answer, rng))
    if kind == 8:
        return task.answer
    return "\\boxed{" + task.answer[: len(task.answer) // 2]


def sloppy_tool_program(task: MathTask, rng: random.Random) -> str:
    """Right in four of ten programs; else a number or an operation is wrong, or the program does not
    parse or prints nothing."""
    written = tool_program(task)
    kind = rng.randrange(10)
    if kind < 4:
        return written
    if kind < 6:
        return _change_number(written, rng)
    if kind < 8:
        return _change_sign(written, rng)
    if kind == 8:
        return written.rstrip(")")
    return written.replace("print(", "(")


def _box(answer: str) -> str:
    if answer.startswith("{"):
        answer = f"\\{answer[:-1]}\\}}"
    return f"\\boxed{{{answer}}}"


def _change_number(text: str, rng: random.Random) -> str:
    """A text with one of its numbers changed: off by one or ten, or with its digits reversed."""
    numbers = [*_NUMBER.finditer(text)]
    if not numbers:
        return text
    number = rng.choice(numbers)
    value = int(number[0][-15:])
    changed = [value + 1, abs(value - 1), value + 10, int(number[0][-15:][::-1])]
    return f"{text[: number.start()]}{rng.choice(changed)}{text[number.end() :]}"


def _change_sign(text: str, rng: random.Random) -> str:
    signs = [
        at
        for at, sign in enumerate(text)
        if sign in "+-*" and text[at - 1 : at + 2].count(" ") == 2
    ]
    if not signs:
        return _change_number(text, rng)
    at = rng.choice(signs)
    return f"{text[:at]}{rng.choice('+-*')}{text[at + 1 :]}"
