"""NATURAL PLAN's calendar scheduling (arXiv 2406.04520): records whose text describes one meeting.

A record holds the description in ``prompt_0shot`` or, after examples, in ``prompt_5shot``, and a time that
is right in ``golden_plan``. ``num_people``, ``num_days`` and ``duration`` (hours) are compared with what
was read, where they are present. A wish over several days is written as in "can not meet on Monday.
Tuesday after 10:00."; the wishes are constraints like the meetings, and the time in ``golden_plan`` keeps
all of them. A sentence that is not understood makes a record bad, so that no constraint is lost.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from llmzoo.envs import record_files, sources
from llmzoo.envs.planning.calendar.scoring import parse_proposal as read_slot
from llmzoo.envs.planning.calendar.tasks import DAYS, STEP, MeetingTask, Person, Slot, Wish
from llmzoo.envs.record_files import NamedRecord
from llmzoo.envs.sources import BadField, LoadedTasks, PublicSet
from llmzoo.envs.text import MalformedError

HUB_ID = "tuandunghcmut/natural-plan-benchmark"  # the set's own files are on GitHub
HUB_CONFIGURATION = "normalized_calendar_scheduling"

_LENGTHS = {"half an hour": 30, "one hour": 60, "an hour": 60}
_DAY = f"(?:{'|'.join(DAYS)})"
_TIME = r"\d{1,2}:\d{2}"
_HEAD = re.compile(
    rf"schedule a meeting for (.+?) for (half an hour|one hour|an hour) between the work hours of "
    rf"({_TIME}) to ({_TIME}) on (?:either )?([^.]*)\."
)
_FREE = re.compile(r"has no meetings|is free the entire|calendar is wide open")
_BUSY = re.compile(rf"({_DAY}) during|({_TIME}) to ({_TIME})")
_DAY_OR_PART = rf"({_DAY})(?: (before|after) ({_TIME}))?\."
_WISH = re.compile(
    r"(\w+) (?:would like to avoid more meetings|would rather not meet|do(?:es)? not want to meet|"
    rf"can ?not meet) on ((?:{_DAY}(?: (?:before|after) {_TIME})?\.\s*)+)"
)
_EARLIEST = re.compile(r"[^.]*\bat their earl(?:ie|i)st availability\.")
_END = "Find a time that works for everyone's schedule and constraints."


def task_from_record(record: Mapping[str, Any]) -> MeetingTask:
    """The task of a record; raises ``BadField``."""
    name = "prompt_0shot" if record.get("prompt_0shot") else "prompt_5shot"
    text = sources.get_field(record, name, str).rpartition("TASK:")[2].partition("SOLUTION")[0]
    head = _HEAD.search(text)
    if head is None:
        raise BadField(name, "does not say who meets, how long, and on which days")
    people = re.split(r", | and ", head[1])
    days = tuple(re.findall(_DAY, head[5]))
    lines = [line.strip() for line in text[head.end() :].splitlines() if line.strip()]
    numbers = {person: _find_line(person, lines, name) for person in people}
    calendars = {person: _parse_busy_slots(person, lines[n], name) for person, n in numbers.items()}
    wishes, earliest = _parse_wishes(" ".join(lines[max(numbers.values()) + 1 :]), people, name)
    task = MeetingTask(
        tuple(Person(person, calendars[person], tuple(wishes[person])) for person in people),
        days,
        _parse_clock(head[3]),
        _parse_clock(head[4]),
        _LENGTHS[head[2]],
        earliest,
    )
    _check_other_fields(record, task)
    return task


def _find_line(person: str, lines: list[str], field: str) -> int:
    """The number of the line that begins with a name; the set has "Adamhas no meetings" too."""
    begins = re.compile(rf"{re.escape(person)}(?:'s | |has )")
    for number, line in enumerate(lines):
        if begins.match(line):
            return number
    raise BadField(field, f"has no calendar of {person}")


def _parse_busy_slots(person: str, line: str, field: str) -> tuple[Slot, ...]:
    """The busy times in the line of a person."""
    if _FREE.search(line):
        return ()
    day, busy = "", []
    for match in _BUSY.finditer(line):
        day = match[1] or day
        if match[2]:
            busy.append(Slot(day, _parse_clock(match[2]), _parse_clock(match[3])))
    if not busy:
        raise BadField(field, f"has no calendar of {person}")
    return tuple(busy)


def _parse_wishes(tail: str, people: list[str], field: str) -> tuple[dict[str, list[Wish]], bool]:
    """Each person's wishes, and whether the meeting must be at the earliest time."""
    wishes: dict[str, list[Wish]] = {person: [] for person in people}
    for match in _WISH.finditer(tail):
        if match[1] not in wishes:
            raise BadField(field, f"has a wish of {match[1]}, who is not invited")
        for day, side, time in re.findall(_DAY_OR_PART, match[2]):
            wishes[match[1]].append(Wish(day, side, _parse_clock(time) if time else 0))
    tail = _WISH.sub("", tail)
    earliest = bool(_EARLIEST.search(tail))
    rest = _EARLIEST.sub("", tail).replace(_END, "").strip()
    if rest:
        raise BadField(field, f"has a sentence that is not understood: {rest[:100]!r}")
    return wishes, earliest


def _check_other_fields(record: Mapping[str, Any], task: MeetingTask) -> None:
    """Raise ``BadField`` where the record's other fields say something else than its text."""
    for name, value in (
        ("num_people", len(task.people)),
        ("num_days", len(task.days)),
        ("duration", task.length / 60),
    ):
        if record.get(name, value) != value:
            raise BadField(name, f"is {record[name]!r}, the text has {value}")
    if task.opens % STEP or not task.slots:
        raise BadField("prompt_0shot", "has no work hours in which the meeting fits")
    name = "golden_plan" if "golden_plan" in record else "golden_plan_text"
    try:
        golden = read_slot(sources.get_field(record, name, str))
    except MalformedError as reason:
        raise BadField(name, f"has {reason}") from None
    if golden not in task.valid:
        raise BadField(name, "is not a time that suits everyone, as the text was read")


def _parse_clock(clock: str) -> int:
    hours, minutes = clock.split(":")
    return 60 * int(hours) + int(minutes)


def iter_records(path: str) -> Iterator[NamedRecord]:
    """The records of a file: NATURAL PLAN's own, one object of records by id, or any file of records."""
    if path.lower().endswith(".json"):
        try:
            whole = json.loads(Path(path).read_text(encoding="utf-8"))
        except (OSError, ValueError, RecursionError):
            whole = None  # the reader of record files says what is wrong
        if isinstance(whole, dict) and whole and all(isinstance(r, dict) for r in whole.values()):
            for name, record in whole.items():
                yield f"{path}:{name}", {"id": name, **record}
            return
    yield from record_files.read_records(path)


def load_tasks(source: str, on_bad_record: str) -> LoadedTasks[MeetingTask]:
    """The tasks of "auto", "hub", "sample" or a file; raises ``ConfigError``."""
    if source not in ("auto", "hub", "sample") and record_files.is_record_file(source):
        return sources.load_file(source, task_from_record, on_bad_record, records_of=iter_records)
    return PUBLIC_SET.load(source, on_bad_record)


PUBLIC_SET = PublicSet(
    hub_id=HUB_ID,
    hub_args=(HUB_CONFIGURATION,),
    read=task_from_record,
    sample=Path(__file__).parent / "sample.jsonl",
)
