"""Scripted players: who sets puzzles for a solver of known strength, and that solver.

A solver's strength is how often it gets each operation wrong (``SLIPS`` of the sloppy one).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import product

from llmzoo.envs.proposing.difficulty import expected_difficulty
from llmzoo.envs.proposing.puzzles import (
    KINDS,
    ProposalRefused,
    Puzzle,
    PuzzleRules,
    chain_expression,
    sample_puzzle,
)
from llmzoo.envs.proposing.tasks import ProposeTask


def best_proposal(
    kind: str, task: ProposeTask, difficulty: str, attempts: int, slips: Mapping[str, float]
) -> Puzzle:
    """The candidate that is worth most on average against a solver who errs as ``slips`` says."""
    taken = [puzzle.key for puzzle in task.earlier]
    fresh = [p for p in candidates(kind, task.rules) if p.key not in taken]
    return max(fresh, key=lambda p: expected_difficulty(difficulty, p.chance(slips), attempts))


@lru_cache(maxsize=256)
def candidates(kind: str, rules: PuzzleRules) -> tuple[Puzzle, ...]:
    """Puzzles of the first numbers, joined from left to right by all lists of signs."""
    return tuple(_candidates(kind, rules))


def _candidates(kind: str, rules: PuzzleRules) -> Iterator[Puzzle]:
    for size in range(2, len(rules.numbers) + 1):
        for numbers in (rules.numbers[:size], rules.numbers[-size:][::-1]):
            for signs in product(rules.signs, repeat=size - 1):
                try:
                    yield KINDS[kind].from_expression(chain_expression(numbers, signs), rules)
                except ProposalRefused:
                    continue


def sloppy_proposal(kind: str, task: ProposeTask, rng: random.Random) -> Puzzle:
    """A puzzle of random size that the rules allow, whatever its difficulty."""
    size = rng.randint(2, len(task.rules.numbers))
    return sample_puzzle(kind, task.rules, size, rng, [puzzle.key for puzzle in task.earlier])


def sloppy_answer(puzzle: Puzzle, slips: Mapping[str, float], rng: random.Random) -> str:
    """The right answer with the chance that follows from ``slips``, otherwise a mistake."""
    right = rng.random() < puzzle.chance(slips)
    return puzzle.solution() if right else puzzle.wrong_answer(rng)
