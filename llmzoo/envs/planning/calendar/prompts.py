"""The prompts. An agent reads what all know of the meeting, the calendar of its own person and the messages."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.envs.planning.calendar.tasks import MeetingTask, Person, Wish, clock
from llmzoo.envs.planning.rounds import View


class CalendarView(View[MeetingTask]):
    """What an agent reads of a meeting."""

    @property
    def known(self) -> Sequence[Person]:
        """The people whose calendars it reads: its own person, or all if nobody else reads them."""
        if len(self.agents) == 1:
            return self.task.people
        return [self.task.people[self.agents.index(self.agent)]]


def full(view: CalendarView) -> str:
    """The prompt in sentences."""
    task, agent, agents = view.task, view.agent, view.agents
    names = [person.name for person in task.people]
    lines = [_role(agent, agents, names), ""]
    lines += [
        f"The meeting: {_listed(names)}, {task.length} minutes, on {_listed(task.days, 'or')}, between "
        f"{clock(task.opens)} and {clock(task.closes)}. It begins on the hour or half hour. It must suit "
        "everyone" + (", and it must be at the earliest time that does." if task.earliest else "."),
        "",
    ]
    for person in view.known:
        lines += [f"When {person.name} is busy:", *_calendar(person, task)]
        lines += [f"{person.name} does not want to meet {_wish(wish)}." for wish in person.wishes]
    lines += [*view.said(), *view.standing(), *_asked(view), "", "Your answer:"]
    return "\n".join(lines)


def terse(view: CalendarView) -> str:
    """The same in few words."""
    task, agent, agents = view.task, view.agent, view.agents
    turn = f" {view.number}/{view.rounds + 1}" if len(agents) > 1 else ""
    days = " ".join(day[:3] for day in task.days)
    lines = [
        f"calendar {agents.index(agent)}{turn}",
        f"{len(task.people)} people {task.length} min {days} {clock(task.opens)}-{clock(task.closes)}"
        + " earliest" * task.earliest,
    ]
    for person in view.known:
        for day in task.days:
            spans = [f"{clock(b.start)}-{clock(b.end)}" for b in person.busy if b.day == day]
            lines += [f"busy {day[:3]} {' '.join(spans)}"] if spans else []
        lines += [f"not {_brief(wish)}" for wish in person.wishes]
    lines += view.briefly_said()
    lines += [f"not delivered {view.told}"] if view.told else []
    lines += [f"message up to {view.limit}" if view.writing else "time"]
    return "\n".join([*lines, ""])


def table(task: MeetingTask) -> str:
    """All calendars, for a person."""
    lines = [f"A meeting of {task.length} minutes, {clock(task.opens)} to {clock(task.closes)}"]
    for person in task.people:
        lines += [f"{person.name}, busy:", *(f"  {line}" for line in _calendar(person, task))]
        lines += [f"  not {_brief(wish)}" for wish in person.wishes]
    return "\n".join(lines)


def _role(agent: str, agents: Sequence[str], names: Sequence[str]) -> str:
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
        f"together with {_listed(others)}. Each of you sees only the calendar of the person you assist."
    )


def _asked(view: CalendarView) -> list[str]:
    if view.writing:
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


def _calendar(person: Person, task: MeetingTask) -> list[str]:
    lines = []
    for day in task.days:
        spans = [f"{clock(b.start)} - {clock(b.end)}" for b in person.busy if b.day == day]
        lines += [f"{day}: {', '.join(spans) or 'nothing'}"]
    return lines


def _wish(wish: Wish) -> str:
    day = f"on {wish.day}" if wish.day else ""
    side = f"{wish.side} {clock(wish.time)}" if wish.side else ""
    return " ".join(filter(None, (day, side)))


def _brief(wish: Wish) -> str:
    return _wish(wish).removeprefix("on ")


def _listed(items: Sequence[str], word: str = "and") -> str:
    return f" {word} ".join(filter(None, (", ".join(items[:-1]), items[-1])))
