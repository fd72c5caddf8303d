"""Generated tasks. A family is a module of small functions that each draw one problem."""

from __future__ import annotations

import random

from llmzoo.envs.math.generator import algebra, arithmetic, word_problems
from llmzoo.envs.math.generator.problem import WeightedKinds
from llmzoo.envs.math.tasks import MathTask

FAMILIES: dict[str, WeightedKinds] = {
    "arithmetic": arithmetic.KINDS,
    "algebra": algebra.KINDS,
    "word_problems": word_problems.KINDS,
}
LEVELS = ("easy", "medium", "hard")


def sample_task(
    rng: random.Random, *, family: str | None = None, level: str | None = None
) -> MathTask:
    """A task of a family and a level; ``None`` stands for any."""
    family = family or rng.choice([*FAMILIES])
    level = level or rng.choice(LEVELS)
    kinds = FAMILIES[family][level]
    (kind,) = rng.choices([kind for kind, _ in kinds], [weight for _, weight in kinds])
    problem = kind(rng)
    return MathTask(
        question=problem.question,
        answer=problem.answer,
        family=family,
        level=level,
        program=problem.program,
        terse=problem.terse,
        key=problem.key,
        computed=True,
    )
