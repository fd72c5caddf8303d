"""The split view of a planning game: each agent sees one half of the cells, and only messages pass.

On a map the cells belong to the two agents like the squares of a chessboard (:func:`is_planner_checkerboard_cell`), in a sudoku
the upper rows are the proposer's and the lower rows the planner's (:func:`lower_half`). The halves do not depend
on the task, so a half tells nothing about the other one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from llmzoo.envs.messages import quote_message

UNSEEN = "?"
HIDDEN = "A ? is a cell that only the other player sees."

SeenByPlanner = Callable[[int, int], bool]  # (row, column) -> whether the planner sees the cell

PROPOSER_ROLE = (
    "You are the proposer. You see one half of the cells and the planner sees the other half. Only "
    "the planner acts, and it knows nothing of your half except what you write to it."
)
PLANNER_ROLE = (
    "You are the planner. You see one half of the cells and the proposer sees the other half. Your "
    "answer is executed, and the proposer reads it before it writes again."
)


def is_planner_checkerboard_cell(row: int, column: int) -> bool:
    """Whether the planner sees a cell of a map, counted from 0: if row and column add up to an odd number."""
    return (row + column) % 2 == 1


def lower_half(height: int) -> SeenByPlanner:
    """Whether the planner sees a cell of a grid: if it is in the lower half, with the middle row."""
    return lambda row, column: row >= height // 2


def mask_rows(
    rows: Sequence[str],
    planner: bool,
    planners: SeenByPlanner = is_planner_checkerboard_cell,
    hidden: str = UNSEEN,
) -> list[str]:
    """A board with ``hidden`` in the cells of the other agent."""
    return [
        "".join(symbol if planners(r, c) == planner else hidden for c, symbol in enumerate(row))
        for r, row in enumerate(rows)
    ]


def parse_rows(text: str, height: int, width: int, symbols: str) -> list[str] | None:
    """The last ``height`` lines in a row of a message that hold ``width`` of ``symbols`` each, or None."""
    block: list[str] = []
    found = None
    for line in text.split("\n"):
        block = [*block, line] if len(line) == width and set(line) <= set(symbols) else []
        if len(block) >= height:
            found = block[-height:]
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class HalfView:
    """What an agent reads.

    ``message``: the other agent's last action, None before the first. ``feedback``: the result of the agent's own
    last answer. ``limit``: characters of a message, and of an answer that is shown.
    """

    planner: bool
    rules: str
    answer_form: str
    visible_half: str
    number: int  # of the round, from 1
    rounds: int
    message: str | None
    feedback: str | None
    limit: int

    def full(self) -> str:
        """The prompt in sentences."""
        role = PLANNER_ROLE if self.planner else PROPOSER_ROLE
        lines = [role, "", self.rules]
        lines += [self.answer_form] * self.planner
        lines += [
            "",
            f"Round {self.number} of {self.rounds}. What you see:",
            "",
            self.visible_half,
            "",
        ]
        if self.message is not None:
            who = "proposer wrote" if self.planner else "planner answered"
            lines += [f"The {who}:", quote_message(self.message, self.limit), ""]
        if self.feedback is not None:
            last = "answer" if self.planner else "message"
            lines += [f"Your last {last}: {self.feedback}", ""]
        if not self.planner:
            lines += [f"Write a message to the planner, of at most {self.limit} characters."]
        lines += ["Your answer:" if self.planner else "Your message:"]
        return "\n".join(lines)

    def terse(self, name: str) -> str:
        """The same in few words; ``name``: the game's."""
        role = "planner" if self.planner else "proposer"
        lines = [f"{name} half {role} {self.number}/{self.rounds}", self.visible_half]
        if self.message is not None:
            lines += ["heard", quote_message(self.message, self.limit)]
        if self.feedback is not None:
            lines += [f"last {self.feedback}"]
        lines += ["answer" if self.planner else f"message up to {self.limit}", ""]
        return "\n".join(lines)
