"""The rules of the pond: how fish grow, when they die out, and who gets how many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pond:
    """A pond and a season.

    fishers: how many fish there. capacity: the most fish. rate: growth of few fish, in percent a round.
    fewest: with fewer fish left, all die. start: fish in the first round. limit: fish that a fisher may take
    in a round. rounds: of the season.
    """

    fishers: int
    capacity: int
    rate: int
    fewest: int
    start: int
    limit: int
    rounds: int


def growth(pond: Pond, left: int) -> int:
    """How many fish are born where ``left`` are left: rate · left · (1 - left / capacity), rounded down."""
    return pond.rate * left * (pond.capacity - left) // (100 * pond.capacity)


def grow(pond: Pond, left: int) -> int:
    """The fish of the next round where ``left`` are left; 0 if these are too few."""
    return 0 if left < pond.fewest else left + growth(pond, left)


def share_out(stock: int, wanted: Sequence[int]) -> tuple[float, ...]:
    """What each fisher gets. If all want more than there is, each gets what it wants up to one level, which is
    the same for all and uses up the stock."""
    if sum(wanted) <= stock:
        return tuple(map(float, wanted))
    shares = [0.0] * len(wanted)
    remaining = float(stock)
    by_want = sorted(range(len(wanted)), key=lambda fisher: wanted[fisher])
    for place, fisher in enumerate(by_want):
        shares[fisher] = min(wanted[fisher], remaining / (len(wanted) - place))
        remaining -= shares[fisher]
    return tuple(shares)
