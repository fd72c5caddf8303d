"""Two games of PettingZoo's classic family as text environments, with paths for the command line.

``llmzoo train --env llmzoo.adapters.classic:tic_tac_toe``
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import pettingzoo
from pettingzoo import AECEnv

from llmzoo.adapters.discrete import discrete_to_text
from llmzoo.errors import require_extra

_TIC_TAC_TOE = (
    "Two players set their marks in turn on a board of 3 x 3 squares. Three of your own in a row, "
    "a column or a diagonal win. A move is the number of an empty square."
)
_CONNECT_FOUR = (
    "Two players drop discs in turn into a board of 6 rows and 7 columns; a disc falls to the "
    "lowest free square of its column. Four of your own next to each other, across, down or "
    "diagonally, win. A move is the number of a column that is not full."
)
_LINES = ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))


def tic_tac_toe(**options: Any) -> AECEnv:
    """``tictactoe_v3`` with the agents ``player_1`` (X, moves first) and ``player_2``. A win pays
    1, a defeat -1.

    ``options`` are those of :class:`llmzoo.adapters.discrete.DiscreteText`. ``expert``
    plays perfectly, ``noisy_expert`` any legal move. The game has no chance, so train and test are the same.
    """
    given = {
        "observation": tic_tac_toe_board,
        "rules": _TIC_TAC_TOE,
        "expert": perfect_tic_tac_toe,
        **options,
    }
    return discrete_to_text(_classic("classic/tictactoe-v3"), **given)


def connect_four(**options: Any) -> AECEnv:
    """``connect_four_v3`` with the agents ``player_0`` (X, moves first) and ``player_1``. A win
    pays 1, a defeat -1.

    ``options`` are those of :class:`llmzoo.adapters.discrete.DiscreteText`. ``noisy_expert``
    plays any legal move; there is no expert. The game has no chance, so train and test are the same.
    """
    given = {"observation": connect_four_board, "rules": _CONNECT_FOUR, **options}
    return discrete_to_text(_classic("classic/connect_four-v3"), **given)


def tic_tac_toe_board(seen: Mapping[str, np.ndarray], agent: str) -> str:
    """The board of ``pettingzoo.classic.tictactoe_v3``; an empty square shows its number."""
    # the environment numbers squares by column, but the rules treat rows and columns alike
    own, other = ("X", "O") if agent == "player_1" else ("O", "X")
    squares = _marks(seen["observation"], own, other)
    cells = [mark or str(number) for number, mark in enumerate(squares)]
    rows = [" | ".join(cells[start : start + 3]) for start in (0, 3, 6)]
    return f"You are {own}.\n" + "\n--+---+--\n".join(rows)


def connect_four_board(seen: Mapping[str, np.ndarray], agent: str) -> str:
    """The board of ``pettingzoo.classic.connect_four_v3``, its top row first, columns numbered."""
    own, other = ("X", "O") if agent == "player_0" else ("O", "X")
    squares = [mark or "." for mark in _marks(seen["observation"], own, other)]
    rows = [" ".join(squares[start : start + 7]) for start in range(0, 42, 7)]
    return "\n".join([f"You are {own}.", "0 1 2 3 4 5 6", *rows])


def _marks(planes: np.ndarray, own: str, other: str) -> list[str]:
    """Planes [rows, columns, 2] of own and other marks, as one mark per square."""
    flat = planes.reshape(-1, 2).tolist()
    return [own if mine else other if theirs else "" for mine, theirs in flat]


def perfect_tic_tac_toe(seen: Mapping[str, np.ndarray], agent: str) -> int:
    """The first of the best squares. It never loses, and wins as early as possible."""
    planes = seen["observation"].reshape(9, 2).astype(bool)
    own, other = (sum(1 << i for i in np.flatnonzero(planes[:, p]).tolist()) for p in (0, 1))
    return max(_free_squares(own, other), key=lambda square: _value_after(own, other, square))


def _value_after(own: int, other: int, square: int) -> float:
    return -_value(other, own | 1 << square)


@cache
def _value(own: int, other: int) -> float:
    """The value for the player to move under best play. Boards are sets of squares, as bits.

    1 for a win, -1 for a defeat, 0 for a draw; each further move brings it a hundredth closer to 0.
    """
    if any(all(other >> i & 1 for i in line) for line in _LINES):
        return -1.0
    free = _free_squares(own, other)
    return 0.99 * max(_value_after(own, other, square) for square in free) if free else 0.0


def _free_squares(own: int, other: int) -> list[int]:
    return [square for square in range(9) if not (own | other) >> square & 1]


def _classic(id: str) -> AECEnv:
    """An environment of PettingZoo, which imports pygame even if nothing is drawn."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")  # it prints a greeting
    with require_extra(f"PettingZoo's {id}", "classic"):
        importlib.import_module("pygame")
    return pettingzoo.make("aec", id)
