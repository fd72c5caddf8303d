"""# Tic-tac-toe

Two players take turns to mark a cell of a board of 3x3. Three marks in a row win.

| | |
|---|---|
| id | `tic_tac_toe_v0` |
| agents | `player_0` (X), who begins, and `player_1` (O) |
| observation, action | text |
| turns | five to nine, and one more for each illegal answer |
| success | each player its own, that it wins |

**Observations.** The board. Free cells show their number, from 1 (top left) to 9 (bottom right). With `prompt="terse"`
these are the only list of legal moves, and prompts have one length, except after a refusal.

**Actions.** The number of a free cell. Text that names one legal move is read as in
[other games](../adapters/discrete.md); an illegal answer is never played.

**Rewards.** `game` is 1 for the winner, -1 for the loser and 0 for a draw. `illegal` is -0.1 for each illegal answer, and
`forfeit` -2 for the second one in a turn, which ends the game without a winner.

**Arguments.** `tries` (2), `illegal_penalty` (0.1), `forfeit_penalty` (2), `prompt` ("full" or "terse"),
`split` ("train", "test", "all"), `render_mode`.

**Splits.** There is one game, which always begins with the empty board: train and test do not differ.

**The scripted expert** plays a perfect move, drawn from all of them. Two experts draw.

**Pictures.** `render_mode="rgb_array"` draws the board ([rendering](../tasks.md#rendering)).

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from functools import cache

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.drawing import Board, BoardCell
from llmzoo.envs.duels.env import Duel
from llmzoo.envs.duels.exact import best_moves
from llmzoo.envs.duels.rules import GameRules

MARKS = "XO"
ROWS = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
CELLS = {"X": BoardCell("X", "given"), "O": BoardCell("O", "filled")}


class TicTacToe(GameRules[str]):
    """A state is the nine cells: X, O or a dot."""

    name = "tic-tac-toe"
    short = "ttt"
    has_visible_moves = True
    most = 1.0

    def words(self) -> str:
        return (
            "player_0 marks cells with X and player_1 with O, in turn. The first with three in a row, a column or "
            "a diagonal wins. A full board without one is a draw."
        )

    def start(self) -> str:
        return "." * 9

    def player(self, state: str) -> int | None:
        over = _winner(state) is not None or "." not in state
        return None if over else (9 - state.count(".")) % 2

    def moves(self, state: str) -> tuple[str, ...]:
        return tuple(str(n) for n, cell in enumerate(state, start=1) if cell == ".")

    def after(self, state: str, move: str) -> str:
        cell = int(move) - 1
        return state[:cell] + MARKS[(9 - state.count(".")) % 2] + state[cell + 1 :]

    def returns(self, state: str) -> tuple[float, float]:
        winner = _winner(state)
        if winner is None:
            return 0.0, 0.0
        return (1.0, -1.0) if winner == "X" else (-1.0, 1.0)

    def information_text(self, state: str, player: int) -> str:
        rows = [" ".join(row) for row in _board_rows(state)]
        return "\n".join([f"You play {MARKS[player]}. The board:", *rows])

    def terse_information_text(self, state: str, player: int) -> str:
        return " ".join(_board_rows(state))

    def board(self, state: str) -> Board:
        cells = [CELLS.get(cell, BoardCell(".", "empty")) for cell in state]
        return Board(tuple(tuple(cells[i : i + 3]) for i in (0, 3, 6)))


def _board_rows(state: str) -> list[str]:
    """The board with the numbers of free cells, as many characters a row as cells."""
    cells = "".join(cell if cell != "." else str(n) for n, cell in enumerate(state, start=1))
    return [cells[i : i + 3] for i in (0, 3, 6)]


@cache
def _winner(state: str) -> str | None:
    for a, b, c in ROWS:
        if state[a] == state[b] == state[c] != ".":
            return state[a]
    return None


class raw_env(Duel[str]):
    """Tic-tac-toe in words."""

    metadata = {
        **Duel.metadata,
        "name": "tic_tac_toe_v0",
        "render_modes": ["ansi", "human", "rgb_array"],
        "render_fps": 1,
    }
    rules = TicTacToe()

    def advice(self, player: int, rng: random.Random) -> str:
        return rng.choice(best_moves(self.rules, self.episode.position))


env, parallel_env = make_env_fns(raw_env)
