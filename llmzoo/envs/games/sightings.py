"""Finding the boards of a planning game in its prompts.

Only what the game itself writes is found: a board has its place after ``The current state:`` of a
full prompt or after the first line of a terse one, and is followed by what follows there. So boards
in the answers of models are none, nor are halves of boards in prompts that were cut off.
The time is linear in the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Generic, NamedTuple, TypeVar

from llmzoo.envs.drawing import Board, Sighting

State = TypeVar("State")

_CANDIDATE = {"full": "\n\nCandidate plan:\n", "terse": "\ncandidate\n"}
_FOLLOWS = {
    "full": re.compile(r"\n\n(?:Candidate plan:\n|Your last answer: |Your answer:)"),
    "terse": re.compile(r"\n(?:candidate\n|last |answer(?:\n|$))"),
}
_SIMULATED = {"full": "\nIts simulation: ", "terse": "\n"}


class Place(NamedTuple):
    """Where something was read in a text, as the start and the end of it."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class View(Generic[State]):
    """How a game's boards are read and seen.

    ``state(text, start)``: the state drawn from there on and where it ends, or None.
    ``board(state)``: it as a board. ``simulated(state, text, start)``: the board that the candidate
    plan written there leads to, the place in the text that it may take, and where the plan ends; or
    None. None of them raises.
    """

    state: Callable[[str, int], tuple[State, int] | None]
    board: Callable[[State], Board]
    simulated: Callable[[State, str, int], tuple[Board, Place, int] | None]


def find(text: str, terse_name: str, view: View[State]) -> tuple[Sighting, ...]:
    """All boards in a text, in their order."""
    found: list[Sighting] = []
    for heading in _headings(terse_name).finditer(text):
        style = "full" if heading["full"] else "terse"
        read = view.state(text, heading.end())
        if read is None:
            continue
        state, end = read
        if not _FOLLOWS[style].match(text, end):
            continue
        found.append(Sighting(heading.end(), end, view.board(state)))
        if text.startswith(_CANDIDATE[style], end):
            plan = view.simulated(state, text, end + len(_CANDIDATE[style]))
            if plan is not None and text.startswith(_SIMULATED[style], plan[2]):
                found.append(Sighting(*plan[1], plan[0], "simulation"))
    return tuple(found)


@cache
def _headings(terse_name: str) -> re.Pattern[str]:
    return re.compile(
        r"(?P<full>Round [0-9]{1,9} of [0-9]{1,9}\. The current state:\n\n)"
        rf"|\b{terse_name} (?:proposer|planner) [0-9]{{1,9}}/[0-9]{{1,9}}\n"
    )


def lines_of(
    text: str, start: int, symbols: frozenset[str], most: int | None = None
) -> tuple[Sequence[str], int]:
    """The lines of one length that hold nothing but ``symbols``, and where they end."""
    lines: list[str] = []
    end = start
    while most is None or len(lines) < most:
        stop = text.find("\n", start)
        line = text[start:] if stop < 0 else text[start:stop]
        if not line or not symbols.issuperset(line) or (lines and len(line) != len(lines[0])):
            break
        lines.append(line)
        end = start + len(line)
        if stop < 0:
            break
        start = stop + 1
    return lines, end


def candidate_moves(text: str, start: int) -> str:
    """The moves written at ``start``, as the games write them, or ``""``."""
    read = _MOVES.match(text, start)
    return read[0] if read else ""


_MOVES = re.compile(r"[UDLR]{1,1000}")
