"""Boards as arrays, pictures and animations."""

from __future__ import annotations

import builtins
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import llmzoo
from llmzoo.envs.drawing import Board, BoardCell, palette, parse_board, pixels
from llmzoo.envs.drawing.palette import CELLS, parse_rgb
from llmzoo.envs.games.sokoban.view import CELLS as SOKOBAN
from llmzoo.errors import MissingExtraError


def cell_of(picture, row, column, side):
    margin = max(2, side // 3)
    top, left = margin + row * side, margin + column * side
    return picture[top : top + side, left : left + side]


def has(picture, colour):
    """Pixels that come near a colour (edges are blended)."""
    return int((np.abs(picture.astype(int) - parse_rgb(colour)).max(axis=-1) <= 12).sum())


def test_the_size_follows_from_the_board():
    board = parse_board("\n".join(["#" * 6] * 4), SOKOBAN)
    picture = pixels.to_rgb(board)
    assert (picture.shape, picture.dtype) == ((4 * 56 + 36, 6 * 56 + 36, 3), np.uint8)
    assert tuple(picture[0, 0]) == parse_rgb(palette.PAPER)
    assert pixels.to_rgb(parse_board("\n".join(["#" * 40] * 2), SOKOBAN)).shape[1] == 40 * 24 + 16
    assert pixels.to_rgb(parse_board("\n".join(["#" * 300] * 2), SOKOBAN)).shape[1] == 300 * 8 + 4


@pytest.mark.parametrize("kind", CELLS)
def test_each_kind_shows_its_own_colours_in_its_own_cell(kind):
    symbol = {"given": "3", "filled": "3", "wrong": "3"}.get(kind, "#")
    floor = BoardCell(" ", "floor")
    picture = pixels.to_rgb(Board(((floor, floor), (floor, BoardCell(symbol, kind)))))
    inside = cell_of(picture, 1, 1, 56)[4:-4, 4:-4]
    assert has(inside, CELLS[kind].fill) > 100 or kind == "wall"
    if kind not in ("wall", "floor", "empty"):
        assert has(inside, CELLS[kind].ink) > 40
    if kind != "floor":
        assert not np.array_equal(inside, cell_of(picture, 0, 0, 56)[4:-4, 4:-4])


def test_pictures_of_different_cells_differ():
    symbols = {"given": "3", "filled": "3", "wrong": "3"}
    seen = {
        pixels.to_rgb(Board(((BoardCell(symbols.get(kind, "#"), kind),),))).tobytes()
        for kind in CELLS
    }
    assert len(seen) == len(CELLS)


@pytest.mark.parametrize("id", ["sudoku_v0", "sokoban_v0", "plan_path_v0"])
def test_the_picture_follows_the_episode(id):
    env = llmzoo.make(id, render_mode="rgb_array", num_agents=1)
    env.reset(seed=3)
    first = env.render()
    assert np.array_equal(env.render(), first)
    env.step(env.unwrapped.expert("planner_0"))
    assert env.render().shape == first.shape
    assert not np.array_equal(env.render(), first)
    env.reset(seed=3)
    assert np.array_equal(env.render(), first)


def test_an_animation_has_a_frame_for_each_board(tmp_path):
    boards = [parse_board(row, SOKOBAN) for row in ("@ $.", " @$.", "  @*")]
    pixels.save_gif(boards, tmp_path / "play.gif", seconds=0.5)
    with Image.open(tmp_path / "play.gif") as film:
        assert film.n_frames == 3
        waits = []
        for number, board in enumerate(boards):
            film.seek(number)
            waits.append(film.info["duration"])
            shown = np.asarray(film.convert("RGB")).astype(int)
            assert np.abs(shown - np.asarray(pixels.to_image(board, 28))).mean() < 3
        assert waits == [1500, 500, 3000]


def test_an_animation_of_one_board(tmp_path):
    pixels.save_gif([parse_board("@ $.", SOKOBAN)], tmp_path / "play.gif")
    with Image.open(tmp_path / "play.gif") as film:
        assert film.n_frames == 1


def test_without_pillow(monkeypatch):
    real = builtins.__import__

    def absent(name, *args, **kwargs):
        if name.partition(".")[0] == "PIL":
            raise ModuleNotFoundError("No module named 'PIL'", name="PIL")
        return real(name, *args, **kwargs)

    env = llmzoo.make("sudoku_v0", render_mode="rgb_array")
    env.reset(seed=0)
    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(
        MissingExtraError, match=r"a picture of a board needs the extra 'train'.*PIL"
    ):
        env.render()


def test_nothing_is_imported_before_something_is_drawn():
    code = """
import sys, llmzoo
env = llmzoo.make("sudoku_v0", render_mode="ansi")
env.reset(seed=0)
env.render()
assert not {"PIL", "torch", "llmzoo.envs.drawing.pixels"} & set(sys.modules), "too early"
env = llmzoo.make("sudoku_v0", render_mode="rgb_array")
env.reset(seed=0)
env.render()
assert "PIL" in sys.modules and "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_picture_of_the_documentation_is_what_its_script_draws():
    docs = Path(llmzoo.__file__).parent.parent / "docs"
    path = docs / "images" / "boards.png"
    assert path.stat().st_size < 150_000
    script = runpy.run_path(str(docs / "boards.py"))
    drawn = script["side_by_side"](script["boards"]())
    with Image.open(path) as picture:
        stored = np.asarray(picture.convert("RGB")).astype(int)
    assert np.abs(stored - np.asarray(drawn)).mean() < 2  # it has fewer colours
