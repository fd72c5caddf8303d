"""A task: the numbers that a proposal is made of, puzzles that were set before, and one for a solver alone."""

from __future__ import annotations

import random
from dataclasses import dataclass

from llmzoo.envs.proposing.puzzles import Puzzle, PuzzleRules, sample_puzzle
from llmzoo.envs.tasks import GeneratedTasks, generate_tasks


@dataclass(frozen=True, slots=True)
class ProposeTask:
    """``earlier``: puzzles that were set before. ``alone``: what a single agent solves; of all numbers.

    Both follow from the numbers.
    """

    rules: PuzzleRules
    earlier: tuple[Puzzle, ...]
    alone: Puzzle


def sample_task(
    rng: random.Random, kind: str, numbers: int, most: int, signs: str, earlier: int
) -> ProposeTask:
    """A random task."""
    rules = PuzzleRules(tuple(sorted(rng.sample(range(2, most + 1), numbers))), signs)
    own = random.Random(f"{kind}, {rules.numbers}, {signs}")
    alone = sample_puzzle(kind, rules, numbers, own, ())
    before: list[Puzzle] = []
    for _ in range(earlier):
        size = own.randint(2, numbers - 1)  # never all, so that no task gives the lone puzzle away
        before.append(sample_puzzle(kind, rules, size, own, [puzzle.key for puzzle in before]))
    return ProposeTask(rules, tuple(before), alone)


def canonical(task: ProposeTask) -> str:
    return " ".join(map(str, task.rules.numbers))


def make_tasks(
    kind: str, numbers: int, most: int, signs: str, earlier: int, split: str
) -> GeneratedTasks[ProposeTask]:
    return generate_tasks(
        sample_task,
        canonical,
        split=split,
        name=f"propose, {kind}, numbers {numbers}, most {most}, signs {signs}, earlier {earlier}",
        kind=kind,
        numbers=numbers,
        most=most,
        signs=signs,
        earlier=earlier,
    )
