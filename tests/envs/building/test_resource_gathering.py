"""Episodes of resource_gathering_v0: walks, takes, the fog and the messages; numbers by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import llmzoo
from llmzoo.envs.building.resource_gathering import players, tasks
from llmzoo.envs.building.resource_gathering.tasks import (
    FieldTask,
    Stack,
    visible_cells,
    walk_cells,
)
from llmzoo.errors import ConfigError

# the forester stands in the north-west among stone and iron, the miner in the south-east among wood
SMALL = FieldTask(
    7,
    (2, 2, 1),
    5,
    ((1, 1), (5, 5)),
    (
        Stack((0, 0), "iron", 1),
        Stack((2, 2), "stone", 3),
        Stack((4, 4), "wood", 1),
        Stack((5, 3), "wood", 2),
    ),
)


def made(task=SMALL, **kwargs):
    env = llmzoo.make("resource_gathering_v0", **kwargs).unwrapped
    env.reset(seed=0)
    env.episode = type(env.episode)(task, env.initial_world(task))
    return env


def test_an_episode_in_numbers():
    """Five blocks are needed: 2 wood, 2 stone and 1 iron."""
    env = made()
    env.step("go 3 4\ntake 4 4\ntake 5 4")  # five steps; there is nothing at 5 4
    env.step("go 3 2\ntake 2 2\ntake 2 2\ntake 2 2")  # five steps, and one stone too many
    assert env.infos["forester_0"]["error"] == "refused: line 3: there is nothing"
    # 1 wood and 2 stone of 2 + 3 + 1
    assert env.infos["forester_0"]["reward_components"] == pytest.approx(
        {"form": -0.1 / 3, "iou": 0.8 * 3 / 6, "whole": 0.0}
    )
    assert env.infos["miner_1"]["reward_components"] == pytest.approx({"iou": 0.4, "whole": 0.0})


def test_experts_gather_it_in_numbers():
    env = made()
    assert env.expert("forester_0") == "say iron 1 at 0 0; stone 3 at 2 2"
    env.step(env.expert("forester_0"))
    assert env.expert("miner_1") == "say wood 1 at 4 4; wood 2 at 5 3"
    env.step(env.expert("miner_1"))
    # six steps to either stack, two of which a worker reaches over: the smaller cell comes first
    assert env.expert("forester_0") == "go 4 2\ntake 4 4\ntake 5 3"
    env.step(env.expert("forester_0"))
    assert env.expert("miner_1") == "go 2 4\ntake 2 2\ntake 2 2\ngo 1 4"
    env.step(env.expert("miner_1"))
    assert env.infos["miner_1"]["reward_components"] == pytest.approx(
        {"iou": 0.8 * 4 / 5, "whole": 0.0}
    )
    assert env.expert("forester_0") == "pass"
    env.step("pass")
    assert env.expert("miner_1") == "go 0 2\ntake 0 0"
    env.step(env.expert("miner_1"))
    assert env.success
    assert env.infos["miner_1"]["reward_components"] == pytest.approx({"iou": 0.16, "whole": 0.2})


@pytest.mark.parametrize(
    ("orders", "why"),
    [
        ("go 6 2", "it is 6 steps away, you have 5"),
        ("go 3 1\ngo 3 5", "it is 4 steps away, you have 3"),
        ("take 2 2", "a forester takes wood, this is stone"),
        ("take 4 4", "it is more than 2 steps away"),
        ("take 1 1", "there is nothing"),
        ("go 7 0", "x is from 0 to 6"),
        ("go 0 -1", "z is from 0 to 6"),
        ("go 1", "go takes x z"),
        ("take 1 1 3", "take takes x z"),
        ("go north 2", "a coordinate is a whole number such as 3"),
    ],
)
def test_refused(orders, why):
    env = made()
    env.step(orders)
    env.step("pass")
    line = len(orders.splitlines())
    assert env.infos["forester_0"]["error"] == f"refused: line {line}: {why}"


def test_a_walk_goes_along_x_first_and_shows_what_lies_beside_it():
    assert walk_cells((1, 1), (3, 0)) == [(2, 1), (3, 1), (3, 0)]
    assert visible_cells((1, 1), 7) == {(x, z) for x in range(4) for z in range(4)}
    env = made()
    env.step("go 3 4")
    env.step("pass")
    field = env.episode.world
    assert field.places["forester"] == (3, 4)
    walked = [(1, 1), *walk_cells((1, 1), (3, 4))]
    assert field.seen_cells["forester"] == set().union(*(visible_cells(cell, 7) for cell in walked))
    said = env.observe("forester_0")
    assert "You are at x=3, z=4." in said
    assert "wood 1 at 4 4; wood 2 at 5 3" in said


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_an_agent_reads_nothing_that_its_worker_has_not_seen(prompt):
    env = llmzoo.make("resource_gathering_v0", prompt=prompt).unwrapped
    for seed in range(30):
        env.reset(seed=seed)
        env.step("pass")
        env.step("pass")
        state = env.episode
        for agent in env.possible_agents:
            worker = agent.partition("_")[0]
            seen = state.world.seen_cells[worker]
            said = env.observe(agent)
            field = state.world
            for other in field.places:
                places = field.places if other == worker else {**field.places, other: (0, 0)}
                kept = tuple(stack for stack in field.stacks if stack.cell in seen)
                env.episode = replace(state, world=replace(field, stacks=kept, places=places))
                assert env.observe(agent) == said
            env.episode = state


def test_the_stock_shows_what_the_other_took():
    env = made()
    env.step("pass")
    env.step("go 3 2\ntake 2 2")
    assert "The stock: 0 wood, 1 stone, 0 iron." in env.observe("forester_0")
    assert "stone 2 at 2 2" in env.observe("forester_0")


def test_messages_are_read_in_the_next_round():
    env = made()
    before = env.observe("miner_1")
    env.step("say stone 3 at 2 2")
    assert env.observe("miner_1") == before
    env.step("say wood")
    assert "forester_0 in round 1: stone 3 at 2 2" in env.observe("miner_1")


def test_the_expert_goes_where_it_is_told():
    """It reads no stack that it has neither seen nor heard of, and believes what it hears."""
    env = made()
    env.step("pass")
    env.step("pass")
    assert env.expert("forester_0") == "pass"
    env.step("pass")
    env.step("say wood 2 at 1 6")
    assert env.expert("forester_0") == "go 1 4\ntake 1 6\ntake 1 6"


def test_a_report_fits_into_a_message():
    field = made().episode.world
    assert (
        players.format_report(SMALL, field, "forester", 200) == "say iron 1 at 0 0; stone 3 at 2 2"
    )
    assert players.format_report(SMALL, field, "forester", 20) == "say iron 1 at 0 0"
    assert players.format_report(SMALL, field, "forester", 3) == "pass"


def test_an_agent_alone_moves_both_workers():
    env = made(num_agents=1)
    assert "forester go 3 4" in env.observe("gatherer_0")
    env.step("forester go 3 4\nforester take 4 4\nminer go 3 2\nMiner take 2 2\nminer jump 1 1")
    assert env.infos["gatherer_0"]["error"] == "refused: line 5: after the worker comes go or take"
    assert env.infos["gatherer_0"]["reward_components"] == pytest.approx(
        {"form": -0.1 / 5, "iou": 0.8 * 2 / 5, "whole": 0.0}
    )
    env.step("go 1 1")
    assert env.infos["gatherer_0"]["error"].startswith("malformed: no order in it")


@pytest.mark.parametrize("level", tasks.LEVELS)
@pytest.mark.parametrize("num_agents", [1, 2])
def test_experts_succeed_and_divide_the_work(level, num_agents):
    env = llmzoo.make(
        "resource_gathering_v0", level=level, num_agents=num_agents, split="all"
    ).unwrapped
    for seed in range(60):
        env.reset(seed=seed)
        orders = dict.fromkeys(env.possible_agents, 0)
        while env.agents and not env.terminations[env.agents[0]]:
            assert not env.truncations[env.agents[0]]
            agent = env.agent_selection
            answer = env.expert(agent)
            orders[agent] += answer.count("take")
            assert len(answer.splitlines()) <= env.most
            env.step(answer)
        assert env.success
        assert min(orders.values()) > 0


def test_workers_start_among_what_the_other_takes():
    rng = random.Random(5)
    for level in tasks.LEVELS.values():
        for _ in range(100):
            task = tasks.sample_candidate(rng, *level)
            forester, miner = (visible_cells(start, task.size) for start in task.starts)
            for stack in task.stacks:
                assert stack.cell in (miner if stack.kind == "wood" else forester)
                assert stack.cell not in (forester if stack.kind == "wood" else miner)
                assert stack.cell not in task.starts
            for kind, need in zip(tasks.KINDS, task.needs, strict=True):
                there = sum(stack.blocks for stack in task.stacks if stack.kind == kind)
                assert need <= there <= need + 2 * bool(need)
            assert len({stack.cell for stack in task.stacks}) == len(task.stacks)


def test_turned_and_mirrored_fields_are_one_task():
    def moved(task, move):
        stacks = sorted(stack._replace(cell=move(*stack.cell)) for stack in task.stacks)
        starts = tuple(move(*start) for start in task.starts)
        return replace(task, starts=starts, stacks=tuple(stacks))

    for move in (lambda x, z: (6 - x, z), lambda x, z: (z, x), lambda x, z: (6 - z, x)):
        assert tasks.canonical(moved(SMALL, move)) == tasks.canonical(SMALL)
    one = replace(SMALL, stacks=SMALL.stacks[1:])
    assert tasks.canonical(one) != tasks.canonical(SMALL)


def test_too_few_rounds():
    with pytest.raises(ConfigError, match="max_turns must be at least 3 here, got 2"):
        llmzoo.make("resource_gathering_v0", max_turns=2)
