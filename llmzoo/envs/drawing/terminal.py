"""Boards in a terminal: coloured cells in a frame of box-drawing lines. Pure functions of a board."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from typing import TextIO

from llmzoo.envs.drawing.board import Board, BoardCell, Kind
from llmzoo.envs.drawing.palette import CELLS, FRAME, LINE, CellStyle, parse_rgb

_RESET = "\x1b[0m"
_BOLD: frozenset[Kind] = frozenset({"given", "player", "player_on_goal", "box", "box_on_goal"})
_SIGNS: dict[Kind, str] = {
    "wall": " ",
    "floor": " ",
    "empty": " ",
    "goal": "◇",
    "box": "■",
    "box_on_goal": "■",
}

# a crossing by its heavy lines: (across, down) -> sign
_CROSSINGS = {
    (False, False): "┼",
    (True, False): "┿",
    (False, True): "╂",
    (True, True): "╋",
}


def supports_colour(stream: TextIO) -> bool:
    """Whether boards may be drawn in colour there: on a terminal with UTF-8.

    A ``NO_COLOR`` that is not empty means no. Otherwise ``FORCE_COLOR`` means yes, and ``TERM=dumb``
    no.
    """
    encoding = (stream.encoding or "").lower().replace("-", "")
    if os.environ.get("NO_COLOR") or encoding != "utf8":
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def render_coloured(board: Board) -> str:
    """The board as lines of text with 256 colours; sudoku's with a line around every cell."""
    return _render_sudoku(board, board.block) if board.block else _render_framed(board)


def _render_framed(board: Board) -> str:
    width = 3 * len(board.rows[0]) if board.rows else 0
    side = _colour_text("│", FRAME)
    rows = [f"{side}{_render_cells(row)}{side}" for row in board.rows]
    top, bottom = _colour_text(f"╭{'─' * width}╮", FRAME), _colour_text(f"╰{'─' * width}╯", FRAME)
    return "\n".join([top, *rows, bottom])


def _render_sudoku(board: Board, block: int) -> str:
    columns = len(board.rows[0]) if board.rows else 0
    heavy = [(column + 1) % block == 0 for column in range(columns - 1)]

    def rule(left: str, right: str, dash: str, crossings: Sequence[str]) -> str:
        cells = "".join(f"{dash * 3}{crossing}" for crossing in crossings)
        return _colour_text(f"{left}{cells}{dash * 3}{right}", FRAME)

    lines = [rule("┏", "┓", "━", ["┳" if is_heavy else "┯" for is_heavy in heavy])]
    bars = [
        _colour_text("┃" if is_heavy else "│", FRAME if is_heavy else LINE) for is_heavy in heavy
    ]
    side = _colour_text("┃", FRAME)
    for number, row in enumerate(board.rows, start=1):
        cells = [_render_cells([cell]) for cell in row]
        within = "".join(cell + bar for cell, bar in zip(cells, bars, strict=False))
        lines.append(f"{side}{within}{cells[-1]}{side}")
        if number == len(board.rows):
            lines.append(rule("┗", "┛", "━", ["┻" if is_heavy else "┷" for is_heavy in heavy]))
        elif number % block == 0:
            lines.append(rule("┣", "┫", "━", [_CROSSINGS[True, h] for h in heavy]))
        else:
            lines.append(rule("┠", "┨", "─", [_CROSSINGS[False, h] for h in heavy]))
    return "\n".join(lines)


def _render_cells(cells: Sequence[BoardCell]) -> str:
    """Cells side by side; a colour is named where it begins."""
    parts, before = [], ""
    for cell in cells:
        style = _style_codes(CELLS[cell.kind], cell.kind in _BOLD)
        sign = _SIGNS.get(cell.kind) or cell.symbol
        parts.append(f" {sign} " if style == before else f"{style} {sign} ")
        before = style
    return "".join([*parts, _RESET])


@cache
def _style_codes(look: CellStyle, bold: bool) -> str:
    weight = "1" if bold else "22"
    return f"\x1b[{weight};38;5;{_nearest_colour(look.ink)};48;5;{_nearest_colour(look.fill)}m"


def _colour_text(text: str, colour: str) -> str:
    return f"\x1b[38;5;{_nearest_colour(colour)}m{text}{_RESET}"


@cache
def _nearest_colour(colour: str) -> int:
    """The nearest of the 240 fixed colours that terminals know as 16 to 255."""
    wanted = parse_rgb(colour)
    return min(
        _xterm_colours(),
        key=lambda number: sum(
            (a - b) ** 2 for a, b in zip(_xterm_colours()[number], wanted, strict=True)
        ),
    )


@cache
def _xterm_colours() -> dict[int, tuple[int, int, int]]:
    """xterm's cube of 6 x 6 x 6 colours and its 24 greys, by number."""
    steps = (0, 95, 135, 175, 215, 255)
    cube = [(red, green, blue) for red in steps for green in steps for blue in steps]
    greys = [(8 + 10 * step,) * 3 for step in range(24)]
    return dict(enumerate([*cube, *greys], start=16))
