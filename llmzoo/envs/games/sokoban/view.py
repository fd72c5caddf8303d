"""A sokoban position as a board, and read from a prompt.

Moves are made on the text itself: a text that only looks like a level may be of any size, and the
tables of :mod:`.levels` are not computed for it.
"""

from __future__ import annotations

from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.envs.games import split_view
from llmzoo.envs.games.board_views import MovesView, Rows
from llmzoo.envs.games.moves import DELTAS

_ENTERED, _LEFT = {" ": "@", ".": "+"}, {"@": " ", "+": "."}
_UNBOXED, _BOXED = {"$": " ", "*": "."}, {" ": "$", ".": "*"}


class LevelView(MovesView):
    """A position of XSB symbols."""

    cells = {
        "#": BoardCell("#", "wall"),
        " ": BoardCell(" ", "floor"),
        ".": BoardCell(".", "goal"),
        "$": BoardCell("$", "box"),
        "*": BoardCell("*", "box_on_goal"),
        "@": BoardCell("@", "player"),
        "+": BoardCell("+", "player_on_goal"),
    }
    players = "@+"

    def after(self, rows: Rows, moves: str) -> Board:
        return self.board(_move(rows, moves))


def _move(rows: Rows, moves: str) -> list[str]:
    """The position after ``moves``, up to the first that is impossible or until it is solved."""
    cells = [list(row) for row in rows]
    row, column = next((r, c) for r, line in enumerate(rows) for c in _find_player(line))
    left = sum(line.count("$") for line in rows)

    def symbol(r: int, c: int) -> str:
        return cells[r][c] if 0 <= r < len(cells) and 0 <= c < len(cells[r]) else "#"

    for move in moves:
        if not left:
            break
        down, right = DELTAS[move]
        ahead = symbol(row + down, column + right)
        if ahead in _UNBOXED:
            beyond = symbol(row + 2 * down, column + 2 * right)
            if beyond not in _BOXED:
                break
            cells[row + 2 * down][column + 2 * right] = _BOXED[beyond]
            left += (ahead == "*") - (beyond == ".")
            ahead = _UNBOXED[ahead]
        elif ahead == "#":
            break
        cells[row][column] = _LEFT[cells[row][column]]
        row, column = row + down, column + right
        cells[row][column] = _ENTERED[ahead]
    return ["".join(line) for line in cells]


def _find_player(line: str) -> list[int]:
    return [column for column in (line.find("@"), line.find("+")) if column >= 0]


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
