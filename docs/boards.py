"""Draws ``docs/images``: the three games side by side, and an episode of each environment with a board as a GIF."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw, ImageFont

import llmzoo
from llmzoo.envs.drawing import Board, palette
from llmzoo.envs.drawing.pixels import to_image

IMAGES = Path(__file__).parent / "images"
# game -> arguments, and the seed of an episode in which noisy experts need several rounds
EPISODES: dict[str, tuple[dict[str, Any], int]] = {
    "sudoku_v0": ({}, 11),
    "sokoban_v0": ({}, 3),
    "plan_path_v0": ({}, 5),
    "str_build_v0": ({"max_turns": 3}, 4),
    "house_build_v0": ({"max_turns": 3}, 4),
    "bridge_build_v0": ({}, 4),
    "resource_gathering_v0": ({}, 4),
}


def boards() -> list[tuple[str, Board]]:
    """A sudoku, a level and a grid in play."""
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
    path.step("no plan")
    path.step(path.expert("planner_1")[:-4])
    return [
        ("sudoku", sudoku.picture()),
        ("sokoban", sokoban.picture()),
        ("plan_path", path.picture()),
    ]


def side_by_side(named: Sequence[tuple[str, Board]], height: int = 340) -> Image.Image:
    """Boards in a row, about ``height`` pixels high each, with their names below."""
    pictures = [to_image(board, cell=height * 5 // (5 * len(board.rows) + 3)) for _, board in named]
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


def episode(id: str, arguments: dict[str, Any], seed: int) -> list[Image.Image]:
    """The board after the reset and after every answer of two noisy experts."""
    env = llmzoo.make(id, render_mode="rgb_array", **arguments)
    env.reset(seed=seed)
    rng = random.Random(seed)
    frames = [env.render()]
    for agent in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        over = terminated or truncated
        env.step(None if over else env.unwrapped.noisy_expert(agent, rng))
        frames.append(None if over else env.render())
    return [Image.fromarray(frame) for frame in frames if frame is not None]


if __name__ == "__main__":
    side_by_side(boards()).quantize(128).save(IMAGES / "boards.png", optimize=True)
    for id, (arguments, seed) in EPISODES.items():
        first, *others = [frame.quantize(32) for frame in episode(id, arguments, seed)]
        picture = IMAGES / f"{id.removesuffix('_v0')}.gif"
        first.save(picture, save_all=True, append_images=others, duration=900, loop=0)
        print(picture)
