"""How each kind of cell is drawn, with Pillow. Lengths are shares of a cell's side."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from PIL import ImageDraw, ImageFont
from PIL.Image import Image
from PIL.Image import new as new_image

from llmzoo.envs.drawing.board import Board, BoardCell, Kind
from llmzoo.envs.drawing.palette import CELLS, FRAME, LINE, parse_rgb

_DIGITS = frozenset({"given", "filled", "wrong"})


class Pen:
    """Draws in one cell: (0, 0) is its upper left corner, (1, 1) its lower right one."""

    def __init__(self, canvas: ImageDraw.ImageDraw, side: int):
        self.canvas, self.side = canvas, side

    def at(self, x: float, y: float) -> tuple[float, float]:
        return x * self.side, y * self.side

    def span(self, box: tuple[float, float, float, float]) -> list[float]:
        return [*self.at(*box[:2]), *self.at(*box[2:])]

    def thickness(self, share: float) -> int:
        return max(1, round(share * self.side))

    def disc(self, x: float, y: float, radius: float, fill: str) -> None:
        self.canvas.ellipse(self.span((x - radius, y - radius, x + radius, y + radius)), fill=fill)

    def ring(self, radius: float, width: float, colour: str) -> None:
        box = self.span((0.5 - radius, 0.5 - radius, 0.5 + radius, 0.5 + radius))
        self.canvas.ellipse(box, outline=colour, width=self.thickness(width))

    def block(self, edge: float, radius: float, fill: str, outline: str, width: float) -> None:
        self.canvas.rounded_rectangle(
            self.span((edge, edge, 1 - edge, 1 - edge)),
            radius=radius * self.side,
            fill=fill,
            outline=outline,
            width=self.thickness(width),
        )

    def line(self, start: tuple[float, float], end: tuple[float, float], colour: str) -> None:
        self.canvas.line([self.at(*start), self.at(*end)], fill=colour, width=self.thickness(0.05))

    def polygon(self, points: list[tuple[float, float]], fill: str) -> None:
        self.canvas.polygon([self.at(*point) for point in points], fill=fill)


def draw_board(picture: Image, board: Board, side: int, margin: int) -> None:
    """Draw cells of ``side`` pixels on a picture, ``margin`` pixels away from its edges."""
    canvas = ImageDraw.Draw(picture)
    columns, rows = len(board.rows[0]), len(board.rows)
    right, bottom = margin + columns * side, margin + rows * side
    for row, cells in enumerate(board.rows):
        for column, cell in enumerate(cells):
            picture.paste(_tile(cell, side), (margin + column * side, margin + row * side))
    if board.block:
        _draw_sudoku_lines(canvas, board.block, side, margin, right, bottom)
    thick = max(2, side // 18)
    canvas.rounded_rectangle(
        [margin - thick, margin - thick, right + thick - 1, bottom + thick - 1],
        radius=2 * thick,
        outline=FRAME,
        width=thick,
    )


@lru_cache(maxsize=128)  # a board has many cells of few kinds
def _tile(cell: BoardCell, side: int) -> Image:
    tile = new_image("RGB", (side, side), CELLS[cell.kind].fill)
    _DRAW_BY_KIND[cell.kind](Pen(ImageDraw.Draw(tile), side), cell)
    return tile


def _draw_sudoku_lines(
    canvas: ImageDraw.ImageDraw, block: int, side: int, margin: int, right: int, bottom: int
) -> None:
    """The lines of a sudoku, the thick ones last."""
    for step, width, colour in ((1, side // 45, LINE), (block, side // 18, FRAME)):
        for at in range(margin + step * side, right, step * side):
            canvas.line([(at, margin), (at, bottom)], fill=colour, width=max(1, width))
        for at in range(margin + step * side, bottom, step * side):
            canvas.line([(margin, at), (right, at)], fill=colour, width=max(1, width))


def _draw_nothing(pen: Pen, cell: BoardCell) -> None:
    """An empty cell of a sudoku."""


def _wall(pen: Pen, cell: BoardCell) -> None:
    look = CELLS[cell.kind]
    pen.block(0.06, 0.12, _mix(look.fill, "#ffffff", 0.09), look.fill, 0.02)
    pen.line((0.16, 0.12), (0.84, 0.12), _mix(look.fill, "#ffffff", 0.25))
    pen.line((0.16, 0.9), (0.84, 0.9), _mix(look.fill, "#000000", 0.14))


def _floor(pen: Pen, cell: BoardCell) -> None:
    edge = _mix(CELLS["floor"].fill, LINE, 0.45)
    pen.canvas.rectangle(pen.span((0, 0, 1, 1)), outline=edge, width=pen.thickness(0.02))


def _goal(pen: Pen, cell: BoardCell) -> None:
    _floor(pen, cell)
    ink = CELLS["goal"].ink
    pen.ring(0.26, 0.07, ink)
    pen.disc(0.5, 0.5, 0.09, ink)


def _box(pen: Pen, cell: BoardCell) -> None:
    look = CELLS[cell.kind]
    ground = CELLS["floor"].fill
    pen.canvas.rectangle(pen.span((0, 0, 1, 1)), fill=ground)
    _floor(pen, cell)
    pen.block(0.1, 0.09, look.fill, look.ink, 0.055)
    light = _mix(look.fill, look.ink, 0.45)
    pen.line((0.22, 0.22), (0.78, 0.78), light)
    pen.line((0.78, 0.22), (0.22, 0.78), light)
    pen.canvas.rectangle(
        pen.span((0.21, 0.21, 0.79, 0.79)), outline=light, width=pen.thickness(0.035)
    )


def _box_on_goal(pen: Pen, cell: BoardCell) -> None:
    _box(pen, cell)
    pen.disc(0.5, 0.5, 0.17, CELLS[cell.kind].ink)
    white = "#ffffff"
    pen.line((0.42, 0.51), (0.48, 0.57), white)
    pen.line((0.48, 0.57), (0.6, 0.44), white)


def _player(pen: Pen, cell: BoardCell) -> None:
    _floor(pen, cell)
    _pawn(pen, CELLS[cell.kind].ink)


def _player_on_goal(pen: Pen, cell: BoardCell) -> None:
    _floor(pen, cell)
    pen.ring(0.4, 0.06, CELLS["goal"].ink)
    _pawn(pen, CELLS[cell.kind].ink)


def _pawn(pen: Pen, colour: str) -> None:
    """A head, a collar, a body and a foot."""
    pen.polygon([(0.43, 0.38), (0.57, 0.38), (0.7, 0.8), (0.3, 0.8)], colour)
    for box in ((0.22, 0.75, 0.78, 0.89), (0.35, 0.42, 0.65, 0.49)):
        radius = 0.5 * (box[3] - box[1]) * pen.side
        pen.canvas.rounded_rectangle(pen.span(box), radius=radius, fill=colour)
    pen.disc(0.5, 0.27, 0.165, colour)
    pen.disc(0.45, 0.22, 0.045, _mix(colour, "#ffffff", 0.45))


def _digit(pen: Pen, cell: BoardCell) -> None:
    font = ImageFont.load_default(0.58 * pen.side)
    bold = pen.thickness(0.014) if cell.kind == "given" else 0
    pen.canvas.text(
        pen.at(0.5, 0.5),
        cell.symbol,
        fill=CELLS[cell.kind].ink,
        font=font,
        anchor="mm",
        stroke_width=bold,
    )


def _block(pen: Pen, cell: BoardCell) -> None:
    """A face with a bevelled edge and two courses."""
    look = CELLS[cell.kind]
    pen.block(0.0, 0.06, look.fill, look.ink, 0.05)
    pen.line((0.05, 0.5), (0.95, 0.5), look.ink)
    pen.line((0.34, 0.05), (0.34, 0.5), look.ink)
    pen.line((0.67, 0.5), (0.67, 0.95), look.ink)


def _pane(pen: Pen, cell: BoardCell) -> None:
    look = CELLS[cell.kind]
    pen.block(0.0, 0.06, look.fill, look.ink, 0.07)
    pen.line((0.2, 0.55), (0.55, 0.2), look.ink)
    pen.line((0.35, 0.75), (0.75, 0.35), look.ink)


def _ore(pen: Pen, cell: BoardCell) -> None:
    look = CELLS[cell.kind]
    pen.block(0.0, 0.06, look.fill, _mix(look.fill, "#000000", 0.3), 0.05)
    for x, y in ((0.3, 0.32), (0.66, 0.3), (0.48, 0.6), (0.26, 0.74), (0.74, 0.72)):
        pen.disc(x, y, 0.09, look.ink)


def _door(pen: Pen, cell: BoardCell) -> None:
    look = CELLS[cell.kind]
    pen.canvas.rectangle(
        pen.span((0.16, 0.14, 0.84, 0.86)), outline=look.ink, width=pen.thickness(0.05)
    )
    pen.disc(0.7, 0.52, 0.07, look.ink)


def _plan(pen: Pen, cell: BoardCell) -> None:
    """A frame, and the letter of what is to stand there."""
    pen.block(0.1, 0.06, CELLS[cell.kind].fill, CELLS[cell.kind].ink, 0.03)
    _digit(pen, cell)


def _earth(pen: Pen, cell: BoardCell) -> None:
    for x, y in ((0.25, 0.3), (0.6, 0.2), (0.8, 0.55), (0.42, 0.62), (0.18, 0.8), (0.7, 0.85)):
        pen.disc(x, y, 0.06, CELLS[cell.kind].ink)


def _mix(one: str, other: str, share: float) -> str:
    """A colour with ``share`` of another one in it."""
    parts = zip(parse_rgb(one), parse_rgb(other), strict=True)
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in parts)


_DRAW_BY_KIND: dict[Kind, Callable[[Pen, BoardCell], None]] = {
    "wall": _wall,
    "floor": _floor,
    "empty": _draw_nothing,
    "goal": _goal,
    "box": _box,
    "box_on_goal": _box_on_goal,
    "player": _player,
    "player_on_goal": _player_on_goal,
    "given": _digit,
    "filled": _digit,
    "wrong": _digit,
    "wood": _block,
    "stone": _block,
    "brick": _block,
    "glass": _pane,
    "iron": _ore,
    "door": _door,
    "plan": _plan,
    "earth": _earth,
}
