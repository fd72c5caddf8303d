"""Writes the sample of calendar_v0: generated tasks as records of NATURAL PLAN's form.

    python scripts/samples/calendar_records.py

A third of the wishes is for one day or its part, as in NATURAL PLAN, and some records ask for the
earliest time. ``tests/envs/planning/test_natural_plan.py`` holds the file against this.
"""

from __future__ import annotations

import json
import random
from dataclasses import replace
from pathlib import Path

from llmzoo.envs.planning.calendar import generator
from llmzoo.envs.planning.calendar.tasks import MeetingTask, Person, Wish, format_clock, format_slot

FILE = Path(__file__).parents[2] / "llmzoo/envs/planning/calendar/sample.jsonl"
KINDS = ((2, 40), (3, 20), (4, 20))  # people, records
BUSY = ("has meetings", "is busy", "has blocked their calendar")
WISH = ("would rather not meet", "can not meet", "would like to avoid more meetings")


def records() -> list[dict[str, object]]:
    rng = random.Random("the sample of calendar_v0")
    made = []
    for people, count in KINDS:
        for _ in range(count):
            task = generator.sample_task(
                rng, people=people, days=rng.randint(1, 5), slots=rng.randint(1, 2), wishes=False
            )
            task = replace(task, earliest=rng.random() < 0.3)
            made.append(record(len(made), with_a_wish(task, rng), rng))
    return made


def with_a_wish(task: MeetingTask, rng: random.Random) -> MeetingTask:
    """The task with a wish of one person that leaves the right time, or without one."""
    if rng.random() < 0.5:
        return task
    first = task.valid[0]
    day = rng.choice(task.days)
    wish = Wish(day, "") if day != first.day else Wish(day, "before", first.start)
    number = rng.randrange(len(task.people))
    people = [replace(p, wishes=(wish,)) if n == number else p for n, p in enumerate(task.people)]
    return replace(task, people=tuple(people))


def record(number: int, task: MeetingTask, rng: random.Random) -> dict[str, object]:
    names = [person.name for person in task.people]
    whole = "day" if len(task.days) == 1 else "days"
    several = f"either {', '.join(task.days[:-1])} or {task.days[-1]}"
    lines = [
        f"TASK: You need to schedule a meeting for {', '.join(names[:-1])} and {names[-1]} for "
        f"{'half an hour' if task.length == 30 else 'one hour'} between the work hours of "
        f"{format_clock(task.opens)} to {format_clock(task.closes)} on "
        f"{task.days[0] if len(task.days) == 1 else several}. ",
        "",
        f"Here are the existing schedules for everyone during the {whole}: ",
        *(calendar(person, task, rng) for person in task.people),
        "",
        *(f"{p.name} {rng.choice(WISH)} on {part(w)}. " for p in task.people for w in p.wishes),
        "The group would like to meet at their earliest availability." * task.earliest,
        "Find a time that works for everyone's schedule and constraints. ",
        "SOLUTION: ",
    ]
    return {
        "id": f"llmzoo_calendar_{number}",
        "num_people": len(names),
        "num_days": len(task.days),
        "duration": task.length / 60,
        "prompt_0shot": "\n".join(lines),
        "golden_plan": f"Here is the proposed time: {format_slot(task.valid[0])} ",
    }


def calendar(person: Person, task: MeetingTask, rng: random.Random) -> str:
    days = [
        f"{day} during "
        + ", ".join(
            f"{format_clock(b.start)} to {format_clock(b.end)}" for b in person.busy if b.day == day
        )
        for day in task.days
        if any(b.day == day for b in person.busy)
    ]
    return f"{person.name} {rng.choice(BUSY)} on {', '.join(days)}; "


def part(wish: Wish) -> str:
    return f"{wish.day} {wish.side} {format_clock(wish.time)}" if wish.side else str(wish.day)


if __name__ == "__main__":
    FILE.write_text("".join(json.dumps(one) + "\n" for one in records()), encoding="utf-8")
