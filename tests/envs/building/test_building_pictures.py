"""Boards of the building environments: in pictures, in the terminal and on the way of an answer."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import llmzoo
from llmzoo.envs.drawing import terminal

IDS = list(llmzoo.list_envs("building"))


def kinds(board):
    return Counter(cell.kind for row in board.rows for cell in row)


@pytest.mark.parametrize("id", IDS)
def test_the_picture_follows_the_episode(id):
    env = llmzoo.make(id, render_mode="rgb_array", num_agents=1)
    env.reset(seed=3)
    first = env.render()
    assert np.array_equal(env.render(), first)
    env.step(env.unwrapped.expert(env.agents[0]))
    assert env.render().shape == first.shape
    assert not np.array_equal(env.render(), first)


@pytest.mark.parametrize("id", IDS)
def test_a_board_as_text_in_the_terminal(id):
    env = llmzoo.make(id, render_mode="ansi").unwrapped
    env.reset(seed=0)
    lines = env.render().splitlines()
    assert lines
    board = env.picture()
    assert len(terminal.render_coloured(board).splitlines()) == len(board.rows) + 2


def test_plans_become_blocks():
    env = llmzoo.make("str_build_v0", num_agents=1).unwrapped
    env.reset(seed=0)
    cells = sum(map(bool, env.episode.task.target))
    assert kinds(env.picture())["plan"] == cells
    env.step(env.expert("builder_0"))
    seen = kinds(env.picture())
    assert seen["wood"] + seen["stone"] == cells
    assert "plan" not in seen


def test_the_layers_of_a_house_stand_side_by_side():
    env = llmzoo.make("house_build_v0", num_agents=1).unwrapped
    env.reset(seed=0)
    width, height, depth = env.episode.task.box
    board = env.picture()
    assert (len(board.rows), len(board.rows[0])) == (depth, height * (width + 1) - 1)


def test_the_valley_and_the_field():
    env = llmzoo.make("bridge_build_v0").unwrapped
    env.reset(seed=0)
    assert kinds(env.picture())["earth"] == sum(env.episode.task.earth)
    env = llmzoo.make("resource_gathering_v0").unwrapped
    env.reset(seed=0)
    seen = kinds(env.picture())
    assert seen["player"] == 2
    assert seen["wood"] + seen["stone"] + seen["iron"] == len(env.episode.task.stacks)
