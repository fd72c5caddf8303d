"""Episodes of house_build_v0: the plan, the stocks, and the rewards; numbers by hand."""

from __future__ import annotations

import random

import numpy as np
import pytest

import llmzoo
from llmzoo.envs.building.blocks import AIR, BRICK, DOOR, GLASS, STONE, WOOD, Box
from llmzoo.envs.building.house_build import tasks
from llmzoo.envs.building.house_build.tasks import SOLID, HouseTask


def small():
    """A house of 3 x 3 cells: a floor of wood, walls of stone two high, and a roof of brick."""
    box = Box(3, 4, 3)
    ring = [(x, z) for x in range(3) for z in range(3) if (x, z) != (1, 1)]
    grid = bytearray([WOOD] * 9 + [AIR] * 18 + [BRICK] * 9)
    walls = [box.at(x, y, z) for y in (1, 2) for x, z in ring]
    for at in walls:
        grid[at] = STONE
    openings = {box.at(1, 1, 0): DOOR, box.at(1, 2, 0): DOOR, box.at(0, 2, 1): GLASS}
    for at, material in openings.items():
        grid[at] = material
    kept = tuple(at for at in walls if at not in openings)
    return HouseTask(box, bytes(grid), kept, tuple(range(27, 36)), tuple(openings))


def made(**kwargs):
    env = llmzoo.make("house_build_v0", **kwargs).unwrapped
    env.reset(seed=0)
    env.episode = type(env.episode)(small(), env.initial_world(small()))
    return env


def test_an_episode_in_numbers():
    """34 blocks: 9 wood, 13 stone, 2 door, 1 glass, 9 brick. The floor, half and half."""
    env = made()
    assert env.episode.task.counts == {WOOD: 9, STONE: 13, BRICK: 9, GLASS: 1, DOOR: 2}
    env.step("fill 0 0 0 2 0 1 wood")  # six
    env.step("fill 0 0 2 2 0 2 wood\nsetblock 1 1 1 stone")  # three, and one inside the house
    parts = env.infos["builder_0"]["reward_components"]
    assert parts == pytest.approx(
        {"iou": 0.4 * 9 / 35, "walls": 0.0, "roof": 0.0, "openings": 0.0, "whole": 0.0}
    )
    env.step(
        "setblock 1 1 1 air\nsetblock 1 1 0 door\nsetblock 0 2 1 glass\nfill 0 3 0 2 3 0 brick"
    )
    env.step("setblock 1 2 0 door\nsetblock 0 1 0 stone\nfill 0 3 1 2 3 2 brick\n")
    parts = env.infos["builder_0"]["reward_components"]
    # 9 + 3 openings + 9 roof + 1 wall are right, and nothing is wrong
    iou = 0.4 * (22 / 34 - 9 / 35)
    assert parts == pytest.approx(
        {"iou": iou, "walls": 0.15 / 13, "roof": 0.15, "openings": 0.1, "whole": 0.0}
    )


def test_a_stock_is_a_little_more_than_half():
    env = made()
    # (9 + 1) / 2 + 9 / 4 rounded down = 7; (13 + 1) / 2 + 3 = 10; 1 and 0; 1 and 0
    assert env.episode.task.stock(2) == {WOOD: 7, STONE: 10, BRICK: 7, GLASS: 1, DOOR: 1}
    assert env.episode.task.stock(1) == {WOOD: 13, STONE: 19, BRICK: 13, GLASS: 1, DOOR: 3}
    assert "You may still place: 7 wood, 10 stone, 7 brick, 1 glass, 1 door." in env.observe(
        "builder_1"
    )
    env.step("fill 0 0 0 2 0 2 wood\nsetblock 0 0 0 wood")
    env.step("pass")
    info = env.infos["builder_0"]
    assert info["error"] == "refused: line 1: it takes 9 blocks, you have 7 wood"
    assert info["reward_components"]["form"] == pytest.approx(-0.05)
    assert "You may still place: 6 wood" in env.observe("builder_0")
    assert "You may still place: 7 wood" in env.observe("builder_1")


def test_no_agent_builds_the_house_alone():
    for one_agent in ("builder_0", "builder_1"):
        env = made(max_turns=6)
        while env.agents and not env.truncations[one_agent]:
            agent = env.agent_selection
            orders = "\n".join(env.expert(a) for a in env.possible_agents)
            env.step(orders if agent == one_agent else "pass")
        assert not env.success


def test_the_wrong_material_is_not_right():
    env = made(num_agents=1)
    env.step("fill 0 0 0 2 0 2 stone")
    assert env.infos["builder_0"]["reward_components"]["iou"] == 0.0


@pytest.mark.parametrize("level", tasks.LEVELS)
@pytest.mark.parametrize("num_agents", [1, 2])
def test_experts_need_one_round_and_divide_the_work(level, num_agents):
    env = llmzoo.make("house_build_v0", level=level, num_agents=num_agents, split="all").unwrapped
    for seed in range(60):
        env.reset(seed=seed)
        task = env.episode.task
        answers = [env.expert(agent) for agent in env.possible_agents]
        assert max(len(answer.splitlines()) for answer in answers) <= env.most
        before = {agent: dict(stock) for agent, stock in env.episode.world.stocks.items()}
        for answer in answers:
            env.step(answer)
        assert env.success
        assert [env.infos[agent]["error"] for agent in env.agents] == [None] * num_agents
        blocks = sum(task.counts.values())
        for agent, stock in env.episode.world.stocks.items():
            placed = sum(before[agent].values()) - sum(stock.values())
            assert placed >= 0.4 * blocks


@pytest.mark.parametrize("level", tasks.LEVELS)
def test_a_house_has_its_parts(level):
    rng = random.Random(1)
    wanted = tasks.LEVELS[level]
    for _ in range(100):
        task = tasks.sample_task(rng, **wanted._asdict())
        counts = task.counts
        assert counts[DOOR] == 2
        assert wanted.windows[0] <= counts[GLASS] <= wanted.windows[1]
        assert len(task.openings) == counts[DOOR] + counts[GLASS]
        assert {task.target[at] for at in task.walls} <= set(SOLID)
        assert {task.target[at] for at in task.roof} <= set(SOLID)
        width, _, depth = task.box
        assert task.target[: width * depth].count(AIR) == 0
        inner = [task.box.at(x, 1, z) for x in range(1, width - 1) for z in range(1, depth - 1)]
        assert {task.target[at] for at in inner} == {AIR}
        door = sorted(task.box.place(at) for at in task.openings if task.target[at] == DOOR)
        assert [y for _, y, _ in door] == [1, 2]
        assert len({(x, z) for x, _, z in door}) == 1


def test_turned_mirrored_and_renamed_houses_are_one_task():
    rng = random.Random(2)
    names = bytes.maketrans(bytes([WOOD, STONE, BRICK]), bytes([BRICK, WOOD, STONE]))
    for _ in range(50):
        task = tasks.sample_task(rng, **tasks.LEVELS["normal"]._asdict())
        cells = np.frombuffer(task.target, dtype=np.uint8).reshape(
            task.box.height, task.box.depth, task.box.width
        )
        for image in (cells[:, ::-1], cells[:, :, ::-1], np.rot90(cells, axes=(1, 2))):
            height, depth, width = image.shape
            other = HouseTask(
                Box(width, height, depth), image.tobytes().translate(names), (), (), ()
            )
            assert tasks.canonical(other) == tasks.canonical(task)
        fewer = HouseTask(task.box, bytes([AIR, *task.target[1:]]), (), (), ())
        assert tasks.canonical(fewer) != tasks.canonical(task)


def test_the_prompt_shows_the_layers():
    env = made()
    said = env.observe("builder_0")
    assert "y=1\nSDS\nS.S\nSSS\ny=2\nSDS\nG.S\nSSS\ny=3\nBBB" in said
    assert "Nothing stands yet." in said
    env.step("setblock 2 0 0 wood")
    env.step("pass")
    assert "What stands:\ny=0\n..W\n...\n..." in env.observe("builder_1")
    brief = made(prompt="terse")
    assert "1 SDS S.S SSS\n2 SDS G.S SSS" in brief.observe("builder_0")
