"""Scripted assistants: a pair that finds a time through messages alone, and noisy experts who err.

A message lists the times at which the own person can come: ``Mon 9-10:30 12-14; Tue 15-16``.
A proposal is the earliest time that suits the own person and lies in what each message offers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from llmzoo.envs.planning.calendar.scoring import DAY, SPAN, make_slot
from llmzoo.envs.planning.calendar.tasks import (
    STEP,
    MeetingTask,
    Person,
    Slot,
    format_clock,
    format_slot,
)

_TOKEN = re.compile(rf"{DAY}|{SPAN}", re.IGNORECASE)


def suitable_times(person: Person, task: MeetingTask) -> list[Slot]:
    """The stretches of time in which the meeting suits ``person``."""
    free: list[Slot] = []
    for slot in task.slots:
        if not person.can_attend(slot):
            continue
        if free and free[-1].day == slot.day and slot.start <= free[-1].end:
            joined = free[-1]._replace(end=slot.end)
            if person.can_attend(joined):
                free[-1] = joined
                continue
        free.append(slot)
    return free


def format_message(stretches: Iterable[Slot], limit: int) -> str:
    """A message that lists stretches of time; those that do not fit into ``limit`` characters are left out."""
    message, day = "", ""
    for slot in stretches:
        span = f"{_format_clock(slot.start)}-{_format_clock(slot.end)}"
        heading = "" if slot.day == day else f"{'; ' * bool(message)}{slot.day[:3]}"
        more = f"{heading} {span}"
        if len(message) + len(more) > limit:
            break
        message, day = message + more, slot.day
    return message or "no time"


def parse_message(message: str) -> list[Slot]:
    """The stretches of time that a message lists."""
    found: list[Slot] = []
    day = ""
    for match in _TOKEN.finditer(message):
        name, *digits = match.groups()
        day = name or day
        if day and not name:
            found.append(make_slot(day, *digits))
    return found


def common_times(person: Person, messages: Sequence[str], task: MeetingTask) -> list[Slot]:
    """The times that suit ``person`` and every message that lists any."""
    messages_slots = [stretches for stretches in map(parse_message, messages) if stretches]
    return [
        slot
        for slot in task.slots
        if person.can_attend(slot) and all(_is_within(slot, each) for each in messages_slots)
    ]


def expert_message(person: Person, limit: int, task: MeetingTask) -> str:
    return format_message(suitable_times(person, task), limit)


def expert_proposal(person: Person, messages: Sequence[str], task: MeetingTask) -> str:
    """The earliest common time; without one, the earliest that suits the own person."""
    alone = [slot for slot in task.slots if person.can_attend(slot)]
    return format_slot((common_times(person, messages, task) or alone or task.slots)[0])


def noisy_expert_message(person: Person, limit: int, task: MeetingTask, rng: random.Random) -> str:
    """The free times, often with a mistake: half of them, all of them half an hour late, the
    hours of the day instead, no times at all, or more than a message may hold."""
    free = suitable_times(person, task)
    slip = rng.choice((*["none"] * 7, "half", "late", "hours", "vague", "long"))
    if slip == "half":
        return format_message(rng.sample(free, (len(free) + 1) // 2), limit)
    if slip == "late":
        return format_message(
            (s._replace(start=s.start + STEP, end=s.end + STEP) for s in free), limit
        )
    if slip == "hours":
        return format_message((Slot(day, task.opens, task.closes) for day in task.days), limit)
    if slip == "vague":
        return f"{person.name} is busy, but any time that suits you may do."
    if slip == "long":
        return (
            f"{person.name} can come then: {format_message(free, limit)}. "
            + "Please write soon. " * 40
        )
    return format_message(free, limit)


def noisy_expert_proposal(
    person: Person, messages: Sequence[str], task: MeetingTask, rng: random.Random
) -> str:
    """A common time, often with a mistake: a time that suits the own person only, the last common
    one, a wrong length, or no time at all."""
    alone = [slot for slot in task.slots if person.can_attend(slot)] or list(task.slots)
    both = common_times(person, messages, task) or alone
    slip = rng.choice((*["none"] * 7, "alone", "last", "length", "silent"))
    if slip == "alone":
        return format_slot(rng.choice(alone))
    if slip == "last":
        return f"How about {format_slot(both[-1])}?"
    if slip == "length":
        return format_slot(both[0]._replace(end=both[0].end + STEP))
    if slip == "silent":
        return "Let us meet as soon as we can."
    return f"I propose:\n{format_slot(both[0])}"


def _is_within(slot: Slot, stretches: Iterable[Slot]) -> bool:
    return any(s.day == slot.day and s.start <= slot.start and slot.end <= s.end for s in stretches)


def _format_clock(minutes: int) -> str:
    return format_clock(minutes).removesuffix(":00")
