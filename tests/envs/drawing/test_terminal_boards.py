"""Boards as text for a terminal."""

from __future__ import annotations

import io
import re

import pytest

import llmzoo
from llmzoo.envs.drawing import Board, BoardCell, parse_board, terminal
from llmzoo.envs.games.sokoban.view import CELLS
from llmzoo.envs.games.sudoku.view import grid_board

CODES = re.compile(r"\x1b\[[0-9;]*m")


def bare(text):
    return CODES.sub("", text)


def test_a_sudoku_has_thick_lines_around_its_boxes():
    board = grid_board("12..341.2143....", "122.341.2143....")
    assert bare(terminal.render_coloured(board)).split("\n") == [
        "┏━━━┯━━━┳━━━┯━━━┓",
        "┃ 1 │ 2 ┃ 2 │   ┃",
        "┠───┼───╂───┼───┨",
        "┃ 3 │ 4 ┃ 1 │   ┃",
        "┣━━━┿━━━╋━━━┿━━━┫",
        "┃ 2 │ 1 ┃ 4 │ 3 ┃",
        "┠───┼───╂───┼───┨",
        "┃   │   ┃   │   ┃",
        "┗━━━┷━━━┻━━━┷━━━┛",
    ]


def test_a_level_has_a_frame():
    drawn = terminal.render_coloured(parse_board("#####\n#@$.#\n#+* #\n#####", CELLS))
    assert bare(drawn).split("\n") == [
        "╭───────────────╮",
        "│               │",
        "│    @  ■  ◇    │",
        "│    +  ■       │",
        "│               │",
        "╰───────────────╯",
    ]


def test_colours_tell_cells_apart_and_end_with_their_line():
    def codes(*cells):
        (line,) = terminal.render_coloured(Board((cells,))).split("\n")[1:-1]
        return CODES.findall(line)

    # the frame, the cells where the colour changes, the frame again, each ended
    one = codes(
        BoardCell("#", "wall"),
        BoardCell("#", "wall"),
        BoardCell(" ", "floor"),
        BoardCell("#", "wall"),
    )
    frame, end, wall, floor, again, *rest = one
    assert wall == again != floor
    assert (end, rest) == ("\x1b[0m", ["\x1b[0m", frame, "\x1b[0m"])
    grounds = {codes(BoardCell("x", kind))[2] for kind in ("given", "filled", "wrong", "box")}
    assert len(grounds) == 4
    assert all(line.endswith("\x1b[0m") for line in terminal.render_coloured(Board(())).split("\n"))


@pytest.mark.parametrize(
    ("colour", "number"), [("#000000", 16), ("#ffffff", 231), ("#ff0000", 196), ("#080808", 232)]
)
def test_the_nearest_fixed_colour(colour, number):
    assert terminal._nearest_colour(colour) == number


class Stream(io.StringIO):
    def __init__(self, terminal: bool, encoding: str):
        super().__init__()
        self._terminal, self._encoding = terminal, encoding

    @property
    def encoding(self):
        return self._encoding

    def isatty(self):
        return self._terminal


@pytest.mark.parametrize(
    ("is_terminal", "encoding", "env", "takes"),
    [
        (True, "utf-8", {}, True),
        (True, "UTF8", {}, True),
        (False, "utf-8", {}, False),
        (True, "latin-1", {}, False),  # it has no box-drawing lines
        (True, None, {}, False),
        (True, "utf-8", {"NO_COLOR": "1"}, False),
        (True, "utf-8", {"NO_COLOR": ""}, True),  # as if it were not set: no-color.org
        (True, "utf-8", {"TERM": "dumb"}, False),
        (False, "utf-8", {"FORCE_COLOR": "1"}, True),
        (False, "latin-1", {"FORCE_COLOR": "1"}, False),
        (True, "utf-8", {"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
    ],
)
def test_where_colours_are_shown(is_terminal, encoding, env, takes, monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert terminal.supports_colour(Stream(is_terminal, encoding)) is takes


def test_ansi_is_coloured_where_output_is(monkeypatch, capsys):
    env = llmzoo.make("sudoku_v0", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == env.unwrapped.board()
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert env.render() == terminal.render_coloured(env.unwrapped.picture())
    person = llmzoo.make("sudoku_v0", render_mode="human")
    person.reset(seed=0)
    assert capsys.readouterr().out == env.render() + "\n"
