"""An episode of calendar_v0: who reads what, what is delivered, and the rewards."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.planning.calendar.tasks import Person, Slot, format_clock, format_slot


def made(**kwargs):
    env = llmzoo.make("calendar_v0", **kwargs).unwrapped
    env.reset(seed=kwargs.pop("seed", 7))
    return env


def spans(person, brief):
    """The busy times of a person as a prompt writes them."""
    dash = "-" if brief else " - "
    return {f"{format_clock(b.start)}{dash}{format_clock(b.end)}" for b in person.busy}


@pytest.mark.parametrize("prompt", ["full", "terse"])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_an_agent_reads_its_own_calendar_and_no_other(people, prompt):
    """Before and after messages an agent reads all of its own calendar, no time that only the others' have,
    and the same words when the others have empty calendars."""
    env = llmzoo.make("calendar_v0", level="hard", people=people, prompt=prompt, rounds=2).unwrapped
    brief = prompt == "terse"
    # the work hours, and the form of a proposal
    known = {"9:00-17:00", "9:00 - 10:00", "16:30 - 17:00"}
    looked = 0
    for seed in range(30):
        env.reset(seed=seed)
        for _ in range(3):
            state = env.episode
            task = state.task
            for number, agent in enumerate(env.possible_agents):
                said = env.observe(agent)
                own = task.people[number]
                assert all(span in said for span in spans(own, brief))
                others = {span for p in task.people if p is not own for span in spans(p, brief)}
                for span in others - spans(own, brief) - known:
                    looked += 1
                    assert span not in said
                emptied = tuple(p if p is own else Person(p.name, ()) for p in task.people)
                env.episode = replace(state, task=replace(task, people=emptied))
                assert env.observe(agent) == said
                env.episode = state
            for _ in env.possible_agents:
                env.step("hello")
    assert looked > 1000


def test_no_agent_reads_a_message_of_the_same_round():
    env = made(rounds=2)
    before = env.observe("assistant_1")
    env.step("the first message")
    assert env.observe("assistant_1") == before
    env.step("the second message")
    for agent, mine, other in (
        ("assistant_0", "first", "second"),
        ("assistant_1", "second", "first"),
    ):
        said = env.observe(agent)
        assert f"You: the {mine} message" in said
        assert f"the {other} message" in said
        assert "Round 2 of 3." in said


def test_messages_stay_to_be_read_and_proposals_are_asked_for_last():
    env = made(rounds=2)
    for text in ("one", "two", "three", "four"):
        env.step(text)
    said = env.observe("assistant_0")
    assert all(
        text in said for text in ("You: one", "assistant_1: two", "You: three", "assistant_1: four")
    )
    assert "Round 3 of 3.\nPropose one time." in said


def test_a_message_that_is_too_long_is_not_delivered_and_costs():
    env = made(message_chars=20)
    env.step("x" * 21)
    env.step("short")
    assert (
        env.infos["assistant_0"]["error"] == "malformed: a message of 21 characters, 20 are allowed"
    )
    assert env.infos["assistant_0"]["reward_components"] == {"message": -0.05}
    assert env.infos["assistant_1"]["reward_components"] == {}
    assert "xxx" not in env.observe("assistant_1")
    assert "assistant_0: (not delivered)" in env.observe("assistant_1")
    assert "Your last message was not delivered: a message of 21" in env.observe("assistant_0")


def test_an_episode_in_numbers():
    """One agent is right, the other names a time of its own: no meeting, and each its own parts."""
    env = made()
    task = env.episode.task
    right = task.valid[0]
    alone = next(
        s for s in task.slots if task.people[1].can_attend(s) and not task.people[0].can_attend(s)
    )
    env.step("hello")
    env.step("hello")
    env.step(f"I propose {format_slot(right)}")
    env.step(format_slot(alone))
    assert env.terminations == dict.fromkeys(env.agents, True)
    assert env.rewards == pytest.approx({"assistant_0": 0.5, "assistant_1": 0.1})
    info = env.infos["assistant_1"]
    assert (info["success"], info["proposal"]) == (False, format_slot(alone))
    assert list(info["can_come"].values()) == [False, True]
    assert env.infos["assistant_0"]["error"] is None


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_a_meeting_pays_both(weight):
    env = made(team_weight=weight)
    for _ in range(4):
        env.step(env.expert(env.agent_selection))
    assert env.success
    assert env.rewards == pytest.approx(dict.fromkeys(env.agents, 0.5 + weight))


def test_errors_name_what_the_agent_can_know():
    env = made()
    task = env.episode.task
    busy = next(s for s in task.slots if not task.people[0].can_attend(s))
    own = next(
        s for s in task.slots if task.people[1].can_attend(s) and not task.people[0].can_attend(s)
    )
    for text in ("hello", "hello", format_slot(busy), format_slot(own)):
        env.step(text)
    assert env.infos["assistant_0"]["error"] == f"wrong: {task.people[0].name} cannot come then"
    assert env.infos["assistant_1"]["error"] is None  # that the other cannot come is not told


@pytest.mark.parametrize(
    ("slot", "error"),
    [
        (Slot("Monday", 540, 541), "the meeting lasts"),
        (Slot("Friday", 540, 0), "outside the work hours"),
    ],
)
def test_errors_of_other_proposals(slot, error):
    env = made()
    length = env.episode.task.length
    env.step("hello")
    env.step("hello")
    env.step(format_slot(slot._replace(end=slot.end or slot.start + length)))
    env.step("hm")
    assert env.infos["assistant_0"]["error"].startswith(f"wrong: {error}")
    assert env.infos["assistant_1"]["error"].startswith("malformed: no time such as")


def test_one_agent_reads_all_calendars_and_answers_once():
    env = made(num_agents=1, people=3)
    assert env.possible_agents == ["assistant_0"]
    said = env.observe("assistant_0")
    for person in env.episode.task.people:
        assert f"When {person.name} is busy:" in said
        assert all(span in said for span in spans(person, False))
    env.step(env.expert("assistant_0"))
    assert env.success
    assert env.rewards == pytest.approx({"assistant_0": 1.5})


def test_without_rounds_proposals_are_asked_for_at_once():
    env = made(rounds=0)
    assert "Round 1 of 1.\nPropose one time." in env.observe("assistant_0")
    for agent in env.possible_agents:
        env.step(env.expert(agent))
    assert env.success


def test_as_many_people_as_agents():
    assert len(made(num_agents=4).episode.task.people) == 4
    assert made(people=3).possible_agents == [f"assistant_{n}" for n in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("level", ["easy", "normal", "hard"])
@pytest.mark.parametrize("people", [2, 3, 4])
def test_experts_on_many_tasks(level, people):
    testing.check_expert(
        lambda: llmzoo.make("calendar_v0", level=level, people=people, split="test"),
        range(60),
        best=1.5,
    )


@pytest.mark.parametrize(("prompt", "rounds"), [("full", 0), ("terse", 1), ("full", 3)])
def test_noisy_experts_err_but_earn_something(prompt, rounds):
    env = llmzoo.make("calendar_v0", prompt=prompt, rounds=rounds, num_agents=3).unwrapped
    rng = random.Random(0)
    met, paid = 0, 0.0
    for seed in range(100):
        env.reset(seed=seed)
        while not env.terminations["assistant_0"]:
            env.step(env.noisy_expert(env.agent_selection, rng))
            paid += sum(env.rewards.values()) / 300 if env.agent_selection == "assistant_0" else 0.0
        met += env.success
    assert 0.1 < paid < 1.2
    assert met < 70


def test_render(capsys):
    env = llmzoo.make("calendar_v0", render_mode="ansi").unwrapped
    env.reset(seed=0)
    for text in ("hello", "hi", "Monday, 9:00 - 10:00", "no"):
        env.step(text)
    drawn = env.render()
    for name in [person.name for person in env.episode.task.people]:
        assert f"{name}, busy:" in drawn
    assert "assistant_0: hello" in drawn
    assert drawn.endswith("assistant_0 proposes Monday, 9:00 - 10:00\nassistant_1 proposes no time")
