"""What is divided, what it is worth to each player, and which divisions are efficient.

A division is the share of player 0: how many of each kind it gets. Player 1 gets the rest.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product

KINDS = ("book", "hat", "ball")
THINGS = (5, 7)  # fewest and most things in all

Share = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Scenario:
    """``pool``: how many there are of each kind. ``worths``: of one thing of each kind, to each player.

    Everything together is worth the same to both (``total``).
    """

    pool: Share
    worths: tuple[Share, Share]

    @property
    def total(self) -> int:
        return self.worth(0, self.pool)

    def worth(self, player: int, share: Share) -> int:
        """What a share is worth to a player, 0 to ``total``."""
        return sum(n * worth for n, worth in zip(share, self.worths[player], strict=True))

    def rest(self, share: Share) -> Share:
        """What is left of the pool."""
        books, hats, balls = (n - taken for n, taken in zip(self.pool, share, strict=True))
        return books, hats, balls

    def shares(self) -> tuple[Share, ...]:
        """All shares of the pool."""
        return _possible_shares(self.pool)

    def payoffs(self, division: Share) -> tuple[int, int]:
        """What a division is worth to each player."""
        return self.worth(0, division), self.worth(1, self.rest(division))

    def is_efficient(self, division: Share) -> bool:
        """Whether no other division is worth more to one player and no less to the other (Pareto)."""
        first, second = self.payoffs(division)
        return not any(
            a >= first and b >= second and (a, b) != (first, second)
            for a, b in map(self.payoffs, self.shares())
        )

    def fair_division(self) -> Share:
        """The division with the largest product of both worths (Nash), which is efficient."""
        return max(self.shares(), key=self._fairness)

    def most(self) -> int:
        """The largest sum of both worths."""
        return max(map(sum, map(self.payoffs, self.shares())))

    def _fairness(self, division: Share) -> tuple[int, int, Share]:
        first, second = self.payoffs(division)
        return first * second, first + second, division


def sample_scenario(rng: random.Random, total: int) -> Scenario:
    """A random scenario in which everything is worth ``total`` to each player.

    As in the data of Lewis et al. (arXiv 1706.05125), there are 5 to 7 things of three kinds, each kind is
    worth something to at least one of the players, and at least one kind to both.
    """
    while True:
        pool = rng.choice(_possible_pools())
        first, second = (
            rng.choice(_possible_worths(pool, total)),
            rng.choice(_possible_worths(pool, total)),
        )
        both = [a and b for a, b in zip(first, second, strict=True)]
        either = [a or b for a, b in zip(first, second, strict=True)]
        if any(both) and all(either):
            return Scenario(pool, (first, second))


def canonical(scenario: Scenario) -> str:
    """The scenario without the names of kinds and of players."""
    kinds = list(zip(scenario.pool, *scenario.worths, strict=True))
    swapped = [(n, second, first) for n, first, second in kinds]
    return str(min(list(p) for view in (kinds, swapped) for p in permutations(view)))


@lru_cache(maxsize=256)
def _possible_shares(pool: Share) -> tuple[Share, ...]:
    books, hats, balls = (range(n + 1) for n in pool)
    return tuple(product(books, hats, balls))


@lru_cache(maxsize=1)
def _possible_pools() -> tuple[Share, ...]:
    counts = range(1, THINGS[1])
    return tuple(p for p in product(counts, counts, counts) if THINGS[0] <= sum(p) <= THINGS[1])


@lru_cache(maxsize=256)
def _possible_worths(pool: Share, total: int) -> tuple[Share, ...]:
    """The worths with which everything is worth ``total``."""
    one = range(total + 1)
    return tuple(
        worth
        for worth in product(one, one, one)
        if sum(n * w for n, w in zip(pool, worth, strict=True)) == total
    )
