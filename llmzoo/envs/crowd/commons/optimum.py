"""The best that all fishers can do together, and what they do if each thinks of itself.

Both are computed exactly, backwards from the last round, for every stock. A season is finite, so in the last
round nothing is left for later.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from llmzoo.envs.crowd.commons.pond import Pond, grow, share_out


class Plan(NamedTuple):
    """harvests: what is taken in round t of a stock s, as ``harvests[t][s]``. values: what is taken from then
    on, as ``values[t][s]``."""

    harvests: tuple[tuple[int, ...], ...]
    values: tuple[tuple[float, ...], ...]


class Equilibrium(NamedTuple):
    """harvests: what each fisher names in round t at a stock s. values: what each then gets from there on.
    regret: the most that a fisher could gain by naming another number in one round; 0 in an equilibrium."""

    harvests: tuple[tuple[int, ...], ...]
    values: tuple[tuple[float, ...], ...]
    regret: float


@lru_cache(maxsize=8192)
def social_optimum(pond: Pond) -> Plan:
    """The harvest of all fishers together that makes the total of the season largest; of several, the smallest."""
    harvests: list[tuple[int, ...]] = []
    values: list[tuple[float, ...]] = []
    later = (0.0,) * (pond.capacity + 1)
    grown = tuple(grow(pond, left) for left in range(pond.capacity + 1))
    for _ in range(pond.rounds):
        best, worth = [], []
        for stock in range(pond.capacity + 1):
            most = min(stock, pond.fishers * pond.limit)
            totals = [taken + later[grown[stock - taken]] for taken in range(most + 1)]
            worth.append(max(totals))
            best.append(totals.index(worth[-1]))
        later = tuple(worth)
        harvests.insert(0, tuple(best))
        values.insert(0, later)
    return Plan(tuple(harvests), tuple(values))


@lru_cache(maxsize=256)
def selfish_equilibrium(pond: Pond) -> Equilibrium:
    """A symmetric Markov equilibrium: the number that all fishers name depends on the round and the stock, and
    none gains by naming another one, now or later.

    Of several such numbers, the one with which each gets most. Where there is none in whole numbers, the one
    with the least to gain, which ``regret`` then says.
    """
    harvests: list[tuple[int, ...]] = []
    values: list[tuple[float, ...]] = []
    later = (0.0,) * (pond.capacity + 1)
    regret = 0.0
    for _ in range(pond.rounds):
        chosen, worth = [], []
        for stock in range(pond.capacity + 1):
            gain, value, number = min(
                _stage(pond, stock, number, later) for number in range(pond.limit + 1)
            )
            regret = max(regret, gain)
            chosen.append(number)
            worth.append(-value)
        later = tuple(worth)
        harvests.insert(0, tuple(chosen))
        values.insert(0, later)
    return Equilibrium(tuple(harvests), tuple(values), regret)


def _stage(
    pond: Pond, stock: int, number: int, later: tuple[float, ...]
) -> tuple[float, float, int]:
    """Where all name ``number``: what one gains by another number, minus what each gets, and the number."""
    payoffs = [_payoff(pond, stock, own, number, later) for own in range(pond.limit + 1)]
    return round(max(payoffs) - payoffs[number], 9), -payoffs[number], number


def _payoff(pond: Pond, stock: int, own: int, others: int, later: tuple[float, ...]) -> float:
    """What a fisher gets who names ``own`` where all others name ``others``."""
    wanted = (own, *[others] * (pond.fishers - 1))
    return share_out(stock, wanted)[0] + later[grow(pond, max(0, stock - sum(wanted)))]
