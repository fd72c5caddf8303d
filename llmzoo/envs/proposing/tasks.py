"""A task: the numbers that a proposal is made of, puzzles that were set before, and one for a solver alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

from llmzoo.envs.proposing.puzzles import Puzzle, Rules, drawn
from llmzoo.envs.tasks import Generated, generated


@dataclass(frozen=True, slots=True)
class Task:
    """``earlier``: puzzles that were set before. ``alone``: what a single agent solves; of all numbers.

    Both follow from the numbers.
    """

    rules: Rules
    earlier: tuple[Puzzle, ...]
    alone: Puzzle


def draw(rng: random.Random, kind: str, numbers: int, most: int, signs: str, earlier: int) -> Task:
    """A random task."""
    rules = Rules(tuple(sorted(rng.sample(range(2, most + 1), numbers))), signs)
    own = random.Random(f"{kind}, {rules.numbers}, {signs}")
    alone = drawn(kind, rules, numbers, own, ())
    before: list[Puzzle] = []
    for _ in range(earlier):
        size = own.randint(2, numbers - 1)  # never all, so that no task gives the lone puzzle away
        before.append(drawn(kind, rules, size, own, [puzzle.key for puzzle in before]))
    return Task(rules, tuple(before), alone)


def canonical(task: Task) -> str:
    return " ".join(map(str, task.rules.numbers))


def tasks_of(
    kind: str, numbers: int, most: int, signs: str, earlier: int, split: str
) -> Generated[Task]:
    return generated(
        draw,
        canonical,
        split=split,
        name=f"propose, {kind}, numbers {numbers}, most {most}, signs {signs}, earlier {earlier}",
        kind=kind,
        numbers=numbers,
        most=most,
        signs=signs,
        earlier=earlier,
    )
