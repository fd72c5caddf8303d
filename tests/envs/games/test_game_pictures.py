"""The pictures of the games, cell by cell as the world is."""

from __future__ import annotations

import json
import random

import pytest

import llmzoo
from llmzoo.envs.drawing import BoardCell, parse_board
from llmzoo.envs.games.sokoban.levels import build_tables

LEVELS = """\
  #####
###   #
#.@$  #
### $.#
#.##$ #
# # . ##
#$ *$$.#
#   .  #
########

#######
#+  $ #
# $ . #
#######
"""
FORMS = [  # of each game several sizes, with both prompts
    ("sudoku_v0", {}, "full"),
    ("sudoku_v0", {"difficulty": "hard", "num_agents": 1}, "terse"),
    ("sudoku_v0", {"size": 9}, "terse"),
    ("sokoban_v0", {}, "terse"),
    ("sokoban_v0", {"height": 6, "width": 9, "boxes": 3, "walls": 0.1}, "full"),
    ("sokoban_v0", {"size": 8, "boxes": 2, "num_agents": 1}, "full"),
    ("sokoban_v0", {"source": "levels"}, "terse"),
    ("plan_path_v0", {}, "full"),
    ("plan_path_v0", {"height": 3, "width": 7, "density": 0.4, "num_agents": 1}, "full"),
    ("plan_path_v0", {"size": 30}, "terse"),
]


def made(id, prompt="full", tmp_path=None, **kwargs):
    if "source" in kwargs:
        (tmp_path / "levels").write_text(LEVELS)
        kwargs |= {"source": str(tmp_path / "levels"), "split": "all"}
    return llmzoo.make(id, prompt=prompt, **kwargs).unwrapped


# what each game's world looks like, from its own numbers and not from its text


def sudoku_cells(env, world):
    puzzle, grid, _ = world
    size = env.episode.task.size
    side = int(size**0.5)

    def clashing(one, other):
        (a, b), (c, d) = divmod(one, size), divmod(other, size)
        together = a == c or b == d or (a // side, b // side) == (c // side, d // side)
        return one != other and together and grid[one] == grid[other] != "."

    def kind(cell):
        if grid[cell] == ".":
            return "empty"
        if puzzle[cell] != ".":
            return "given"
        return "wrong" if any(clashing(cell, other) for other in range(len(grid))) else "filled"

    return [[(grid[r * size + c], kind(r * size + c)) for c in range(size)] for r in range(size)]


def sokoban_cells(env, world):
    board = build_tables(world.level)
    walls = [symbol == "#" for symbol in world.level.replace("\n", "")]

    def cell(index):
        goal, box = (bool(mask >> index & 1) for mask in (board.goals, world.boxes))
        if index == world.player:
            return ("+", "player_on_goal") if goal else ("@", "player")
        if box:
            return ("*", "box_on_goal") if goal else ("$", "box")
        if walls[index]:
            return "#", "wall"
        return (".", "goal") if goal else (" ", "floor")

    width = board.width
    return [[cell(r * width + c) for c in range(width)] for r in range(board.height)]


def path_cells(env, world):
    task = env.episode.task

    def cell(index):
        if index == world:
            return ("@", "player_on_goal") if index == task.goal else ("@", "player")
        if index == task.goal:
            return "G", "goal"
        return (".", "floor") if task.is_open(index) else ("#", "wall")

    height, width = len(task.rows), len(task.rows[0])
    return [[cell((r, c)) for c in range(width)] for r in range(height)]


CELLS = {"sudoku_v0": sudoku_cells, "sokoban_v0": sokoban_cells, "plan_path_v0": path_cells}


def cells_of(env, world):
    return tuple(map(tuple, CELLS[env.metadata["name"]](env, world)))


def answer(env, agent, rng):
    """What an agent says: mostly somebody's plan, at times nonsense or an illegal one."""
    if env.metadata["name"] == "sudoku_v0":
        size = env.episode.task.size
        one, two, value = (rng.randint(1, size) for _ in range(3))
        others = [f"[{one}, {two}, {value}]", "\n".join(["1" * size] * size)]
    else:
        others = ["".join(rng.choices("UDLR", k=rng.randint(1, 40))), "U" * 1000]
    chance = rng.random()
    if chance < 0.5:
        return env.noisy_expert(agent, rng)
    return env.expert(agent) if chance < 0.6 else rng.choice([*others, "I do not know"])


@pytest.mark.parametrize(("id", "kwargs", "prompt"), FORMS)
def test_the_picture_is_the_world(id, kwargs, prompt, tmp_path):
    env = made(id, prompt, tmp_path, **kwargs)
    for seed in range(12):
        env.reset(seed=seed)
        rng = random.Random(seed)
        for agent in env.agent_iter():
            assert env.picture().rows == cells_of(env, env.episode.world)
            _, _, terminated, truncated, _ = env.last()
            env.step(None if terminated or truncated else answer(env, agent, rng))


def test_a_solved_world_and_the_end_of_an_episode():
    for id in CELLS:
        env = made(id)
        env.reset(seed=1)
        while not env.success:
            env.step(env.expert(env.agent_selection))
        assert env.picture().rows == cells_of(env, env.episode.world)


def test_a_sudoku_shows_what_is_wrong_and_as_json():
    env = made("sudoku_v0", num_agents=1)
    env.reset(seed=0)
    puzzle = env.episode.world.puzzle
    row = next(r for r in range(4) if puzzle[4 * r : 4 * r + 4].count(".") in (1, 2, 3))
    line = puzzle[4 * row : 4 * row + 4]
    given = next(digit for digit in line if digit != ".")
    at = line.index(".")
    env.step(f"[{row + 1}, {at + 1}, {given}]")
    board = env.picture()
    assert board.rows[row][at] == (given, "wrong")
    assert board.rows[row][line.index(given)] == (given, "given")
    saved = json.loads(json.dumps(board.to_dict()))
    cells = [[saved["cells"][number] for number in numbers] for numbers in saved["rows"]]
    assert cells == [[list(cell) for cell in line] for line in board.rows]
    assert saved["block"] == 2


def test_symbols_that_a_game_does_not_name_are_empty_cells():
    board = parse_board("a@\n@b", {"@": BoardCell("@", "player")})
    assert board.rows == ((("a", "empty"), ("@", "player")), (("@", "player"), ("b", "empty")))
    assert board.text() == "a@\n@b"
