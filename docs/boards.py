"""Draws ``docs/images/boards.png``: the three games with a board, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

import llmzoo
from llmzoo.envs.drawing import Board, palette
from llmzoo.envs.drawing.pixels import image

PICTURE = Path(__file__).parent / "images" / "boards.png"


def boards() -> list[tuple[str, Board]]:
    """A sudoku and a level in play, and the way that a candidate plan takes."""
    sudoku = llmzoo.make("sudoku_v0", size=9, num_agents=1).unwrapped
    sudoku.reset(seed=12)
    digits = "".join(sudoku.expert("planner_0").split())
    fills = [
        [place // 9 + 1, place % 9 + 1, int(digit)]
        for place, digit in enumerate(digits)
        if place % 3 and place < 50
    ]
    fills[-1][2] = fills[-1][2] % 9 + 1  # a slip
    sudoku.step(str(fills))

    sokoban = llmzoo.make("sokoban_v0", height=7, width=8, boxes=3, num_agents=1).unwrapped
    sokoban.reset(seed=9)
    plan = sokoban.expert("planner_0")
    sokoban.step(plan[: len(plan) * 3 // 4])

    path = llmzoo.make("plan_path_v0", min_distance=12).unwrapped
    path.reset(seed=5)
    path.step(path.expert("proposer_0")[:-4])
    _, walk = path.boards_in(path.observe("planner_1"))
    return [
        ("sudoku", sudoku.picture()),
        ("sokoban", sokoban.picture()),
        ("plan_path", walk.board),
    ]


def side_by_side(named: Sequence[tuple[str, Board]], height: int = 340) -> Image.Image:
    """Boards in a row, about ``height`` pixels high each, with their names below."""
    pictures = [image(board, cell=height * 5 // (5 * len(board.rows) + 3)) for _, board in named]
    gap, below = 28, 44
    width = sum(picture.width for picture in pictures) + gap * (len(pictures) + 1)
    tallest = max(picture.height for picture in pictures)
    sheet = Image.new("RGB", (width, tallest + gap + below), palette.PAPER)
    pen, font, left = ImageDraw.Draw(sheet), ImageFont.load_default(20), gap
    for (name, _), picture in zip(named, pictures, strict=True):
        sheet.paste(picture, (left, gap // 2 + (tallest - picture.height) // 2))
        middle = left + picture.width / 2, tallest + gap
        pen.text(middle, name, fill=palette.INK, font=font, anchor="mm")
        left += picture.width + gap
    return sheet


if __name__ == "__main__":
    side_by_side(boards()).quantize(128).save(PICTURE, optimize=True)
    print(PICTURE)
