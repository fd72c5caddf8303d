"""What a puzzle's difficulty is worth to its proposer: functions of how many of n answers are right.

The answers are independent, each right with the same chance p. The functions are what published
self-play reasoners pay, with the share of right answers in place of p.
"""

from __future__ import annotations

import math
from collections.abc import Callable


def absolute_zero(right: int, attempts: int) -> float:
    """1 - share of right answers; 0 if all or none are right (Absolute Zero, arXiv 2505.03335).

    Worth (1 - p) - (1 - p)**n on average: the most where 1 - p is n**(-1 / (n - 1)).
    """
    return 0.0 if right in (0, attempts) else 1.0 - right / attempts


def r_zero(right: int, attempts: int) -> float:
    """1 - 2 |share - 1/2|: the most where half of the answers are right (R-Zero, arXiv 2508.05004)."""
    return 1.0 - abs(2.0 * right / attempts - 1.0)


def pairs(right: int, attempts: int) -> float:
    """The share of the pairs of answers of which one is right.

    Worth 2 p (1 - p) on average, whatever n is: twice the variance of an answer, which is the
    learnability of "No Regrets" (arXiv 2408.15099) but for the factor. The other functions depend on n.
    """
    return right * (attempts - right) / math.comb(attempts, 2)


DIFFICULTIES: dict[str, Callable[[int, int], float]] = {
    "absolute_zero": absolute_zero,
    "r_zero": r_zero,
    "pairs": pairs,
}


def expected_difficulty(difficulty: str, chance: float, attempts: int) -> float:
    """What a puzzle is worth on average if each answer is right with probability ``chance``."""
    worth = DIFFICULTIES[difficulty]
    return sum(
        math.comb(attempts, right)
        * chance**right
        * (1 - chance) ** (attempts - right)
        * worth(right, attempts)
        for right in range(attempts + 1)
    )
