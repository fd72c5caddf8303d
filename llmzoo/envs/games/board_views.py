"""How a planning game's boards are drawn, and found in its prompts.

Only the text that the game itself writes is read: a board begins after ``The current state:`` of a full
prompt or after the first line of a terse one, and ends where the prompt goes on. So a board in a
model's answer does not count, nor does half a board in a prompt that was cut off. The time is linear in
the length of the text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from llmzoo.envs.drawing import Board, BoardCell, BoardInText

State = TypeVar("State")
Rows = Sequence[str]

_CANDIDATE = {"full": "\n\nCandidate plan:\n", "terse": "\ncandidate\n"}
_FOLLOWS = {
    "full": re.compile(r"\n\n(?:Candidate plan:\n|Your last answer: |Your answer:)"),
    "terse": re.compile(r"\n(?:candidate\n|last |answer(?:\n|$))"),
}
_SIMULATION = {"full": "\nIts simulation: ", "terse": "\n"}
_MOVES = re.compile(r"[UDLR]{1,1000}")


class BoardView(Generic[State]):
    """How a game's boards are read and drawn. No method raises, whatever the text.

    This class draws any text, and finds no boards in prompts. ``cells``: the cell of each symbol.
    """

    cells: ClassVar[Mapping[str, BoardCell]] = {}

    def board(self, state: Any) -> Board:
        """A state as a board; here, lines of symbols."""
        empty = BoardCell(" ", "empty")
        return Board(
            tuple(
                tuple(self.cells.get(symbol, empty._replace(symbol=symbol)) for symbol in row)
                for row in state
            )
        )

    def state(self, text: str, start: int) -> tuple[State, int] | None:
        """The state drawn from ``start`` on and the end of its text, or None."""
        return None

    def find_simulation(
        self, state: State, text: str, start: int
    ) -> tuple[BoardInText, int] | None:
        """What the candidate plan written from ``start`` on leads to and the end of the plan, or None."""
        return None


class MovesView(BoardView[Rows]):
    """The view of a game of one player on a board of symbols, whose plans are moves."""

    players: ClassVar[str]  # the symbols of the player

    def after(self, rows: Rows, moves: str) -> Board:
        """The board after ``moves``, up to the first impossible move or to the end of the game."""
        raise NotImplementedError

    def state(self, text: str, start: int) -> tuple[Rows, int] | None:
        rows, end = read_lines(text, start, frozenset(self.cells))
        players = sum(row.count(player) for row in rows for player in self.players)
        return (rows, end) if players == 1 else None

    def find_simulation(self, state: Rows, text: str, start: int) -> tuple[BoardInText, int] | None:
        moves = _MOVES.match(text, start)
        if moves is None:
            return None
        end = moves.end()
        return BoardInText(end, end, self.after(state, moves[0]), "simulation"), end


def find_boards(text: str, terse_name: str, view: BoardView[Any]) -> tuple[BoardInText, ...]:
    """All boards in a text, in their order."""
    boards: list[BoardInText] = []
    for heading in _headings(terse_name).finditer(text):
        style = "full" if heading["full"] else "terse"
        read = view.state(text, heading.end())
        if read is None:
            continue
        state, end = read
        if not _FOLLOWS[style].match(text, end):
            continue
        boards.append(BoardInText(heading.end(), end, view.board(state)))
        if text.startswith(_CANDIDATE[style], end):
            plan = view.find_simulation(state, text, end + len(_CANDIDATE[style]))
            if plan is not None and text.startswith(_SIMULATION[style], plan[1]):
                boards.append(plan[0])
    return tuple(boards)


@cache
def _headings(terse_name: str) -> re.Pattern[str]:
    return re.compile(
        r"(?P<full>Round [0-9]{1,9} of [0-9]{1,9}\. The current state:\n\n)"
        rf"|\b{terse_name} (?:proposer|planner) [0-9]{{1,9}}/[0-9]{{1,9}}\n"
    )


def read_lines(
    text: str, start: int, symbols: frozenset[str], most: int | None = None
) -> tuple[Rows, int]:
    """The lines of equal length from ``start`` on that hold only ``symbols``, and their end."""
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
