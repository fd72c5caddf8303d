"""The prompts. An agent reads what all know of the meeting, the calendar of its own person and the messages."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.envs.planning.calendar.tasks import MeetingTask, Person, Wish, format_clock
from llmzoo.envs.planning.message_env import PlanningView


class CalendarView(PlanningView[MeetingTask]):
    """What an agent reads of a meeting."""

    @property
    def visible_people(self) -> Sequence[Person]:
        """The people whose calendars it reads: its own person, or all if nobody else reads them."""
        if len(self.agents) == 1:
            return self.task.people
        return [self.task.people[self.agents.index(self.agent)]]


def full(view: CalendarView) -> str:
    """The prompt in sentences."""
    task, agent, agents = view.task, view.agent, view.agents
    names = [person.name for person in task.people]
    lines = [_role_line(agent, agents, names), ""]
    lines += [
        f"The meeting: {_join_words(names)}, {task.length} minutes, on {_join_words(task.days, 'or')}, between "
        f"{format_clock(task.opens)} and {format_clock(task.closes)}. It begins on the hour or half hour. It must suit "
        "everyone" + (", and it must be at the earliest time that does." if task.earliest else "."),
        "",
    ]
    for person in view.visible_people:
        lines += [f"When {person.name} is busy:", *_calendar_lines(person, task)]
        lines += [
            f"{person.name} does not want to meet {_format_wish(wish)}." for wish in person.wishes
        ]
    lines += [
        *view.message_lines(),
        *view.status_lines(),
        *_request_lines(view),
        "",
        "Your answer:",
    ]
    return "\n".join(lines)


def terse(view: CalendarView) -> str:
    """The same in few words."""
    task, agent, agents = view.task, view.agent, view.agents
    turn = f" {view.number}/{view.rounds + 1}" if len(agents) > 1 else ""
    days = " ".join(day[:3] for day in task.days)
    lines = [
        f"calendar {agents.index(agent)}{turn}",
        f"{len(task.people)} people {task.length} min {days} {format_clock(task.opens)}-{format_clock(task.closes)}"
        + " earliest" * task.earliest,
    ]
    for person in view.visible_people:
        for day in task.days:
            spans = [
                f"{format_clock(b.start)}-{format_clock(b.end)}"
                for b in person.busy
                if b.day == day
            ]
            lines += [f"busy {day[:3]} {' '.join(spans)}"] if spans else []
        lines += [f"not {_format_terse_wish(wish)}" for wish in person.wishes]
    lines += view.terse_message_lines()
    lines += [f"not delivered {view.delivery_error}"] if view.delivery_error else []
    lines += [f"message up to {view.limit}" if view.is_message_round else "time"]
    return "\n".join([*lines, ""])


def calendar_table(task: MeetingTask) -> str:
    """All calendars, for a person."""
    lines = [
        f"A meeting of {task.length} minutes, {format_clock(task.opens)} to {format_clock(task.closes)}"
    ]
    for person in task.people:
        lines += [f"{person.name}, busy:", *(f"  {line}" for line in _calendar_lines(person, task))]
        lines += [f"  not {_format_terse_wish(wish)}" for wish in person.wishes]
    return "\n".join(lines)


def _role_line(agent: str, agents: Sequence[str], names: Sequence[str]) -> str:
    if len(agents) == 1:
        return (
            f"You are {agent}. You plan a meeting, and see the calendar of everyone who is invited."
        )
    others = [
        f"{other}, who assists {name}"
        for other, name in zip(agents, names, strict=True)
        if other != agent
    ]
    return (
        f"You are {agent}, the assistant of {names[agents.index(agent)]}. You plan a meeting "
        f"together with {_join_words(others)}. Each of you sees only the calendar of the person you assist."
    )


def _request_lines(view: CalendarView) -> list[str]:
    if view.is_message_round:
        return [
            f"Write a message to the others, of at most {view.limit} characters. They write theirs at the same "
            "time. They know only what you write. In the last round each of you proposes one "
            "time, and all of you must propose the same one. Times are on the 24-hour clock."
        ]
    same = (
        "The others propose at the same time, and all of you must propose the same one. If several times suit "
        "everyone, propose the earliest. " * (len(view.agents) > 1)
    )
    return [
        f"Propose one time. {same}End with a line such as: Monday, 9:00 - 10:00, or: Friday, 16:30 - 17:00. "
        "Times are on the 24-hour clock."
    ]


def _calendar_lines(person: Person, task: MeetingTask) -> list[str]:
    lines = []
    for day in task.days:
        spans = [
            f"{format_clock(b.start)} - {format_clock(b.end)}" for b in person.busy if b.day == day
        ]
        lines += [f"{day}: {', '.join(spans) or 'nothing'}"]
    return lines


def _format_wish(wish: Wish) -> str:
    day = f"on {wish.day}" if wish.day else ""
    side = f"{wish.side} {format_clock(wish.time)}" if wish.side else ""
    return " ".join(filter(None, (day, side)))


def _format_terse_wish(wish: Wish) -> str:
    return _format_wish(wish).removeprefix("on ")


def _join_words(items: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(items[:-1]), items[-1])))
