"""Tasks of calendar_v0: the solver, the generator, and the key by which tasks are split."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.planning.calendar import generator
from llmzoo.envs.planning.calendar.tasks import (
    MeetingTask,
    Person,
    Slot,
    Wish,
    canonical,
    format_clock,
    format_slot,
)
from llmzoo.errors import ConfigError

LEVELS = list(generator.LEVELS)


def brute_force(task):
    """The valid times, minute by minute."""
    found = []
    for day in task.days:
        for start in range(24 * 60):
            minutes = range(start, start + task.length)
            if start % 30 or start < task.opens or start + task.length > task.closes:
                continue
            if all(minute_is_free(p, day, minute) for p in task.people for minute in minutes):
                found.append(Slot(day, start, start + task.length))
    return found


def minute_is_free(person, day, minute):
    if any(b.day == day and b.start <= minute < b.end for b in person.busy):
        return False
    for wish in person.wishes:
        if wish.day in (None, day) and (
            wish.side == ""
            or (wish.side == "before" and minute < wish.time)
            or (wish.side == "after" and minute >= wish.time)
        ):
            return False
    return True


def drawn(level, people, seed, **changes):
    settings = {**generator.LEVELS[level]._asdict(), **changes}
    return generator.sample_task(random.Random(seed), people=people, **settings)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("people", [2, 3, 4])
def test_the_solver_agrees_with_brute_force(level, people):
    for seed in range(12):
        task = drawn(level, people, seed)
        assert list(task.valid) == brute_force(task)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("people", [2, 4])
def test_a_level_has_its_number_of_valid_times(level, people):
    days, slots, wishes = generator.LEVELS[level]
    wished = 0
    for seed in range(50):
        task = drawn(level, people, seed)
        assert (len(task.valid), len(task.days), len(task.people)) == (slots, days, people)
        assert min(sum(p.can_attend(s) for s in task.slots) for p in task.people) >= 3 * slots
        assert task.length in (30, 60)
        assert len({person.name for person in task.people}) == people
        wished += sum(len(p.wishes) for p in task.people)
    assert (wished > 0) == wishes


def test_arguments_replace_those_of_the_level():
    env = llmzoo.make(
        "calendar_v0",
        level="easy",
        people=3,
        days=4,
        slots=3,
        wishes=True,
        length=90,
        opens=8,
        closes=20,
    ).unwrapped
    env.reset(seed=1)
    task = env.episode.task
    assert (len(task.days), len(task.valid), task.length) == (4, 3, 90)
    assert (task.opens, task.closes) == (480, 1200)


def test_no_time_is_valid_more_often_than_others():
    """A constant answer is right in a small share of the tasks: at half-hour meetings each of the 32
    times in about 1 of 32, and none in more than 8% of 600."""
    counts = Counter(drawn("normal", 2, seed, length=30).valid[0] for seed in range(600))
    assert len(counts) == 32
    assert max(counts.values()) < 0.08 * 600


def test_busy_and_wishes_in_minutes():
    # 9:00 to 12:00, an hour; a: busy 10:00-10:30, so 9:00, 10:30 and 11:00 are left
    # b: not before 9:30, so 10:30 and 11:00; not after 11:30, so 10:30
    a = Person("a", (Slot("Monday", 600, 630),))
    b = Person("b", (), (Wish(None, "before", 570), Wish("Monday", "after", 690)))
    task = MeetingTask((a, b), ("Monday",), 540, 720, 60)
    assert [format_slot(s) for s in task.slots if a.can_attend(s)] == [
        "Monday, 9:00 - 10:00",
        "Monday, 10:30 - 11:30",
        "Monday, 11:00 - 12:00",
    ]
    assert [format_slot(s) for s in task.valid] == ["Monday, 10:30 - 11:30"]
    assert replace(task, people=(a,), earliest=True).valid == (Slot("Monday", 540, 600),)
    assert not replace(task, people=(a, Person("c", (), (Wish("Monday", ""),)))).valid
    assert (format_clock(540), format_clock(1020)) == ("9:00", "17:00")


# images of a task, written down apart from the key


def renamed(task):
    return replace(task, people=tuple(replace(p, name=p.name + "x") for p in task.people))


def turned(task):
    return replace(task, people=task.people[::-1])


def moved(task, hours=60):
    """The same task with work that begins an hour later."""
    people = [
        Person(
            p.name,
            tuple(Slot(b.day, b.start + hours, b.end + hours) for b in p.busy),
            tuple(w._replace(time=w.time + hours) if w.side else w for w in p.wishes),
        )
        for p in task.people
    ]
    return replace(task, people=tuple(people), opens=task.opens + hours, closes=task.closes + hours)


def other_days(task):
    """The first day last."""
    names = dict(zip(task.days, (*task.days[1:], task.days[0]), strict=True))
    people = [
        Person(
            p.name,
            tuple(b._replace(day=names[b.day]) for b in p.busy),
            tuple(w._replace(day=names[w.day]) if w.day else w for w in p.wishes),
        )
        for p in task.people
    ]
    return replace(task, people=tuple(people))


def backwards(task):
    whole = task.opens + task.closes
    sides = {"before": "after", "after": "before", "": ""}
    people = [
        Person(
            p.name,
            tuple(Slot(b.day, whole - b.end, whole - b.start) for b in p.busy),
            tuple(Wish(w.day, sides[w.side], whole - w.time if w.side else 0) for w in p.wishes),
        )
        for p in task.people
    ]
    return replace(task, people=tuple(people))


@pytest.mark.parametrize("image", [renamed, turned, moved, other_days, backwards])
@pytest.mark.parametrize("level", LEVELS)
def test_images_of_a_task_share_its_key(level, image):
    for seed in range(10):
        task = drawn(level, 3, seed)
        assert len(image(task).valid) == len(task.valid)
        assert canonical(image(task)) == canonical(task)


def test_a_wish_counts_as_the_busy_time_that_it_is():
    wished = MeetingTask(
        (Person("a", (), (Wish(None, "before", 600),)),), ("Monday",), 540, 720, 30
    )
    busy = replace(wished, people=(Person("a", (Slot("Monday", 540, 600),)),))
    assert canonical(wished) == canonical(busy)


def test_the_key_has_the_half_hours_in_which_each_can_meet():
    # 9:00 to 11:00; a is busy 8:00-9:15 and 10:00-10:30, b does not want to meet before 9:30
    a = Person("a", (Slot("Monday", 480, 555), Slot("Monday", 600, 630)))
    b = Person("b", (Slot("Tuesday", 540, 660),), (Wish(None, "before", 570),))
    task = MeetingTask((a, b), ("Monday",), 540, 660, 30)
    # a 0101, b 0111, and backwards 1010, 1110: the smaller of the two
    assert canonical(task) == "30 minutes: 0101|0111"


def test_other_tasks_have_other_keys():
    tasks = [drawn("normal", 2, seed) for seed in range(200)]
    assert len({canonical(task) for task in tasks}) == 200
    assert canonical(replace(tasks[0], length=90)) != canonical(tasks[0])


def test_no_image_of_a_test_task_is_a_training_task():
    """In a world so small that both splits would share most tasks."""
    small = {"days": 1, "slots": 1, "length": 30, "opens": 9, "closes": 12}

    def some(split, draws):
        tasks = llmzoo.make("calendar_v0", split=split, **small).unwrapped.tasks
        rng = random.Random(split)
        return [tasks.sample(rng) for _ in range(draws)]

    def seen(task):
        return tuple(tuple(p.can_attend(slot) for slot in task.slots) for p in task.people)

    train = {seen(task) for task in some("train", 1500)}
    tests = some("test", 100)
    images = [image for t in tests for image in (t, turned(t), backwards(t), turned(backwards(t)))]
    assert not train & {seen(image) for image in images}


def test_numbered_tasks_are_the_same_on_every_machine():
    """A generator that draws otherwise makes results incomparable: it needs a new version."""
    assert testing.task_ids(llmzoo.make("calendar_v0", split="test"), 2) == IDS


IDS = ["e18a2b5157e86e49", "e5f37643ce943eac"]


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"people": 1}, "people must be 2 to 7"),
        ({"people": 8}, "people must be 2 to 7"),
        ({"people": 3, "num_agents": 2}, "num_agents must be 1, or as many as people"),
        ({"num_agents": 0}, "num_agents must be 1"),
        ({"level": "brutal"}, "level must be one of"),
        ({"rounds": 5}, "rounds must be 0 to 4"),
        ({"message_chars": 0}, "message_chars must be 1 to 2000"),
        ({"days": 6}, "days must be 1 to 5"),
        ({"length": 45}, "multiple of 30"),
        ({"length": 600}, "multiple of 30 up to 480"),
        ({"opens": 18}, "opens first"),
        ({"opens": 9, "closes": 9}, "opens first"),
        ({"slots": 0}, "slots must be at least 1"),
        ({"prompt": "long"}, "prompt must be one of"),
        ({"source": "sample", "level": "easy"}, "level is for source='generator'"),
        ({"source": "no.file"}, "source must be"),
    ],
)
def test_settings_that_are_refused(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("calendar_v0", **kwargs)


def test_tasks_that_cannot_be_drawn_are_an_error_that_says_so():
    env = llmzoo.make("calendar_v0", days=1, slots=6, length=30)
    with pytest.raises(ConfigError, match=r"no 1 days .* with 6 times .* lower slots"):
        env.reset(seed=0)
