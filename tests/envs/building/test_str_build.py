"""Episodes of str_build_v0: what an agent reads, and the rewards; numbers by hand."""

from __future__ import annotations

import random

import pytest

import llmzoo
from llmzoo import testing
from llmzoo.envs.building.font import HEIGHT, LETTERS, WIDTH, text_rows
from llmzoo.envs.building.str_build import tasks
from llmzoo.envs.building.str_build.tasks import WordTask
from llmzoo.errors import ConfigError


def made(text="L", **kwargs):
    """An environment in the task of a text."""
    env = llmzoo.make("str_build_v0", letters=len(text), **kwargs).unwrapped
    env.reset(seed=0)
    env.episode = type(env.episode)(WordTask(text), env.initial_world(WordTask(text)))
    return env


def test_the_font_has_26_different_letters_of_one_piece():
    assert len(set(LETTERS.values())) == len(LETTERS) == 26
    for letter, rows in LETTERS.items():
        assert len(rows) == HEIGHT, letter
        assert {len(row) for row in rows} == {WIDTH}
        assert any(row[0] == "#" for row in rows), letter
        assert any(row[-1] == "#" for row in rows), letter
        cells = {(x, y) for y, row in enumerate(rows) for x, c in enumerate(row) if c == "#"}
        reached = {min(cells)}
        while more := {
            (x, y)
            for x, y in cells - reached
            for a, b in reached
            if max(abs(x - a), abs(y - b)) == 1
        }:
            reached |= more
        assert reached == cells, letter


def test_a_text_as_rows():
    assert text_rows("LI")[0] == "#.....#####"
    assert text_rows("LI")[-1] == "#####.#####"


def test_the_plan_stands_upright():
    """The lowest row of L is its long one: y is 0 there."""
    task = WordTask("L")
    assert [task.box.place(at)[:2] for at, cell in enumerate(task.target) if cell] == [
        *((x, 0) for x in range(5)),
        *((0, y) for y in range(1, 7)),
    ]


def test_an_episode_in_numbers():
    """L has 11 cells and 10 pairs. Half of it is built of one material: 6 cells, no pairs; then the rest."""
    env = made()
    env.step("fill 0 0 0 4 0 0 wood\nsetblock 0 1 0 wood")
    env.step("pass")
    assert env.rewards == pytest.approx(dict.fromkeys(env.agents, 0.4 * 6 / 11))
    env.step("setblock 0 2 0 wood\nsetblock 0 4 0 wood\nsetblock 0 6 0 wood")
    env.step(
        "setblock 0 1 0 stone\nsetblock 0 3 0 stone\nsetblock 0 5 0 stone\nsetblock 1 0 0 stone"
    )
    # all cells; of ten pairs all but those at x 2 to 4 of the lowest row
    parts = env.infos["builder_0"]["reward_components"]
    assert parts == pytest.approx({"iou": 0.4 * 5 / 11, "pairs": 0.4 * 8 / 10, "whole": 0.0})
    assert not env.success
    assert env.truncations["builder_0"]


def test_a_chessboard_is_a_success_in_either_colour():
    for even, odd in (("builder_0", "builder_1"), ("builder_1", "builder_0")):
        env = made("X")
        cells = {"builder_0": [], "builder_1": []}
        for at, wanted in enumerate(env.episode.task.target):
            x, y, z = env.episode.task.box.place(at)
            material = "wood" if (x + y) % 2 == (even == "builder_1") else "stone"
            if wanted:
                owner = even if (x + y) % 2 == 0 else odd
                assert (material == "wood") == (owner == "builder_0")
                cells[owner].append(f"setblock {x} {y} {z} {material}")
        for agent in env.possible_agents:
            env.step("\n".join(cells[agent]))
        assert env.success
        assert env.rewards == pytest.approx(dict.fromkeys(env.agents, 1.0))


def test_building_and_tearing_down_earns_nothing():
    env = made(max_turns=4)
    total = 0.0
    for orders in ("setblock 0 0 0 wood", "setblock 0 0 0 air") * 2:
        env.step(orders)
        env.step("pass")
        total += env.rewards["builder_0"]
    assert total == pytest.approx(0.0)


def test_refused_orders_cost_their_share_and_the_others_count():
    env = made()
    env.step("setblock 0 0 0 wood\nsetblock 0 0 0 stone\nsetblock 99 0 0 wood\nfill 1")
    env.step("nothing to say")
    info = env.infos["builder_0"]
    assert info["reward_components"] == pytest.approx(
        {"form": -0.1 * 3 / 4, "iou": 0.4 / 11, "pairs": 0.0, "whole": 0.0}
    )
    assert info["error"].startswith("refused: line 2: a material is air, wood; line 3: x is from 0")
    assert "1 order carried out, 3 refused (line 2" in env.observe("builder_0")
    other = env.infos["builder_1"]
    assert other["reward_components"]["form"] == -0.1
    assert other["error"].startswith("malformed: no order in it")
    assert "Your last answer: malformed: no order" in env.observe("builder_1")


def test_cells_that_both_write_cost_both():
    env = made()
    env.step("setblock 0 0 0 wood\nsetblock 1 0 0 wood")
    env.step("setblock 0 0 0 stone")
    assert env.infos["builder_0"]["reward_components"]["overlap"] == pytest.approx(-0.05)
    assert env.infos["builder_1"]["reward_components"]["overlap"] == pytest.approx(-0.1)
    assert env.board().splitlines()[-1] == "SW###"  # the later builder's block stands


@pytest.mark.parametrize("prompt", ["full", "terse"])
def test_no_agent_reads_the_orders_of_the_same_round(prompt):
    env = made(prompt=prompt)
    before = env.observe("builder_1")
    env.step("setblock 0 0 0 wood")
    assert env.observe("builder_1") == before
    env.step("pass")
    assert "W####" in env.observe("builder_1") or "W...." in env.observe("builder_1")


def test_one_material_builds_at_most_half():
    """Whatever a lone builder does, no two of its blocks may touch."""
    env = made("H")
    env.step("fill 0 0 0 4 6 0 wood")
    env.step("pass")
    assert env.infos["builder_0"]["reward_components"]["pairs"] == 0.0


def test_an_agent_alone_has_both_materials():
    env = made("L", num_agents=1, max_turns=1)
    assert "You place wood and stone." in env.observe("builder_0")
    env.step(env.expert("builder_0"))
    assert env.success


@pytest.mark.parametrize("level", tasks.LEVELS)
@pytest.mark.parametrize("num_agents", [1, 2])
def test_experts_need_one_round_and_divide_the_work(level, num_agents):
    env = llmzoo.make("str_build_v0", level=level, num_agents=num_agents, split="all").unwrapped
    for seed in range(100):
        env.reset(seed=seed)
        answers = [env.expert(agent) for agent in env.possible_agents]
        counts = [len(answer.splitlines()) for answer in answers]
        assert max(counts) <= env.most
        assert min(counts) >= 0.25 * sum(counts)
        for answer in answers:
            env.step(answer)
        assert env.success
        assert all(reward == pytest.approx(1.0) for reward in env.rewards.values())


def test_experts_mend_what_noisy_experts_built():
    env = llmzoo.make("str_build_v0", max_turns=2).unwrapped
    rng = random.Random(0)
    for seed in range(100):
        env.reset(seed=seed)
        for agent in env.possible_agents:
            env.step(env.noisy_expert(agent, rng))
        if env.success:
            continue
        for agent in env.possible_agents:
            env.step(env.expert(agent))
        assert env.success


def test_mirror_images_are_one_task():
    same = [("AT", "TA"), ("B", "B"), ("OX", "XO")]
    for one, other in same:
        assert tasks.canonical(WordTask(one)) == tasks.canonical(WordTask(other))
    assert tasks.canonical(WordTask("AB")) != tasks.canonical(WordTask("BA"))


def test_wrong_arguments():
    for arguments, said in (
        ({"level": "huge"}, "level must be one of easy, normal, hard"),
        ({"letters": 6}, "letters must be 1 to 5, got 6"),
        ({"num_agents": 3}, "num_agents must be one of 1, 2"),
        ({"max_turns": 21}, "max_turns must be 1 to 20"),
        ({"prompt": "long"}, "prompt must be one of full, terse"),
    ):
        with pytest.raises(ConfigError, match=said):
            llmzoo.make("str_build_v0", **arguments)


def test_numbered_tasks_are_the_same_on_every_machine():
    """A generator that draws otherwise makes results incomparable: it needs a new version."""
    assert testing.task_ids(llmzoo.make("str_build_v0", split="test"), 1) == ["38da8135d8cf1d0b"]
    alone = llmzoo.make("str_build_v0", split="test", num_agents=1)
    assert testing.task_ids(alone, 1) == ["38da8135d8cf1d0b"]
