"""Boards as pictures. Pillow draws them at three times their size and reduces them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from llmzoo.envs.drawing.board import Board
from llmzoo.envs.drawing.palette import PAPER
from llmzoo.errors import require_extra

if TYPE_CHECKING:
    from PIL.Image import Image

CELL = 56  # pixels of a cell's side, unless the board is too large
LARGEST = 960  # most pixels of the longer side of a board, without its margin
SMALLEST = 8  # pixels of a cell's side
GIF_SCALE = 0.5  # size of animated pictures relative to others
_FINE = 3  # drawn so many times as large


def to_rgb(board: Board) -> np.ndarray:
    """The picture of a board, [height, width, 3] uint8.

    Cells are 56 pixels wide, or less if a side of the board has more than 17. Raises
    :class:`llmzoo.errors.MissingExtraError` if Pillow is not installed.
    """
    return np.asarray(to_image(board))


def to_image(board: Board, cell: int | None = None) -> Image:
    """The same as Pillow's image; ``cell``: pixels of a cell's side."""
    pillow = _import_pillow("a picture of a board")
    from llmzoo.envs.drawing.strokes import draw_board

    side = cell or _cell_side(board)
    columns, rows = len(board.rows[0]), len(board.rows)
    margin = max(2, side // 3)
    size = columns * side + 2 * margin, rows * side + 2 * margin
    picture = pillow.new("RGB", (size[0] * _FINE, size[1] * _FINE), PAPER)
    draw_board(picture, board, side * _FINE, margin * _FINE)
    return picture.reduce(_FINE)


def save_gif(boards: Sequence[Board], path: Path, seconds: float = 0.3) -> None:
    """Write boards of one size as an animated GIF, ``seconds`` each; the first is shown three times as
    long, the last six times. Half the size of :func:`to_rgb`."""
    side = max(SMALLEST, round(GIF_SCALE * _cell_side(boards[0])))
    each = round(1000 * seconds)
    waits = [3 * each, *[each] * (len(boards) - 1)]
    waits[-1] = 6 * each
    others = (to_image(board, side) for board in boards[1:])
    to_image(boards[0], side).save(
        path, format="GIF", save_all=True, append_images=others, duration=waits, loop=0
    )


def require_pillow() -> None:
    """Raise :class:`llmzoo.errors.MissingExtraError` if Pillow is not installed."""
    _import_pillow("a picture of a board")


def _cell_side(board: Board) -> int:
    longest = max(len(board.rows), len(board.rows[0]))
    return max(SMALLEST, min(CELL, LARGEST // longest))


def _import_pillow(what: str) -> Any:
    with require_extra(what, "train"):
        from PIL import Image
    return Image
