"""# Connect four

Two players drop discs into the columns of a board of 7 columns and 6 rows. Four in a row win.

| | |
|---|---|
| id | `connect_four_v0` |
| agents | `player_0` (X), who begins, and `player_1` (O) |
| observation, action | text |
| turns | 7 to 42, and one more for each illegal answer |
| success | each player its own, that it wins |

**Observations.** The board, from the top row to the bottom row.

**Actions.** The number of a column that is not full, from 1 (left) to 7. Text that names one legal move is read as in
[other games](../adapters/discrete.md); an illegal answer is never played.

**Rewards.** `game` is 1 for the winner, -1 for the loser and 0 for a draw. `illegal` is -0.1 for each illegal answer, and
`forfeit` -2 for the second one in a turn, which ends the game without a winner.

**Arguments.** `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (2), `prompt` ("full" or "terse"),
`split` ("train", "test", "all"), `render_mode`.

**Splits.** There is one game, which always begins with the empty board: train and test do not differ.

**The scripted expert** looks four moves ahead and counts open rows. It is strong and not perfect.

**Pictures.** `render_mode="rgb_array"` draws the board ([rendering](../tasks.md#rendering)).

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from functools import lru_cache

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.envs.duels.env import Duel
from llmzoo.envs.duels.rules import GameRules

COLUMNS, ROWS = 7, 6
DEPTH = 4  # moves that the expert looks ahead
MARKS = "XO"
CELLS = {"X": BoardCell("X", "given"), "O": BoardCell("O", "filled")}
FOURS = tuple(
    tuple((column + i * right, row + i * up) for i in range(4))
    for column in range(COLUMNS)
    for row in range(ROWS)
    for right, up in ((1, 0), (0, 1), (1, 1), (1, -1))
    if column + 3 * right < COLUMNS and 0 <= row + 3 * up < ROWS
)
ORDER = (3, 2, 4, 1, 5, 0, 6)  # the middle first: what is cut off is cut off earlier

Columns = tuple[str, ...]  # the discs of each column, from the bottom


class ConnectFour(GameRules[Columns]):
    name = "connect four"
    short = "four"
    most = 1.0
    is_enumerable = False

    def words(self) -> str:
        return (
            "player_0 drops discs X and player_1 discs O, in turn, into one of seven columns; a disc falls to the "
            "lowest free cell. The first with four in a row, across, upwards or on a diagonal, wins. A full board "
            "without one is a draw."
        )

    def start(self) -> Columns:
        return ("",) * COLUMNS

    def player(self, state: Columns) -> int | None:
        over = _winner(state) is not None or sum(map(len, state)) == COLUMNS * ROWS
        return None if over else sum(map(len, state)) % 2

    def moves(self, state: Columns) -> tuple[str, ...]:
        return tuple(str(n) for n, column in enumerate(state, start=1) if len(column) < ROWS)

    def after(self, state: Columns, move: str) -> Columns:
        return _drop_disc(state, int(move) - 1)

    def returns(self, state: Columns) -> tuple[float, float]:
        winner = _winner(state)
        if winner is None:
            return 0.0, 0.0
        return (1.0, -1.0) if winner == "X" else (-1.0, 1.0)

    def information_text(self, state: Columns, player: int) -> str:
        return "\n".join(
            [
                f"You play {MARKS[player]}. The board:",
                *_board_rows(state),
                "".join(map(str, range(1, 8))),
            ]
        )

    def terse_information_text(self, state: Columns, player: int) -> str:
        return "\n".join(_board_rows(state))

    def board(self, state: Columns) -> Board:
        empty = BoardCell(".", "empty")
        return Board(
            tuple(tuple(CELLS.get(cell, empty) for cell in row) for row in _board_rows(state))
        )


def _board_rows(state: Columns) -> list[str]:
    """From the top."""
    filled = [column.ljust(ROWS, ".") for column in state]
    return ["".join(column[row] for column in filled) for row in reversed(range(ROWS))]


def _drop_disc(state: Columns, column: int) -> Columns:
    disc = MARKS[sum(map(len, state)) % 2]
    return (*state[:column], state[column] + disc, *state[column + 1 :])


@lru_cache(maxsize=100_000)
def _winner(state: Columns) -> str | None:
    filled = [column.ljust(ROWS, ".") for column in state]
    for (a, i), (b, j), (c, k), (d, m) in FOURS:
        disc = filled[a][i]
        if disc != "." and disc == filled[b][j] == filled[c][k] == filled[d][m]:
            return disc
    return None


def _evaluate(state: Columns, disc: str) -> float:
    """Open fours with more discs of one's own than none: between -1 and 1."""
    filled = [column.ljust(ROWS, ".") for column in state]
    total = 0
    for cells in FOURS:
        held = [filled[column][row] for column, row in cells]
        mine, theirs = held.count(disc), 4 - held.count(disc) - held.count(".")
        if not theirs:
            total += mine**2
        elif not mine:
            total -= theirs**2
    return total / 1000


def _search(state: Columns, depth: int, low: float, high: float) -> float:
    """What the player to move can reach, by alpha-beta search (Knuth and Moore, 1975)."""
    if _winner(state) is not None:
        return -1.0 - depth  # the other has just won; sooner is worse
    open_columns = [n for n in ORDER if len(state[n]) < ROWS]
    if not open_columns:
        return 0.0
    if depth == 0:
        return _evaluate(state, MARKS[sum(map(len, state)) % 2])
    best = -10.0
    for column in open_columns:
        best = max(best, -_search(_drop_disc(state, column), depth - 1, -high, -max(low, best)))
        if best >= high:
            break
    return best


class raw_env(Duel[Columns]):
    """Connect four in words."""

    metadata = {
        **Duel.metadata,
        "name": "connect_four_v0",
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 1,
    }
    rules = ConnectFour()

    def advice(self, player: int, rng: random.Random) -> str:
        state = self.episode.position
        worth = {
            move: -_search(_drop_disc(state, int(move) - 1), DEPTH - 1, -10.0, 10.0)
            for move in self.rules.moves(state)
        }
        best = max(worth.values())
        return rng.choice([move for move, value in worth.items() if value == best])


env, parallel_env = make_env_fns(raw_env)
