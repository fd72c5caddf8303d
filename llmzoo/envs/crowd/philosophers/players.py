"""The scripted expert: it follows the shortest dinner, which it finds from the guests that its prompt lists."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.envs.crowd.philosophers.schedule import Meals, scheduled_action
from llmzoo.envs.crowd.philosophers.table import (
    LEFT,
    RELEASE,
    RIGHT,
    WAIT,
    Guest,
    Table,
    forks_of,
    is_hungry,
)


def choose_action(
    table: Table, guests: Sequence[Guest], number: int, philosopher: int, meals: Meals
) -> str:
    """The action of a philosopher in round ``number``, whose schedule is ``meals``.

    It reads no more than its prompt says: its own forks and meals, and which of its two forks are free. As
    long as these are as scheduled, it follows the schedule. Otherwise it takes the fork with the lower number
    first, then the other; by this order, philosophers who follow it never deadlock.
    """
    holds = table.holds(philosopher)
    if not table.eating[philosopher] and (table.meals[philosopher], holds) == _scheduled(
        meals, number
    ):
        return scheduled_action(meals, number)
    if not is_hungry(guests[philosopher], table, philosopher, number):
        return WAIT
    forks = forks_of(philosopher, len(guests))
    low = 0 if forks[0] < forks[1] else 1
    if holds[1 - low] and not holds[low]:  # the wrong one first
        return (LEFT, RIGHT)[low] if table.holders[forks[low]] is None else RELEASE
    wanted = 1 - low if holds[low] else low
    return (LEFT, RIGHT)[wanted] if table.holders[forks[wanted]] is None else WAIT


def _scheduled(meals: Meals, number: int) -> tuple[int, tuple[bool, bool]]:
    """The meals so far and the forks held at the start of round ``number``, where the philosopher does not
    eat and its schedule has gone well."""
    begun = [meal for meal in meals if meal.start < number]
    if begun and begun[-1].start == number - 1:
        right = begun[-1].right_first
        return len(begun) - 1, (not right, right)
    return len(begun), (False, False)
