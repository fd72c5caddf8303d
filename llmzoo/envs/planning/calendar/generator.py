"""Draws tasks with a given number of times that suit everyone.

Each half hour of each calendar is free with the same probability, which is chosen so that the wanted
number of valid times is likely; a draw counts if it has exactly that number. Nobody's own calendar
gives the answer away: each leaves at least ``AMPLE`` times as many times as there are valid ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from llmzoo.envs.argument_checks import check_range
from llmzoo.envs.planning.calendar.tasks import (
    DAYS,
    MAX_PEOPLE,
    STEP,
    MeetingTask,
    Person,
    Slot,
    Wish,
)
from llmzoo.errors import ConfigError

MAX_VALID_SLOTS = 3
LENGTHS = (30, 60)  # minutes, one of which is drawn where no length is given
NAMES = (
    *("Ada", "Bela", "Chidi", "Dana", "Emre", "Farah", "Goran", "Hana", "Ines", "Jonas", "Kofi"),
    *("Lena", "Mateo", "Nadia", "Otto", "Priya", "Quinn", "Rosa", "Sven", "Tomas", "Uma", "Vera"),
)
_MAX_TRIES = 5_000


class CalendarLevel(NamedTuple):
    """``slots``: the number of times that suit everyone. ``wishes``: people may have one each."""

    days: int
    slots: int
    wishes: bool


LEVELS = {
    "easy": CalendarLevel(1, 2, False),
    "normal": CalendarLevel(2, 1, False),
    "hard": CalendarLevel(5, 1, True),
}


def check_arguments(
    people: int, days: int, slots: int, length: int | None, opens: int, closes: int
) -> None:
    """Raises ``ConfigError`` for tasks that cannot be drawn."""
    check_range("people", people, 2, MAX_PEOPLE)
    check_range("days", days, 1, len(DAYS))
    if not 0 <= opens < closes <= 24:
        raise ConfigError(
            f"opens and closes are hours of a day, opens first; got {opens}, {closes}"
        )
    longest = 60 * (closes - opens)
    if length is None and longest < max(LENGTHS):
        raise ConfigError(
            f"{opens} to {closes} is too short for a meeting of an hour; give length=30"
        )
    if length is not None and not (0 < length <= longest and length % STEP == 0):
        raise ConfigError(f"length must be a multiple of {STEP} up to {longest}, got {length}")
    if slots < 1:
        raise ConfigError(f"slots must be at least 1, got {slots}")


def sample_task(
    rng: random.Random,
    *,
    people: int,
    days: int,
    slots: int,
    wishes: bool,
    length: int | None = None,
    opens: int = 9,
    closes: int = 17,
) -> MeetingTask:
    """A task with exactly ``slots`` valid times. ``opens``, ``closes``: hours.

    Raises ``ConfigError`` if there is none in thousands of draws.
    """
    minutes = rng.choice(LENGTHS) if length is None else length
    cells, width = 2 * (closes - opens), minutes // STEP
    starts = days * (cells - width + 1)
    chance = min(1.0, slots / starts) ** (1 / (people * width))
    for _ in range(_MAX_TRIES):
        wanted = [_sample_wish(rng, days, opens, closes) if wishes else None for _ in range(people)]
        calendars = [
            [_sample_free_bits(rng, cells, chance) for _ in range(days)] for _ in range(people)
        ]
        masks = [
            [free & ~_wish_mask(wish, day, opens, cells) for day, free in enumerate(calendar)]
            for calendar, wish in zip(calendars, wanted, strict=True)
        ]
        together = [_intersect_masks(person[day] for person in masks) for day in range(days)]
        if _count_starts(together, width) != slots:
            continue
        if min(_count_starts(person, width) for person in masks) >= MAX_VALID_SLOTS * slots:
            break
    else:
        raise ConfigError(
            f"no {days} days from {opens} to {closes} with {slots} times that suit {people} people "
            f"for {minutes} minutes in {_MAX_TRIES} draws; lower slots or length, or add days"
        )
    return MeetingTask(
        tuple(
            Person(name, _busy_slots(calendar, opens, cells), () if wish is None else (wish,))
            for name, calendar, wish in zip(
                rng.sample(NAMES, people), calendars, wanted, strict=True
            )
        ),
        DAYS[:days],
        60 * opens,
        60 * closes,
        minutes,
    )


def _sample_free_bits(rng: random.Random, cells: int, chance: float) -> int:
    """The free half hours of a day, the lowest bit first."""
    return sum(1 << cell for cell in range(cells) if rng.random() < chance)


def _sample_wish(rng: random.Random, days: int, opens: int, closes: int) -> Wish | None:
    """No wish in half of the draws; else "not before", "not after", or, of several days, "not on"."""
    if rng.random() < 0.5:
        return None
    kind = rng.choice(("before", "after", "day") if days > 1 else ("before", "after"))
    if kind == "day":
        return Wish(rng.choice(DAYS[:days]), "")
    shift = STEP * rng.randrange(1, 2 + (closes - opens) // 2)
    if kind == "before":
        return Wish(None, "before", 60 * opens + shift)
    return Wish(None, "after", 60 * closes - shift)


def _wish_mask(wish: Wish | None, day: int, opens: int, cells: int) -> int:
    """The half hours of a day that a wish excludes, as bits."""
    if wish is None:
        return 0
    starts = (60 * opens + STEP * cell for cell in range(cells))
    return sum(
        1 << cell
        for cell, start in enumerate(starts)
        if wish.forbids(Slot(DAYS[day], start, start + STEP))
    )


def _intersect_masks(masks: Iterable[int]) -> int:
    both = -1
    for mask in masks:
        both &= mask
    return both


def _count_starts(days: Sequence[int], width: int) -> int:
    """The number of starts from which ``width`` half hours are free."""
    count = 0
    for free in days:
        run = free
        for shift in range(1, width):
            run &= free >> shift
        count += run.bit_count()
    return count


def _busy_slots(calendar: Sequence[int], opens: int, cells: int) -> tuple[Slot, ...]:
    """The taken half hours, joined where they touch."""
    taken: list[Slot] = []
    for day, free in zip(DAYS, calendar, strict=False):
        for cell in range(cells):
            start = 60 * opens + STEP * cell
            if free >> cell & 1:
                continue
            if taken and taken[-1].day == day and taken[-1].end == start:
                taken[-1] = taken[-1]._replace(end=start + STEP)
            else:
                taken.append(Slot(day, start, start + STEP))
    return tuple(taken)
