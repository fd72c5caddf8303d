"""The rules of the table: who gets a fork, who eats, and when nobody can go on.

Fork i lies to the left of philosopher i and to the right of philosopher i - 1. Rounds count from 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

LEFT, RIGHT, RELEASE, WAIT = "left", "right", "release", "wait"
ACTIONS = (LEFT, RIGHT, RELEASE, WAIT)


class Guest(NamedTuple):
    """hungry_from: the first round in which this philosopher takes forks. meals: how many it wants.
    eating: the rounds that a meal takes after both forks are held."""

    hungry_from: int
    meals: int
    eating: int


@dataclass(frozen=True, slots=True)
class Table:
    """holders: who holds each fork, None if it is free. eating: the rounds for which each philosopher still
    eats. meals: how many it has had, with the one that it eats."""

    holders: tuple[int | None, ...]
    eating: tuple[int, ...]
    meals: tuple[int, ...]

    def holds(self, philosopher: int) -> tuple[bool, bool]:
        """Whether a philosopher holds its left and its right fork."""
        left, right = forks_of(philosopher, len(self.holders))
        return self.holders[left] == philosopher, self.holders[right] == philosopher


def lay_table(count: int) -> Table:
    """The table before the first round."""
    return Table((None,) * count, (0,) * count, (0,) * count)


def forks_of(philosopher: int, count: int) -> tuple[int, int]:
    """The left and the right fork of a philosopher."""
    return philosopher, (philosopher + 1) % count


def is_hungry(guest: Guest, table: Table, philosopher: int, number: int) -> bool:
    """Whether a philosopher may take forks in round ``number``."""
    return (
        number >= guest.hungry_from
        and not table.eating[philosopher]
        and table.meals[philosopher] < guest.meals
    )


def is_deadlock(table: Table) -> bool:
    """Whether every philosopher holds exactly one fork."""
    return all(sum(table.holds(p)) == 1 for p in range(len(table.holders)))


def play_round(table: Table, guests: Sequence[Guest], number: int, actions: Sequence[str]) -> Table:
    """The table after round ``number``, in which each philosopher does one of ``ACTIONS``.

    1. Who does not eat and writes ``release`` puts its forks down.
    2. A hungry philosopher gets the fork that it takes if it is free now. If both neighbours take it, the
       lower number gets it.
    3. Who eats, eats for a round; after its last one, its forks lie on the table again.
    4. Who now holds both forks has a meal, and begins to eat in the next round.
    """
    count = len(guests)
    holders, eating, meals = list(table.holders), list(table.eating), list(table.meals)
    for philosopher, action in enumerate(actions):
        if action == RELEASE and not eating[philosopher]:
            _put_down(holders, philosopher)
    free = [holder is None for holder in holders]
    for philosopher, action in enumerate(actions):
        if action in (LEFT, RIGHT) and is_hungry(guests[philosopher], table, philosopher, number):
            fork = forks_of(philosopher, count)[action == RIGHT]
            if free[fork] and holders[fork] is None:
                holders[fork] = philosopher
    for philosopher, guest in enumerate(guests):
        if eating[philosopher]:
            eating[philosopher] -= 1
            if not eating[philosopher]:
                _put_down(holders, philosopher)
        elif all(holders[fork] == philosopher for fork in forks_of(philosopher, count)):
            eating[philosopher] = guest.eating
            meals[philosopher] += 1
    return Table(tuple(holders), tuple(eating), tuple(meals))


def _put_down(holders: list[int | None], philosopher: int) -> None:
    for fork in forks_of(philosopher, len(holders)):
        if holders[fork] == philosopher:
            holders[fork] = None
