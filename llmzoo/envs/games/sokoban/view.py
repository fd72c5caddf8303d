"""A sokoban position as a board, and the halves of it that agents see in the split view."""

from __future__ import annotations

from llmzoo.envs.drawing import BoardCell
from llmzoo.envs.games import split_view

CELLS = {
    "#": BoardCell("#", "wall"),
    " ": BoardCell(" ", "floor"),
    ".": BoardCell(".", "goal"),
    "$": BoardCell("$", "box"),
    "*": BoardCell("*", "box_on_goal"),
    "@": BoardCell("@", "player"),
    "+": BoardCell("+", "player_on_goal"),
}
_NO_GOALS, _NO_PLAYER = str.maketrans(".*+", " $@"), str.maketrans("@+", " .")
_GOALS = frozenset(".*+")


def visible_half(drawn: str, planner: bool) -> str:
    """What an agent sees of a position in the split view.

    The planner sees the player and no goals, the proposer every goal and no player.
    """
    rows = drawn.split("\n")
    kept, visible_rows = (_NO_GOALS, "@") if planner else (_NO_PLAYER, ".")
    always = frozenset("@+") if planner else _GOALS
    seen = split_view.mask_rows([row.translate(kept) for row in rows], planner)
    return "\n".join(
        "".join(
            visible_rows if own == split_view.UNSEEN and symbol in always else own
            for own, symbol in zip(*pair, strict=True)
        )
        for pair in zip(seen, rows, strict=True)
    )
