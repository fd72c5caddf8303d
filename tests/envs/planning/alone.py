"""The most that an agent can know of the valid times from its own calendar, by exact sums.

The generator makes every half hour of the other person's calendar free with the same chance, and keeps
a draw with the right number of valid times and with enough times for each person. So the probability
that a time is valid, given one's own calendar, is a sum over all calendars of the other, here computed
cell by cell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llmzoo.envs.planning.calendar.generator import MAX_VALID_SLOTS
from llmzoo.envs.planning.calendar.tasks import DAYS, STEP, MeetingTask, Slot, Wish

State = tuple[int, int, int]  # free cells in a row, own starts (capped), common starts (capped)


def best_guess(task: MeetingTask, person: int, *, slots: int, wishes: bool) -> tuple[float, Slot]:
    """The highest probability of any time to be valid for two people, and that time, given what the
    agent of ``person`` knows of the task."""
    own = task.people[person]
    starts = [slot for slot in task.slots if own.can_attend(slot)]
    chance = min(1.0, slots / len(task.slots)) ** (STEP / (2 * task.length))
    kinds = list(_wishes(task)) if wishes else [(1.0, None)]

    def mass(guess: Slot | None) -> float:
        return sum(p * _mass(task, own.can_attend, wish, guess, chance, slots) for p, wish in kinds)

    whole = mass(None)
    return max(((mass(guess) / whole, guess) for guess in starts), key=lambda found: found[0])


def _wishes(task: MeetingTask) -> Iterator[tuple[float, Wish | None]]:
    """The other person's wishes and how likely each is."""
    yield 0.5, None
    shifts = [STEP * n for n in range(1, 2 + (task.closes - task.opens) // 120)]
    share = 0.5 / (3 if len(task.days) > 1 else 2)
    for shift in shifts:
        yield share / len(shifts), Wish(None, "before", task.opens + shift)
        yield share / len(shifts), Wish(None, "after", task.closes - shift)
    if len(task.days) > 1:
        for day in task.days:
            yield share / len(task.days), Wish(day, "")


def _mass(task, can, wish, guess, chance: float, slots: int) -> float:
    """The probability of all calendars of the other person with this wish that fit, and in which the
    time ``guess``, if one is given, is free."""
    width, least = task.length // STEP, MAX_VALID_SLOTS * slots
    states: dict[State, float] = {(0, 0, 0): 1.0}
    for day in task.days:
        states = _joined((0, own, both, p) for (_, own, both), p in states.items())
        for start in range(task.opens, task.closes, STEP):
            cell = Slot(day, start, start + STEP)
            open_now = 0.0 if wish is not None and wish.forbids(cell) else chance
            forced = guess is not None and guess.day == day and guess.start <= start < guess.end
            meeting = Slot(day, start + STEP - task.length, start + STEP)
            mine = meeting.start >= task.opens and can(meeting)
            following: list[tuple[int, int, int, float]] = []
            for (run, own, both), p in states.items():
                longer = min(run + 1, width)
                full = longer == width
                now = min(own + full, least), min(both + (full and mine), slots + 1)
                following.append((longer, *now, p * open_now))
                if not forced:
                    following.append((0, own, both, p * (1 - open_now)))
            states = _joined(following)
    return sum(p for (_, own, both), p in states.items() if own == least and both == slots)


def _joined(weighted) -> dict[State, float]:
    states: dict[State, float] = {}
    for run, own, both, p in weighted:
        states[run, own, both] = states.get((run, own, both), 0.0) + p
    return states


def days_of(masks: Sequence[int], cells: int, opens: int) -> tuple[Slot, ...]:
    """The busy half hours of calendars given as bits of free ones."""
    return tuple(
        Slot(DAYS[day], opens + STEP * cell, opens + STEP * (cell + 1))
        for day, free in enumerate(masks)
        for cell in range(cells)
        if not free >> cell & 1
    )
