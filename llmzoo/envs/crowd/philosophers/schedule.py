"""The shortest dinner: in how few rounds all philosophers can have all their meals, and how.

A meal that begins in round t holds its first fork in rounds t to t + 1 + eating, and its second one from
round t + 1 on. It counts at the end of round t + 1. Nothing is gained by holding a fork for longer, so
a schedule is a list of first rounds and of the forks taken first. Neighbours must not hold the fork between
them in the same round, and nothing else matters. Hence a closed walk around the table decides: one step for
each fork, between the schedules of the two who share it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from llmzoo.envs.crowd.philosophers.table import LEFT, RIGHT, WAIT, Guest


class Meal(NamedTuple):
    """start: the round of the first fork. right_first: whether that is the right one."""

    start: int
    right_first: bool


Meals = tuple[Meal, ...]


class Dinner(NamedTuple):
    """rounds: how many it takes. meals: of each philosopher."""

    rounds: int
    meals: tuple[Meals, ...]


@lru_cache(maxsize=8192)
def plan_dinner(guests: tuple[Guest, ...]) -> Dinner:
    """The shortest dinner of all guests.

    The time is that of a few products of n matrices whose sides are the number of schedules of a guest, some
    hundred at most.
    """
    rounds = max(guest.hungry_from for guest in guests)
    while (meals := fit_meals(guests, rounds)) is None:
        rounds += 1
    return Dinner(rounds, meals)


def fit_meals(guests: Sequence[Guest], rounds: int) -> tuple[Meals, ...] | None:
    """Meals for all guests within ``rounds``; None if there is no such schedule."""
    options = [list(list_schedules(guest, rounds)) for guest in guests]
    if not all(options):
        return None
    held = [
        np.array([_held_rounds(meals, guest.eating) for meals in own])  # [schedules, 2]: bit masks
        for own, guest in zip(options, guests, strict=True)
    ]
    count = len(guests)
    fits = [  # [schedules of p, schedules of p + 1]: whether they share the fork between them
        (held[p][:, 1][:, None] & held[(p + 1) % count][:, 0][None, :]) == 0 for p in range(count)
    ]
    reaches = [fits[-1]]  # from a schedule of philosopher p on to one of philosopher 0
    for fit in reversed(fits[:-1]):
        reaches.insert(0, fit.astype(np.float32) @ reaches[0].astype(np.float32) > 0)
    closed = np.flatnonzero(reaches[0].diagonal())
    if not len(closed):
        return None
    first = chosen = int(closed[0])
    walk = [first]
    for fit, reach in zip(fits[:-1], reaches[1:], strict=True):
        chosen = int(np.flatnonzero(fit[chosen] & reach[:, first])[0])
        walk.append(chosen)
    return tuple(own[index] for own, index in zip(options, walk, strict=True))


def list_schedules(guest: Guest, rounds: int) -> Iterator[Meals]:
    """All ways in which a guest can have its meals within ``rounds``, if nobody is in its way."""

    def extend(meals: Meals, start: int) -> Iterator[Meals]:
        if len(meals) == guest.meals:
            yield meals
            return
        for first in range(start, rounds - 1):
            for right_first in (False, True):
                yield from extend((*meals, Meal(first, right_first)), first + 2 + guest.eating)

    return extend((), guest.hungry_from)


def scheduled_action(meals: Meals, number: int) -> str:
    """What a philosopher with these meals does in round ``number``."""
    for start, right_first in meals:
        if number == start:
            return RIGHT if right_first else LEFT
        if number == start + 1:
            return LEFT if right_first else RIGHT
    return WAIT


def _held_rounds(meals: Meals, eating: int) -> tuple[int, int]:
    """The rounds in which the left and the right fork are held, as bits."""
    left = right = 0
    for start, right_first in meals:
        second = ((1 << (1 + eating)) - 1) << (start + 1)
        first = second | 1 << start
        left |= second if right_first else first
        right |= first if right_first else second
    return left, right
