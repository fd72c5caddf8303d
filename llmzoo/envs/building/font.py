"""Capital letters, 5 cells wide and 7 high."""

from __future__ import annotations

from collections.abc import Mapping

WIDTH, HEIGHT = 5, 7
GAP = 1  # empty columns between two letters

# the rows of each letter from the top, as bits: 16 is the leftmost of five cells
_BITS = {
    "A": (14, 17, 17, 31, 17, 17, 17),
    "B": (30, 17, 17, 30, 17, 17, 30),
    "C": (14, 17, 16, 16, 16, 17, 14),
    "D": (30, 17, 17, 17, 17, 17, 30),
    "E": (31, 16, 16, 30, 16, 16, 31),
    "F": (31, 16, 16, 30, 16, 16, 16),
    "G": (14, 17, 16, 19, 17, 17, 15),
    "H": (17, 17, 17, 31, 17, 17, 17),
    "I": (31, 4, 4, 4, 4, 4, 31),
    "J": (7, 2, 2, 2, 2, 18, 12),
    "K": (17, 18, 20, 24, 20, 18, 17),
    "L": (16, 16, 16, 16, 16, 16, 31),
    "M": (17, 27, 21, 21, 17, 17, 17),
    "N": (17, 25, 25, 21, 19, 19, 17),
    "O": (14, 17, 17, 17, 17, 17, 14),
    "P": (30, 17, 17, 30, 16, 16, 16),
    "Q": (14, 17, 17, 17, 21, 18, 13),
    "R": (30, 17, 17, 30, 20, 18, 17),
    "S": (15, 16, 16, 14, 1, 1, 30),
    "T": (31, 4, 4, 4, 4, 4, 4),
    "U": (17, 17, 17, 17, 17, 17, 14),
    "V": (17, 17, 17, 17, 17, 10, 4),
    "W": (17, 17, 17, 21, 21, 27, 17),
    "X": (17, 17, 10, 4, 10, 17, 17),
    "Y": (17, 17, 10, 4, 4, 4, 4),
    "Z": (31, 1, 2, 4, 8, 16, 31),
}
LETTERS: Mapping[str, tuple[str, ...]] = {
    letter: tuple(f"{row:05b}".replace("0", ".").replace("1", "#") for row in rows)
    for letter, rows in _BITS.items()
}


def text_rows(text: str) -> tuple[str, ...]:
    """The rows of ``text`` from the top, ``#`` for a cell of a letter and ``.`` for an empty one."""
    between = "." * GAP
    return tuple(between.join(LETTERS[letter][row] for letter in text) for row in range(HEIGHT))
