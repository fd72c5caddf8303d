"""Observations as text: plainly for any environment, as a board for games that have one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from llmzoo.errors import ConfigError

MAX_NUMBERS = 1_000  # of an array; more say nothing to a reader


def observed(seen: Any, agent: str) -> str:
    """:func:`plain` with a word before it."""
    return _named("Observation", plain(seen, agent))


def plain(seen: Any, agent: str) -> str:
    """Any observation: arrays as rows, dictionaries item by item, the action mask left out.

    Raises :class:`ConfigError` for an array of more than 1000 numbers.
    """
    if isinstance(seen, Mapping):
        shown = {name: item for name, item in seen.items() if name != "action_mask"}
        if list(shown) == ["observation"]:
            return plain(shown["observation"], agent)
        return "\n".join(_named(str(name), plain(item, agent)) for name, item in shown.items())
    if isinstance(seen, tuple | list):
        return "\n".join(plain(item, agent) for item in seen)
    if isinstance(seen, np.ndarray):
        return _rows(seen)
    return str(seen)


def tic_tac_toe(seen: Mapping[str, np.ndarray], agent: str) -> str:
    """The board of ``pettingzoo.classic.tictactoe_v3``; an empty square shows its number."""
    # the environment draws squares 0, 1, 2 as a column; rows and columns are the same to the rules
    own, other = ("X", "O") if agent == "player_1" else ("O", "X")
    squares = _marks(seen["observation"], own, other)
    cells = [mark or str(number) for number, mark in enumerate(squares)]
    rows = [" | ".join(cells[start : start + 3]) for start in (0, 3, 6)]
    return f"You are {own}.\n" + "\n--+---+--\n".join(rows)


def connect_four(seen: Mapping[str, np.ndarray], agent: str) -> str:
    """The board of ``pettingzoo.classic.connect_four_v3``, its top row first, columns numbered."""
    own, other = ("X", "O") if agent == "player_0" else ("O", "X")
    squares = [mark or "." for mark in _marks(seen["observation"], own, other)]
    rows = [" ".join(squares[start : start + 7]) for start in range(0, 42, 7)]
    return "\n".join([f"You are {own}.", "0 1 2 3 4 5 6", *rows])


def _marks(planes: np.ndarray, own: str, other: str) -> list[str]:
    """Planes [rows, columns, 2] of one's own and the other's marks, as a mark for each square."""
    flat = planes.reshape(-1, 2).tolist()
    return [own if mine else other if theirs else "" for mine, theirs in flat]


def _named(name: str, text: str) -> str:
    return f"{name}:\n{text}" if "\n" in text else f"{name}: {text}"


def _rows(array: np.ndarray) -> str:
    """One line a row; of three dimensions or more, the planes of the last one after each other."""
    if array.size > MAX_NUMBERS:
        raise ConfigError(
            f"an observation of {array.size} numbers is no text that anybody reads: give "
            "discrete_to_text(observation=...) a function that says it in words"
        )
    if array.ndim == 0:
        return _number(array[()])
    if array.ndim == 1:
        return " ".join(map(_number, array))
    if array.ndim == 2:
        return "\n".join(map(_rows, array))
    planes = np.moveaxis(array, -1, 0)
    return "\n".join(_named(f"plane {i}", _rows(plane)) for i, plane in enumerate(planes))


def _number(value: Any) -> str:
    return f"{int(value)}" if float(value).is_integer() else f"{float(value):.4g}"
