"""One agent is not enough: what its own calendar tells of the valid times, summed exactly."""

from __future__ import annotations

import random

import pytest
from alone import best_guess, days_of

import llmzoo
from llmzoo.envs.planning.calendar import generator
from llmzoo.envs.planning.calendar.tasks import MeetingTask, Person, format_slot


def small_task(mine, theirs, cells, minutes):
    """A day of a few half hours from 9:00 on; the calendars are bits of free half hours."""
    people = [
        Person(name, days_of((free,), cells, 540))
        for name, free in zip("ab", (mine, theirs), strict=True)
    ]
    return MeetingTask(tuple(people), ("Monday",), 540, 540 + 30 * cells, minutes)


@pytest.mark.parametrize(("minutes", "slots"), [(30, 1), (60, 1)])
def test_the_sum_is_that_over_all_calendars(minutes, slots):
    """Six half hours: all 64 calendars of the other person, one by one."""
    cells = 6
    chance = (slots / (cells - minutes // 30 + 1)) ** (30 / (2 * minutes))
    checked = 0
    for mine in range(2**cells):
        tasks = [small_task(mine, theirs, cells, minutes) for theirs in range(2**cells)]
        own = [s for s in tasks[0].slots if tasks[0].people[0].can_attend(s)]
        if len(own) < 3 * slots:
            continue
        weights = dict.fromkeys(own, 0.0)
        whole = 0.0
        for theirs, task in enumerate(tasks):
            others = [s for s in task.slots if task.people[1].can_attend(s)]
            if len(task.valid) != slots or len(others) < 3 * slots:
                continue
            weight = chance ** theirs.bit_count() * (1 - chance) ** (cells - theirs.bit_count())
            whole += weight
            for slot in task.valid:
                weights[slot] += weight
        if whole:
            most, guess = best_guess(tasks[0], 0, slots=slots, wishes=False)
            assert most == pytest.approx(max(weights.values()) / whole, abs=1e-12)
            assert weights[guess] == pytest.approx(max(weights.values()), abs=1e-12)
            checked += 1
    assert checked >= 5


def test_for_half_hours_all_own_times_are_alike():
    """The other calendar's cells are alike, so the guess is right once in (own times / valid times)."""
    rng = random.Random(4)
    for _ in range(20):
        task = generator.sample_task(rng, people=2, days=2, slots=1, wishes=False, length=30)
        own = sum(task.people[0].can_attend(slot) for slot in task.slots)
        assert best_guess(task, 0, slots=1, wishes=False)[0] == pytest.approx(1 / own)
        assert own >= 3


def guesses(level, tasks):
    """Of the best guesses of ``assistant_0``: how likely they were, and how many were right."""
    drawn = generator.LEVELS[level]
    rng = random.Random(0)
    likely, right = 0.0, 0
    for _ in range(tasks):
        task = generator.sample_task(rng, people=2, **drawn._asdict())
        most, guess = best_guess(task, 0, slots=drawn.slots, wishes=drawn.wishes)
        likely += most
        right += guess in task.valid
    return likely / tasks, right / tasks


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "tasks", "most"), [("easy", 150, 0.37), ("normal", 100, 0.23), ("hard", 15, 0.22)]
)
def test_the_best_guess_of_a_lone_agent(level, tasks, most):
    """The documented bounds: 35%, 21% and 17%. The sum predicts how often the guess is right, within
    three standard errors."""
    likely, right = guesses(level, tasks)
    assert likely < most
    assert abs(right - likely) < 3 * (likely * (1 - likely) / tasks) ** 0.5


@pytest.mark.parametrize(("level", "people"), [("easy", 2), ("normal", 4), ("hard", 3)])
def test_a_pair_that_writes_messages_always_succeeds(level, people):
    """The experts read their own prompts' facts and the messages, nothing else: the calendars of the
    others are taken from them."""
    env = llmzoo.make("calendar_v0", level=level, people=people, split="test").unwrapped
    for task in range(30):
        env.reset(seed=0, options={"task": task})
        whole = env.episode.task
        for agent in env.agent_iter():
            if env.terminations[agent]:
                env.step(None)
                continue
            number = env.possible_agents.index(agent)
            state = env.episode
            hidden = tuple(
                p if n == number else Person(p.name, ()) for n, p in enumerate(whole.people)
            )
            blinded = MeetingTask(hidden, whole.days, whole.opens, whole.closes, whole.length)
            object.__setattr__(state, "task", blinded)
            answer = env.expert(agent)
            object.__setattr__(state, "task", whole)
            env.step(answer)
        assert env.success


def test_two_agents_without_messages_rarely_meet():
    """Each proposes its own earliest time: below the bound of one agent, which would be 21%."""
    env = llmzoo.make("calendar_v0", rounds=0).unwrapped
    met = 0
    for seed in range(200):
        env.reset(seed=seed)
        task = env.episode.task
        for person in task.people:
            env.step(format_slot(next(slot for slot in task.slots if person.can_attend(slot))))
        met += env.success
    assert met / 200 < 0.21
