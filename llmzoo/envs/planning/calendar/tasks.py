"""What a task is: people with calendars and wishes, the days and hours, and the length of the meeting.

Times are minutes since midnight. Meetings begin on the hour or half hour.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import permutations
from typing import Literal, NamedTuple

DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
STEP = 30  # minutes between two possible starts, and the length of a cell of a calendar
MAX_PEOPLE = 7

Side = Literal["", "before", "after"]


class Slot(NamedTuple):
    """A stretch of time on a day, from ``start`` up to ``end``."""

    day: str
    start: int
    end: int


class Wish(NamedTuple):
    """A time at which a person does not want to meet: a day, or its part before or after ``time``.

    ``day``: None for every day.
    """

    day: str | None
    side: Side
    time: int = 0

    def forbids(self, slot: Slot) -> bool:
        """Whether some of ``slot`` lies in the time that the wish excludes."""
        if self.day not in (None, slot.day):
            return False
        if self.side == "before":
            return slot.start < self.time
        return self.side == "" or slot.end > self.time


@dataclass(frozen=True)
class Person:
    """A person. ``busy``: the times that are taken."""

    name: str
    busy: tuple[Slot, ...]
    wishes: tuple[Wish, ...] = ()

    def can_attend(self, slot: Slot) -> bool:
        """Whether the person is free at ``slot`` and no wish forbids it."""
        day, start, end = slot
        for taken_day, taken, until in self.busy:
            if taken_day == day and taken < end and start < until:
                return False
        return not any(wish.forbids(slot) for wish in self.wishes)


@dataclass(frozen=True)
class MeetingTask:
    """A meeting to plan. ``length``: minutes. ``earliest``: only the first time that suits counts."""

    people: tuple[Person, ...]
    days: tuple[str, ...]
    opens: int
    closes: int
    length: int
    earliest: bool = False

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """All times for the meeting within the work hours, in order."""
        return tuple(
            Slot(day, start, start + self.length)
            for day in self.days
            for start in range(self.opens, self.closes - self.length + 1, STEP)
        )

    @cached_property
    def valid(self) -> tuple[Slot, ...]:
        """The times that suit everyone, in order; of them only the first if ``earliest``."""
        found = tuple(slot for slot in self.slots if all(p.can_attend(slot) for p in self.people))
        return found[:1] if self.earliest else found

    def is_within_hours(self, slot: Slot) -> bool:
        """Whether ``slot`` lies within the work hours of a day, and begins on the hour or half hour."""
        inside = self.opens <= slot.start < slot.end <= self.closes
        return slot.day in self.days and inside and slot.start % STEP == 0


def canonical(task: MeetingTask) -> str:
    """The same text for tasks that differ only by names, by the order of the people or of the days, by
    the hour at which work begins, or by the direction of time, and for busy times and wishes that
    leave the same hours.
    """
    free = [[_half_hours(p, day, task) for day in task.days] for p in task.people]
    backwards = [[day[::-1] for day in days] for days in free]
    smallest = min(
        sorted([days[number] for number in order] for days in weeks)
        for weeks in (free, backwards)
        for order in permutations(range(len(task.days)))
    )
    weeks = "|".join(" ".join(days) for days in smallest)
    return f"{task.length} minutes{', the earliest' if task.earliest else ''}: {weeks}"


def _half_hours(person: Person, day: str, task: MeetingTask) -> str:
    """For each half hour of a work day, 1 if the person can meet then, else 0."""
    cells = ["1"] * len(range(task.opens, task.closes, STEP))
    for busy in person.busy:
        if busy.day == day:
            first = max(0, (busy.start - task.opens) // STEP)
            beyond = max(first, -((task.opens - busy.end) // STEP))
            cells[first:beyond] = "0" * len(cells[first:beyond])
    if person.wishes:
        for number, start in enumerate(range(task.opens, task.closes, STEP)):
            cell = Slot(day, start, start + STEP)
            if any(wish.forbids(cell) for wish in person.wishes):
                cells[number] = "0"
    return "".join(cells)


def format_clock(minutes: int) -> str:
    """``"9:30"`` of 570."""
    return f"{minutes // 60}:{minutes % 60:02}"


def format_slot(slot: Slot) -> str:
    """``"Monday, 9:30 - 10:00"``."""
    return f"{slot.day}, {format_clock(slot.start)} - {format_clock(slot.end)}"
