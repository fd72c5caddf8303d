"""Reads proposals and judges them. Pure functions.

The reward components: form to others are an agent's own, for its proposal; agree and meeting are the
team's, for all proposals.

* form: one time can be read; length: the meeting has its length; hours: it lies within the work hours
  of a day and begins on the hour or half hour.
* own: the agent's own person can come. others: the share of the other people who can come. Both count only
  for a time of the right length within the work hours, and ``others`` only if ``own`` holds.
* agree: all agents propose the same time, weighted by the share of people who can come then.
* meeting: all agents propose the same time, and it is a valid one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from llmzoo.envs.base import MAX_ACTION_CHARS
from llmzoo.envs.planning.calendar.tasks import DAYS, MeetingTask, Slot
from llmzoo.envs.text import MalformedError

FORM, LENGTH, HOURS, OWN, OTHERS = 0.02, 0.02, 0.02, 0.04, 0.4
AGREE, MEETING = 0.05, 0.95

TIME = r"(\d{1,2})(?::(\d{2}))?"
SPAN = rf"{TIME}\s*(?:-|–|to\b)\s*{TIME}(?![\d:])"
DAY = r"\b(Mon|Tue|Wed|Thu|Fri)(?:[a-z]{3,6})?\b"
_CLOCK = rf"{TIME}(?:\s?([ap])\.?m\b\.?)?"  # 14:30, or 2:30 PM
_SLOT = re.compile(
    rf"{DAY}\**[,:]?\s{{0,3}}(?:(?:from|at)\s)?{_CLOCK}\s*(?:-|–|—|to\b|until\b)\s*{_CLOCK}(?![\d:])",
    re.IGNORECASE,
)
_NOON = 12 * 60
_FULL = {day[:3].lower(): day for day in DAYS}


def parse_proposal(text: str) -> Slot:
    """The time that an answer proposes: the one in the last line that names a time with its day.

    Raises :class:`MalformedError` if there is none, or if that line names several.
    """
    if len(text) > MAX_ACTION_CHARS:
        raise MalformedError(f"answer longer than {MAX_ACTION_CHARS} characters")
    for line in reversed(text.splitlines()):
        found = {_slot_from_match(*match.groups()) for match in _SLOT.finditer(line)}
        if len(found) > 1:
            raise MalformedError(f"{len(found)} times instead of one")
        if found:
            return found.pop()
    raise MalformedError("no time such as: Monday, 9:00 - 10:00")


def _slot_from_match(day: str, *parts: str | None) -> Slot:
    """The slot of a match: hour, minute and half of the day of both times. If only one of them names the
    half, the other is the nearest time of that name before the end, or after the start."""
    halves = [half and half.lower() for half in (parts[2], parts[5])]
    slot = make_slot(day, *parts[:2], *parts[3:5])
    times = [
        time if half is None or time >= _NOON + 60 else time % _NOON + _NOON * (half == "p")
        for time, half in zip((slot.start, slot.end), halves, strict=True)
    ]
    start, end = times
    if halves[0] is None and halves[1] is not None and start < _NOON + 60:
        start = max((t for t in (start % _NOON, start % _NOON + _NOON) if t < end), default=start)
    if halves[1] is None and halves[0] is not None and end < _NOON + 60:
        end = min((t for t in (end % _NOON, end % _NOON + _NOON) if t > start), default=end)
    return Slot(slot.day, start, end)


def make_slot(day: str, *digits: str | None) -> Slot:
    """The slot of a day's name, which may be cut after three letters, and of two times, each in hours and
    minutes, which may be None."""
    hour, minute, end_hour, end_minute = (int(number or 0) for number in digits)
    return Slot(_FULL[day[:3].lower()], 60 * hour + minute, 60 * end_hour + end_minute)


def attendance(slot: Slot, task: MeetingTask) -> list[bool]:
    """For each person, whether they can come; nobody to a time of the wrong length or outside work."""
    if slot.end - slot.start != task.length or not task.is_within_hours(slot):
        return [False] * len(task.people)
    return [person.can_attend(slot) for person in task.people]


def own_reward_components(slot: Slot | None, person: int, task: MeetingTask) -> dict[str, float]:
    """The parts of the agent of ``person`` (a number) for its proposal; None: it cannot be read."""
    if slot is None:
        return dict.fromkeys(("form", "length", "hours", "own", "others"), 0.0)
    can = attendance(slot, task)
    own = can.pop(person)
    return {
        "form": FORM,
        "length": LENGTH * (slot.end - slot.start == task.length),
        "hours": HOURS * task.is_within_hours(slot),
        "own": OWN * own,
        "others": OTHERS * own * sum(can) / len(can),
    }


def team_reward_components(slots: Sequence[Slot | None], task: MeetingTask) -> dict[str, float]:
    """The team's parts for the proposals of all agents."""
    first = slots[0]
    if first is None or any(slot != first for slot in slots):
        return {"agree": 0.0, "meeting": 0.0}
    can = attendance(first, task)
    return {
        "agree": AGREE * sum(can) / len(can),
        "meeting": MEETING * (first in task.valid),
    }


def explain_error(slot: Slot, person: int, task: MeetingTask) -> str:
    """What is wrong with a proposal by what its agent knows; "" for nothing."""
    if slot.end - slot.start != task.length:
        return f"the meeting lasts {task.length} minutes"
    if not task.is_within_hours(slot):
        return "outside the work hours, or not on the hour or half hour"
    own = task.people[person]
    return "" if own.can_attend(slot) else f"{own.name} cannot come then"
