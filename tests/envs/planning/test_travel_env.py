"""An episode of travel_v0: who reads what, what is delivered, and the rewards."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from travel_tasks import BOOKED, COST, TASK, VISITED

import llmzoo
from llmzoo import testing
from llmzoo.envs.planning.travel import players
from llmzoo.envs.planning.travel.env import TravelState
from llmzoo.errors import ConfigError


def made(**kwargs):
    env = llmzoo.make("travel_v0", **kwargs).unwrapped
    env.reset(seed=7)
    return env


def by_hand(**kwargs):
    """An episode of the small trip."""
    env = made(**kwargs)
    env.episode = TravelState(task=TASK)
    return env


def secrets(task):
    """The names that only the booker reads, and those that only the guide reads."""
    booker = {stay.name for stay in task.stays} | {
        way.number for way in task.transports if way.number
    }
    guide = {place.name for place in (*task.restaurants, *task.sights)}
    return booker, guide


@pytest.mark.parametrize("prompt", ["full", "terse"])
@pytest.mark.parametrize("level", ["easy", "hard"])
def test_an_agent_reads_its_own_tables_and_no_others(level, prompt):
    """Before and after messages an agent reads all names of its own tables, none of the other's, and the same
    words if the other's tables are empty."""
    env = llmzoo.make("travel_v0", level=level, prompt=prompt, rounds=2).unwrapped
    looked = 0
    for seed in range(15):
        env.reset(seed=seed)
        for _ in range(3):
            state = env.episode
            booker, guide = secrets(state.task)
            for agent, own, others in (("booker_0", booker, guide), ("guide_1", guide, booker)):
                said = env.observe(agent)
                assert all(name in said for name in own)
                assert not [name for name in others if name in said]
                looked += len(others)
                env.episode = replace(
                    state, task=players.with_known_tables(state.task, agent.partition("_")[0])
                )
                assert env.observe(agent) == said
                env.episode = state
            env.step("hello")
            env.step("hello")
    assert looked > 1000


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_the_form_that_is_shown_names_nothing(prompt):
    """An agent that copies what it reads writes no plan that is paid for more than its form."""
    env = made(prompt=prompt, rounds=0)
    for agent in env.possible_agents:
        env.step(str(env.observe(agent)))
    for agent in env.possible_agents:
        assert sum(env.infos[agent]["reward_components"].values()) <= 0.02


def test_no_agent_reads_a_message_of_the_same_round():
    env = made()
    before = env.observe("guide_1")
    env.step("the first message")
    assert env.observe("guide_1") == before
    env.step("the second message")
    assert "You: the first message\nguide_1: the second message" in env.observe("booker_0")
    assert "booker_0: the first message\nYou: the second message" in env.observe("guide_1")
    assert "Round 2 of 2.\nWrite your half of the plan" in env.observe("booker_0")


def test_a_message_that_is_too_long_is_not_delivered_and_costs():
    env = made(message_chars=20)
    env.step("x" * 21)
    env.step("short")
    assert env.infos["booker_0"]["reward_components"] == {"message": -0.05}
    assert env.infos["guide_1"]["reward_components"] == {}
    assert "xxx" not in env.observe("guide_1")
    assert "Your last message was not delivered: a message of 21" in env.observe("booker_0")


@pytest.mark.parametrize("weight", [1.0, 0.5])
def test_a_plan_that_passes_pays_both(weight):
    env = by_hand(rounds=0, team_weight=weight)
    env.step(BOOKED)
    env.step(VISITED)
    assert env.success
    assert env.rewards == pytest.approx(dict.fromkeys(env.agents, 0.3 + weight))
    info = env.infos["guide_1"]
    assert info["success"]
    assert info["cost"] == COST
    assert list(info["constraints"].values()) == [True] * 13
    assert info["error"] is None


def test_an_episode_in_numbers():
    """The shared loft is not private: all of the booker's parts but the room's 0.03, and no plan. The guide's
    half is all right by itself."""
    env = by_hand(rounds=0)
    env.step(BOOKED.replace("Inn", "Loft"))
    env.step(VISITED)
    assert env.rewards == pytest.approx({"booker_0": 0.27 + 0.3, "guide_1": 0.3 + 0.3})
    assert env.infos["booker_0"]["error"] == "wrong: a room is not of the kind that was asked for"
    assert env.infos["guide_1"]["error"] is None
    assert not env.infos["booker_0"]["constraints"]["room"]


def test_other_cities_than_the_bookers():
    """Carlow's one restaurant that is no Cup, and Brome's: both halves are sound, one day is not kept."""
    env = by_hand(rounds=0)
    env.step(BOOKED)
    env.step(VISITED.replace("Oven", "Eel"))
    assert env.rewards == pytest.approx(dict.fromkeys(env.agents, 0.3 + 0.2 / 3))
    assert env.infos["guide_1"]["error"] is None  # where the booker goes is not told
    assert [n for n, holds in env.infos["guide_1"]["constraints"].items() if not holds] == ["city"]


def test_a_half_that_cannot_be_read():
    env = by_hand(rounds=0)
    env.step("Let us go to Brome.")
    env.step(VISITED)
    assert env.rewards == pytest.approx({"booker_0": 0.0, "guide_1": 0.3})
    assert env.infos["booker_0"]["error"].startswith("malformed: no line such as: day 1")
    assert env.infos["guide_1"]["constraints"] is None
    assert env.infos["guide_1"]["cost"] is None


def test_one_agent_reads_everything_and_writes_the_whole_plan():
    env = made(num_agents=1)
    assert env.possible_agents == ["planner_0"]
    booker, guide = secrets(env.episode.task)
    said = env.observe("planner_0")
    assert all(name in said for name in booker | guide)
    env.step(env.expert("planner_0"))
    assert env.success
    assert env.rewards == pytest.approx({"planner_0": 1.3})


@pytest.mark.slow
@pytest.mark.parametrize("level", ["easy", "normal", "hard"])
def test_experts_on_many_tasks(level):
    testing.check_expert(
        lambda: llmzoo.make("travel_v0", level=level, split="test"), range(40), best=1.3
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("level", "rounds"), [("easy", 0), ("normal", 1), ("hard", 2), ("easy", 2), ("hard", 0)]
)
def test_experts(level, rounds):
    testing.check_expert(
        lambda: llmzoo.make("travel_v0", level=level, rounds=rounds), range(12), best=1.3
    )


def test_the_experts_read_nothing_but_their_tables_and_messages():
    """With other tables of the other agent, an agent writes the same."""
    env = llmzoo.make("travel_v0", level="hard", split="test").unwrapped
    for task in range(10):
        env.reset(options={"task": task})
        while not env.terminations["booker_0"]:
            agent, state = env.agent_selection, env.episode
            answer = env.expert(agent)
            env.episode = replace(
                state, task=players.with_known_tables(state.task, agent.partition("_")[0])
            )
            assert env.expert(agent) == answer
            env.episode = state
            env.step(answer)
        assert env.success


def test_what_the_experts_write():
    """Brome: taxis 48 and the Inn 120; Carlow has no way back. Meals in Brome: 6 x 18; Carlow has two."""
    booker, guide = (players.with_known_tables(TASK, half) for half in ("booker", "guide"))
    assert players.expert_message("booker", booker, 400) == "1x2 168"
    assert players.expert_message("guide", guide, 400) == "1: 108; 2: -"
    assert players.expert_message("guide", guide, 8) == "1: 108"
    assert players.expert_message("guide", guide, 3) == "no "
    assert "city: Aldin -> Brome" in players.expert_plan("booker", booker, ["1: 108; 2: -"])
    # both cities have a Cup
    assert "dinner: Cup, Brome; sights: Mill" in players.expert_plan("guide", guide, ["1x2 168"])


@pytest.mark.parametrize(
    "message",
    ["", "hello", "9x9 1", "1x1 5; 1x2", "1x2 1x2 5", "0: 5", "1: " + "9" * 300, "1x2 " * 99, "((((", "\ud800;1:"],
)  # fmt: skip
def test_experts_read_any_message(message):
    for half in ("booker", "guide"):
        assert (
            players.expert_plan(half, players.with_known_tables(TASK, half), [message]).count("day")
            == 3
        )


@pytest.mark.parametrize(
    "form",
    [
        {"rounds": 0, "prompt": "terse"},
        {},
        {"rounds": 3},
        {"num_agents": 1},
        {"num_agents": 1, "prompt": "terse"},
    ],
    ids=str,
)
def test_noisy_experts_err_but_earn_something(form):
    env = llmzoo.make("travel_v0", **form).unwrapped
    rng = random.Random(0)
    met, paid = 0, 0.0
    for seed in range(40):
        env.reset(seed=seed)
        while not env.terminations[env.possible_agents[0]]:
            env.step(env.noisy_expert(env.agent_selection, rng))
        paid += env.rewards[env.possible_agents[0]] / 40
        met += env.success
    assert 0.2 < paid < 1.1
    assert met < 30


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"level": "odd"}, "level must be one of"),
        ({"visits": 4}, "visits must be 1 to 3"),
        ({"visits": 3, "candidates": 3}, "candidates must be 4 to 6"),
        ({"wishes": 5}, "wishes must be 0 to 4"),
        ({"rounds": 5}, "rounds must be 0 to 4"),
        ({"message_chars": 0}, "message_chars must be 1 to 2000"),
        ({"prompt": "odd"}, "prompt must be one of"),
        ({"source": "sample", "level": "easy"}, "level is for source='generator'"),
        ({"source": "odd"}, "source must be"),
    ],
)
def test_bad_settings(kwargs, message):
    with pytest.raises(ConfigError, match=message):
        llmzoo.make("travel_v0", **kwargs)


def test_a_fork_goes_its_own_way():
    env = made()
    env.step("hello")
    env.step("hello")
    fork = env.fork()
    for agent in env.possible_agents:
        fork.step(fork.expert(agent))
    assert fork.episode.halves
    assert not env.episode.halves
    assert not env.terminations["booker_0"]


def test_render():
    env = by_hand(rounds=0, render_mode="ansi")
    env.step(BOOKED)
    env.step("no")
    drawn = env.render()
    assert "Brome: Inn: $30, private room, for 4 people, at least 2 nights, no smoking" in drawn
    assert "flight F4 on day 2 $15" in drawn
    assert f"The booker's half:\n{BOOKED}" in drawn
    assert drawn.endswith("The guide's half:\n  cannot be read")
