"""Episodes of bridge_build_v0: the bridge, the fog and the messages, and the rewards; numbers by hand."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import pairwise

import pytest

import llmzoo
from llmzoo.envs.building.blocks import Box
from llmzoo.envs.building.bridge_build import players, tasks
from llmzoo.envs.building.bridge_build.env import is_connected
from llmzoo.envs.building.bridge_build.tasks import Bank, BridgeTask, deck_heights

# banks of 2 and 4 blocks, a valley of x 2 to 7, a rock on each side
SMALL = BridgeTask(Box(10, 6, 1), Bank(1, 2), Bank(8, 4), ((3, 0), (6, 1)))


def made(task=SMALL, **kwargs):
    env = llmzoo.make("bridge_build_v0", **kwargs).unwrapped
    env.reset(seed=0)
    env.episode = type(env.episode)(task, env.initial_world(task))
    return env


def test_the_deck_runs_low_and_climbs_to_the_higher_bank():
    assert deck_heights(Bank(1, 2), Bank(8, 4)) == {2: 2, 3: 2, 4: 2, 5: 2, 6: 2, 7: 3}
    assert deck_heights(Bank(1, 4), Bank(8, 2)) == {2: 3, 3: 2, 4: 2, 5: 2, 6: 2, 7: 2}
    assert deck_heights(Bank(1, 5), Bank(5, 2)) == {2: 4, 3: 3, 4: 2}


def test_the_whole_bridge():
    env = made(num_agents=1)
    env.step(env.expert("builder_0"))
    assert env.success
    assert env.board().splitlines() == [
        "..........",
        "........##",
        ".......W##",
        "##WWWWW.##",
        "##.S..#.##",
        "##########",
    ]


def test_an_episode_in_numbers():
    """The bridge has 6 blocks of wood and 1 of stone: the rock at x 6 reaches up to the deck."""
    env = made()
    env.step("say hello")
    env.step("pass")
    assert env.rewards == dict.fromkeys(env.agents, 0.0)
    env.step("fill 2 2 0 4 2 0 wood")
    env.step("fill 5 2 0 7 2 0 wood")  # the last is one too low: 5 of 7 are right, one is extra
    parts = env.infos["west_0"]["reward_components"]
    assert parts == pytest.approx({"iou": 0.6 * 5 / 8, "joined": 0.0, "whole": 0.0})
    env.step("setblock 3 1 0 stone")
    env.step("setblock 7 2 0 air\nsetblock 7 3 0 wood")
    parts = env.infos["west_0"]["reward_components"]
    assert parts == pytest.approx({"iou": 0.6 * 3 / 8, "joined": 0.2, "whole": 0.2})
    assert env.success


@pytest.mark.parametrize(
    ("orders", "can"),
    [
        ("fill 2 2 0 6 2 0 wood\nsetblock 7 3 0 wood", True),
        ("fill 2 3 0 7 3 0 wood", True),  # not as the rules say, but one can walk on it
        ("fill 2 2 0 7 2 0 wood", False),  # two steps up at the end
        ("fill 2 2 0 6 2 0 wood\nsetblock 7 3 0 stone", False),
        ("fill 2 2 0 5 2 0 wood\nsetblock 7 3 0 wood", False),  # a hole
        ("fill 2 0 0 7 5 0 wood", False),
    ],
)
def test_who_can_walk_over_it(orders, can):
    env = made(num_agents=1)
    env.step(orders)
    assert is_connected(SMALL, env.episode.world) is can


def test_earth_stays():
    env = made(num_agents=1)
    env.step("fill 0 0 0 9 5 0 wood")
    assert [row.replace("W", ".") for row in env.board().splitlines()] == [
        "..........",
        "........##",
        "........##",
        "##......##",
        "##....#.##",
        "##########",
    ]
    env.step("fill 0 0 0 9 5 0 air")
    assert env.board() == made(num_agents=1).board()


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_an_agent_reads_nothing_of_the_other_half(prompt):
    """The same words whatever lies and stands there."""
    env = llmzoo.make("bridge_build_v0", level="hard", prompt=prompt).unwrapped
    for seed in range(30):
        env.reset(seed=seed)
        env.step("pass")
        env.step("pass")
        state = env.episode
        task = state.task
        flat = {
            "west_0": replace(
                task,
                east=Bank(task.box.width - 1, 1),
                rocks=tuple(r for r in task.rocks if r[0] < task.middle),
            ),
            "east_1": replace(
                task, west=Bank(0, 1), rocks=tuple(r for r in task.rocks if r[0] >= task.middle)
            ),
        }
        for agent, other in flat.items():
            said = env.observe(agent)
            full = bytes(
                1 if (at % task.box.width < task.middle) == (agent == "east_1") else 0
                for at in range(task.box.volume)
            )
            env.episode = replace(state, task=other, world=full)
            assert env.observe(agent) == said
            env.episode = state


def test_an_agent_reaches_its_half_and_two_columns():
    env = made()
    env.step("setblock 6 5 0 wood\nsetblock 7 5 0 wood")
    env.step("setblock 3 5 0 wood\nsetblock 2 5 0 wood")
    assert env.infos["west_0"]["error"] == "refused: line 2: you reach x from 0 to 6"
    assert env.infos["east_1"]["error"] == "refused: line 2: you reach x from 3 to 9"


def test_a_message_is_read_in_the_next_round_and_stays():
    env = made()
    before = env.observe("east_1")
    env.step("say my bank is low")
    assert env.observe("east_1") == before
    env.step("say mine is high")
    for _ in range(2):
        assert "west_0 in round 1: my bank is low" in env.observe("east_1")
        assert "You in round 1: mine is high" in env.observe("east_1")
        env.step("pass")
        env.step("pass")


def test_the_expert_builds_on_what_it_is_told():
    """A lie about the other bank gives another bridge: the expert reads no more than the message."""
    env = made()
    env.step(env.expert("west_0"))
    env.step("say the edge of my bank is x 8, its height y 1")
    assert players.known_banks(SMALL, 0, ["edge x 8, height 1"]) == (Bank(1, 2), Bank(8, 1))
    # the deck would run at the height 1, from the step next to the own bank on
    assert env.expert("west_0") == "fill 2 1 0 4 1 0 wood"
    assert env.expert("east_1") == "fill 5 2 0 6 2 0 wood\nsetblock 7 3 0 wood"


def test_without_messages_experts_are_informed():
    env = made(message_chars=0)
    assert "say TEXT" not in env.observe("west_0")
    for agent in env.possible_agents:
        env.step(env.expert(agent))
    assert env.success


@pytest.mark.parametrize("level", tasks.LEVELS)
def test_experts_need_two_rounds_and_divide_the_work(level):
    env = llmzoo.make("bridge_build_v0", level=level, split="all").unwrapped
    for seed in range(100):
        env.reset(seed=seed)
        for _ in range(2):
            assert not env.success
            for agent in env.possible_agents:
                answer = env.expert(agent)
                assert len(answer.splitlines()) <= env.most
                assert answer != "pass"
                env.step(answer)
        assert env.success


@pytest.mark.parametrize("level", tasks.LEVELS)
def test_valleys_are_as_the_level_says(level):
    rng = random.Random(3)
    wanted = tasks.LEVELS[level]
    for _ in range(200):
        task = tasks.sample_task(rng, **wanted._asdict())
        heights = deck_heights(task.west, task.east)
        assert 1 <= abs(task.west.height - task.east.height) <= wanted.step
        walk = [task.west.height, *heights.values(), task.east.height]
        assert max(abs(a - b) for a, b in pairwise(walk)) <= 1
        assert len(task.rocks) == 2 * wanted.rocks
        for x, top in task.rocks:
            assert top < heights[x]
        # no block of the bridge lies in the earth
        assert not any(
            built and earth for built, earth in zip(task.target, task.earth, strict=True)
        )


def test_mirror_images_are_one_task():
    other = BridgeTask(SMALL.box, Bank(1, 4), Bank(8, 2), ((3, 1), (6, 0)))
    assert tasks.canonical(other) == tasks.canonical(SMALL)
    assert tasks.canonical(replace(SMALL, rocks=())) != tasks.canonical(SMALL)
