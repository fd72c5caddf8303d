"""# Sudoku

Two agents fill a sudoku. The proposer writes a grid, which is checked against the rules and shown;
the planner reads the check and commits a grid, which stays for the next round.

| | |
|---|---|
| id | `sudoku_v0` |
| agents | `proposer_0`, then `planner_1`; with `num_agents=1`: `planner_0` |
| observation, action | text |
| rounds | at most `max_turns` (4) |
| success | every cell filled, no digit twice in a row, column or box, every given kept |

**Actions.** A full grid (lines of digits, `.` or `0` for "leave as it is"), or a list of
`[row, column, value]` fills, rows and columns counted from 1; prose and code fences around it do
not matter, and the last grid counts. Cells filled earlier may be changed. An answer that changes a
given is refused as a whole.

**Rewards** (potential-based, gamma 1; see `llmzoo.envs.games.planning`).

| part | who | worth over an episode |
|---|---|---|
| team | both | 1 when solved, otherwise the share of the open cells that are right |
| format | own answer | 0.1 if a grid or fills can be read |
| legal | own answer | 0.1 if every given is kept |
| quality | own answer | 0.8 x the share of open cells that are right after it |

**Arguments.** `size` (4 or 9), `clues` (number of givens) or `difficulty` ("easy", "medium",
"hard"), `num_agents`, `max_turns`, `prompt` ("full" or "terse"), `team_weight`, `split` ("train",
"test", "all"), `source` ("generator", or a file of puzzles: JSON lines with `puzzle`, or plain
lines), `render_mode`.

**Tasks.** Generated puzzles have exactly one solution. Puzzles from a file may have several; each
counts. The split is by content: mirror images, turns and renamings of digits stay together.

**Version history.** v0: first version.
"""

from __future__ import annotations

import random
from functools import lru_cache, partial
from typing import Any, Literal

from llmzoo.envs.base import public_forms
from llmzoo.envs.games.planning import PlanningGame, Played
from llmzoo.envs.games.sudoku import oracle, scoring, tasks
from llmzoo.envs.games.sudoku.tasks import SudokuTask
from llmzoo.envs.tasks import Generated, Listed, Tasks

World = tuple[str, str]  # the puzzle and the grid as filled so far


class Sudoku(PlanningGame[SudokuTask, World, tuple[scoring.Fill, ...]]):
    """Sudoku for one planner, or a proposer and a planner."""

    metadata: dict[str, Any] = {**PlanningGame.metadata, "name": "sudoku_v0"}
    terse_name = "sudoku"

    def __init__(
        self,
        *,
        size: int = 4,
        clues: int | None = None,
        difficulty: Literal["easy", "medium", "hard"] | None = None,
        split: str = "train",
        source: str = "generator",
        num_agents: int = 2,
        max_turns: int = 4,
        prompt: Literal["full", "terse"] = "full",
        team_weight: float = 1.0,
        render_mode: str | None = None,
    ):
        super().__init__(
            _tasks(size, tasks.clue_range(size, clues, difficulty), split, source),
            num_agents=num_agents,
            max_turns=max_turns,
            prompt=prompt,
            team_weight=team_weight,
            render_mode=render_mode,
        )

    def start(self, task: SudokuTask) -> World:
        return task.puzzle, task.puzzle

    def parse(self, text: str) -> tuple[scoring.Fill, ...]:
        return scoring.parse(text, self.episode.task.size)

    def carry_out(self, world: World, plan: tuple[scoring.Fill, ...]) -> Played[World]:
        puzzle, grid = world
        broken = scoring.broken_given(puzzle, plan)
        if broken is not None:
            row, column, _ = broken
            return Played(
                world,
                False,
                f"row {row} column {column} is a given and cannot be changed; nothing was filled in",
                f"given {row} {column}",
            )
        filled = scoring.fill_in(grid, plan)
        blanks = filled.count(scoring.BLANK)
        clashes = scoring.clashes(filled)
        if not blanks and not clashes:
            return Played((puzzle, filled), True, "complete, no digit twice: solved", "solved")
        where = ", ".join(f"{kind} {number}" for kind, number in clashes) or "nowhere"
        short = " ".join(f"{kind[0]}{number}" for kind, number in clashes) or "none"
        return Played(
            (puzzle, filled),
            True,
            f"{blanks} cells still blank; a digit stands twice in: {where}",
            f"left {blanks} twice {short}",
        )

    def progress(self, world: World) -> float:
        return scoring.progress(world[0], self.episode.task.solutions, world[1])

    def draw(self, world: World) -> str:
        puzzle, grid = world
        if puzzle == grid:
            return scoring.rows(grid)
        givens = "givens" if self.prompt_style == "terse" else "The givens among these are:"
        return f"{scoring.rows(grid)}\n{givens}\n{scoring.rows(puzzle)}"

    def write(self, plan: tuple[scoring.Fill, ...]) -> str:
        size = self.episode.task.size
        return scoring.rows(scoring.fill_in(scoring.BLANK * (size * size), plan))

    def rules(self) -> str:
        size = self.episode.task.size
        side = int(size**0.5)
        return (
            f"Task: complete the {size}x{size} sudoku. Every row, every column and every "
            f"{side}x{side} box holds each digit from 1 to {size} once; a dot is a blank cell; "
            "givens must stay.\n"
            f"Answer with the whole grid, {size} lines of {size} digits, or with a list of "
            "[row, column, value], counted from 1."
        )

    def fingerprint(self, task: SudokuTask) -> str:
        return task.puzzle

    def expert(self, agent: str) -> str:
        return oracle.expert(self.episode.task)

    def amateur(self, agent: str, rng: random.Random) -> str:
        return oracle.amateur(self.episode.task, rng)


def _tasks(size: int, clues: tuple[int, int], split: str, source: str) -> Tasks[SudokuTask]:
    if source != "generator":
        return Listed(tasks.read_file(source), tasks.canonical, split=split, source=source)
    return _generated(size, clues, split)


@lru_cache(maxsize=32)  # environments with the same arguments share their tasks
def _generated(size: int, clues: tuple[int, int], split: str) -> Generated[SudokuTask]:
    return Generated(
        partial(tasks.draw, size=size, clues=clues),
        tasks.canonical,
        split=split,
        name=f"sudoku {size}x{size} with {clues[0]} to {clues[1]} clues",
    )


raw_env = Sudoku
env, parallel_env = public_forms(Sudoku)
