"""Scripted assistants: a pair that finds a time through messages alone, and amateurs who err.

A message lists the times at which the own person can come: ``Mon 9-10:30 12-14; Tue 15-16``.
A proposal is the earliest time that suits the own person and lies in what each message offers.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Sequence

from llmzoo.envs.planning.calendar.scoring import DAY, SPAN, slot_of
from llmzoo.envs.planning.calendar.tasks import STEP, MeetingTask, Person, Slot, clock, written

_TOKEN = re.compile(rf"{DAY}|{SPAN}", re.IGNORECASE)


def offers(person: Person, task: MeetingTask) -> list[Slot]:
    """The stretches of time in which the meeting suits ``person``."""
    free: list[Slot] = []
    for slot in task.slots:
        if not person.can(slot):
            continue
        if free and free[-1].day == slot.day and slot.start <= free[-1].end:
            joined = free[-1]._replace(end=slot.end)
            if person.can(joined):
                free[-1] = joined
                continue
        free.append(slot)
    return free


def listed(stretches: Iterable[Slot], limit: int) -> str:
    """A message that lists stretches of time; those that do not fit into ``limit`` characters are left out."""
    message, day = "", ""
    for slot in stretches:
        span = f"{_short(slot.start)}-{_short(slot.end)}"
        heading = "" if slot.day == day else f"{'; ' * bool(message)}{slot.day[:3]}"
        more = f"{heading} {span}"
        if len(message) + len(more) > limit:
            break
        message, day = message + more, slot.day
    return message or "no time"


def heard(message: str) -> list[Slot]:
    """The stretches of time that a message lists."""
    found: list[Slot] = []
    day = ""
    for match in _TOKEN.finditer(message):
        name, *digits = match.groups()
        day = name or day
        if day and not name:
            found.append(slot_of(day, *digits))
    return found


def common(person: Person, messages: Sequence[str], task: MeetingTask) -> list[Slot]:
    """The times that suit ``person`` and every message that lists any."""
    offered = [stretches for stretches in map(heard, messages) if stretches]
    return [
        slot
        for slot in task.slots
        if person.can(slot) and all(_within(slot, each) for each in offered)
    ]


def expert_message(person: Person, limit: int, task: MeetingTask) -> str:
    return listed(offers(person, task), limit)


def expert_proposal(person: Person, messages: Sequence[str], task: MeetingTask) -> str:
    """The earliest common time; without one, the earliest that suits the own person."""
    alone = [slot for slot in task.slots if person.can(slot)]
    return written((common(person, messages, task) or alone or task.slots)[0])


def amateur_message(person: Person, limit: int, task: MeetingTask, rng: random.Random) -> str:
    """The free times, often with a mistake: half of them, all of them half an hour late, the
    hours of the day instead, no times at all, or more than a message may hold."""
    free = offers(person, task)
    slip = rng.choice((*["none"] * 7, "half", "late", "hours", "vague", "long"))
    if slip == "half":
        return listed(rng.sample(free, (len(free) + 1) // 2), limit)
    if slip == "late":
        return listed((s._replace(start=s.start + STEP, end=s.end + STEP) for s in free), limit)
    if slip == "hours":
        return listed((Slot(day, task.opens, task.closes) for day in task.days), limit)
    if slip == "vague":
        return f"{person.name} is busy, but any time that suits you may do."
    if slip == "long":
        return f"{person.name} can come then: {listed(free, limit)}. " + "Please write soon. " * 40
    return listed(free, limit)


def amateur_proposal(
    person: Person, messages: Sequence[str], task: MeetingTask, rng: random.Random
) -> str:
    """A common time, often with a mistake: a time that suits the own person only, the last common
    one, a wrong length, or no time at all."""
    alone = [slot for slot in task.slots if person.can(slot)] or list(task.slots)
    both = common(person, messages, task) or alone
    slip = rng.choice((*["none"] * 7, "alone", "last", "length", "silent"))
    if slip == "alone":
        return written(rng.choice(alone))
    if slip == "last":
        return f"How about {written(both[-1])}?"
    if slip == "length":
        return written(both[0]._replace(end=both[0].end + STEP))
    if slip == "silent":
        return "Let us meet as soon as we can."
    return f"I propose:\n{written(both[0])}"


def _within(slot: Slot, stretches: Iterable[Slot]) -> bool:
    return any(s.day == slot.day and s.start <= slot.start and slot.end <= s.end for s in stretches)


def _short(minutes: int) -> str:
    return clock(minutes).removesuffix(":00")
