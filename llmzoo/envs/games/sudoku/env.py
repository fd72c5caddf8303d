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
`[row, column, value]` fills, rows and columns counted from 1. Prose and code fences around it do not
matter, and the last grid counts. Cells filled earlier may be changed. An answer that changes a given is
rejected as a whole.

**Rewards** (potential-based, gamma 1; see `llmzoo.envs.games.planning_game`).

| part | who | worth over an episode |
|---|---|---|
| team | both | 1 when solved, otherwise the share of the open cells that are right |
| format | own answer | 0.1 if a grid or fills can be read |
| legal | own answer | 0.1 if every given is kept |
| quality | own answer | 0.8 x the share of open cells that are right after it |

**Arguments.** `size` (4 or 9), `clues` (number of givens) or `difficulty` ("easy", "medium",
"hard"), `num_agents`, `max_turns`, `prompt` ("full" or "terse"), `view` ("full" or
"split"), `message_chars` (400, at most 2000, of the split view), `team_weight`, `split` ("train",
"test", "all"), `source` ("generator", or a file of puzzles: plain lines, or
[records](../data.md#files-of-records) with `puzzle`), `on_bad_record` ("error" or "skip": of a file),
`render_mode`.

**Tasks.** Generated puzzles have exactly one solution. Puzzles from a file may have several; each
counts. The split is by content: puzzles that a symmetry of sudoku maps onto one another stay together
(rows within a band, bands, columns within a stack, stacks, the transposition, renamed digits). Of the
4x4 puzzles with 6 to 10 clues there are 3,895 such classes; of those with 4 clues there are 13, none of
which is in the test split. There are only 288 completed 4x4 grids, in two classes, and both splits share
them: a test puzzle is new, its solution need not be.

**Split view.** With `view="split"` the task [needs two](../split_views.md). Each agent sees the givens
in one half of the rows, the planner in the lower half. The proposer writes messages; the planner fills
in, from an empty grid with its own givens. Its report counts blank cells and digits that are twice in
what it sees itself. Both are paid the team part only (of the cells that the planner does not see filled
at the start), and -0.05 for an answer that cannot be delivered or read.

**Pictures.** `render_mode="human"` prints the grid after the reset and every step, `"ansi"` returns
it as text and `"rgb_array"` as a picture ([rendering](../tasks.md#rendering)). Givens are dark, digits
filled in blue, and a digit that is twice in a row, a column or a box red.

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.drawing import Board
from llmzoo.envs.games import split_view
from llmzoo.envs.games.planning_game import PLANNER, PlanningGame, PlanningState, PlanResult
from llmzoo.envs.games.sudoku import players, scoring, tasks, view
from llmzoo.envs.games.sudoku.tasks import SudokuTask
from llmzoo.envs.tasks import Tasks, generate_tasks


class FilledGrid(NamedTuple):
    """The puzzle, the grid as filled so far, and the number of its right cells."""

    puzzle: str
    grid: str
    right: int


SudokuState = PlanningState[SudokuTask, FilledGrid]


class Sudoku(PlanningGame[SudokuTask, FilledGrid, tuple[scoring.Fill, ...]]):
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
        on_bad_record: Literal["error", "skip"] = "error",
        prompt: Literal["full", "terse"] = "full",
        **options: Any,
    ):
        puzzles: Tasks[SudokuTask]
        least, most = tasks.clue_range(size, clues, difficulty)
        if source == "generator":
            puzzles = generate_tasks(
                tasks.sample_task,
                tasks.canonical,
                split=split,
                name=f"sudoku {size}x{size} with {least} to {most} clues",
                size=size,
                clues=(least, most),
            )
        else:
            puzzles = tasks.load_tasks(source, on_bad_record).task_list(tasks.canonical, split)
        super().__init__(puzzles, prompt=prompt, **options)

    def initial_world(self, task: SudokuTask) -> FilledGrid:
        return _make_filled_grid(task, self._visible(task))

    def parse(self, state: SudokuState, text: str) -> tuple[scoring.Fill, ...]:
        if self.view == "split":
            text = text.replace(split_view.UNSEEN, scoring.BLANK)
        return scoring.parse_fills(text, state.task.size)

    def execute(
        self, task: SudokuTask, world: FilledGrid, plan: tuple[scoring.Fill, ...]
    ) -> PlanResult[FilledGrid]:
        broken = scoring.find_broken_given(self._visible(task), plan)
        if broken is not None:
            return PlanResult(world, False, broken)
        return PlanResult(_make_filled_grid(task, scoring.fill_in(world.grid, plan)), True)

    def report(self, task: SudokuTask, result: PlanResult[FilledGrid]) -> str:
        if result.event is not None:
            row, column, _ = result.event
            return (
                f"row {row} column {column} is a given and cannot be changed; nothing was filled in"
            )
        blanks, clashes = _blanks_and_clashes(result.world)
        if not blanks and not clashes:
            return "complete, no digit twice: solved"
        where = ", ".join(f"{kind} {number}" for kind, number in clashes) or "nowhere"
        return f"{blanks} cells still blank; a digit stands twice in: {where}"

    def terse_report(self, task: SudokuTask, result: PlanResult[FilledGrid]) -> str:
        if result.event is not None:
            row, column, _ = result.event
            return f"given {row} {column}"
        blanks, clashes = _blanks_and_clashes(result.world)
        if not blanks and not clashes:
            return "solved"
        where = " ".join(f"{kind[0]}{number}" for kind, number in clashes) or "none"
        return f"left {blanks} twice {where}"

    def progress(self, task: SudokuTask, world: FilledGrid) -> float:
        return scoring.progress(*world, self._visible(task))

    def draw(self, task: SudokuTask, world: FilledGrid) -> str:
        drawn = scoring.format_rows(world.grid)
        if world.puzzle == world.grid:
            return drawn
        givens = "givens" if self.prompt_style == "terse" else "The givens among these are:"
        return f"{drawn}\n{givens}\n{_givens_text(world.puzzle)}"

    def world_board(self, task: SudokuTask, world: FilledGrid) -> Board:
        return view.grid_board(world.puzzle, world.grid)

    def format_plan(self, state: SudokuState, plan: tuple[scoring.Fill, ...]) -> str:
        size = state.task.size
        return scoring.format_rows(scoring.fill_in(scoring.BLANK * (size * size), plan))

    def rules(self, task: SudokuTask) -> str:
        return _rules_text(task.size)

    def answer_form(self, task: SudokuTask) -> str:
        return (
            f"Answer with the whole grid, {task.size} lines of {task.size} digits, or with a list of "
            "[row, column, value], counted from 1."
        )

    def fingerprint(self, task: SudokuTask) -> str:
        return task.puzzle

    def full_expert(self) -> str:
        return players.expert(self.episode.task)

    def full_noisy_expert(self, rng: random.Random) -> str:
        return players.noisy_expert(self.episode.task, rng)

    def visible_half(self, state: SudokuState, agent: str) -> str:
        """The proposer's givens; or the planner's, and what it has filled in."""
        lower = split_view.lower_half(state.task.size)
        givens = scoring.format_rows(state.task.puzzle).split("\n")
        if agent != PLANNER:
            return "\n".join(split_view.mask_rows(givens, False, lower))
        unseen = "".join(split_view.mask_rows(givens, True, lower))
        filled = zip(state.world.grid, unseen, strict=True)
        return scoring.format_rows(
            "".join(d if d != scoring.BLANK else given for d, given in filled)
        )

    def split_report(self, task: SudokuTask, result: PlanResult[FilledGrid]) -> str:
        """The report of what the planner sees: no word on the other givens, but whether it is solved."""
        blanks, clashes = _blanks_and_clashes(result.world)
        complete = result.event is None and not blanks and not clashes
        if complete and self.progress(task, result.world) < 1:
            return "complete, no digit twice, but not solved: a given that you do not see differs"
        return self.report(task, result)

    def split_expert(self, message: str) -> str:
        return scoring.format_rows(
            players.fill_from_half(self._visible(self.episode.task), message, self.turn)
        )

    def split_noisy_expert(self, message: str, rng: random.Random) -> str:
        own_half = self._visible(self.episode.task)
        return players.noisy_expert(
            SudokuTask(own_half, (players.fill_from_half(own_half, message, self.turn),)), rng
        )

    def _visible(self, task: SudokuTask) -> str:
        """The puzzle as the planner sees it."""
        return task.puzzle if self.view == "full" else _planners_half(task.puzzle)


@lru_cache(maxsize=1024)  # the same at each step of an episode
def _givens_text(puzzle: str) -> str:
    return scoring.format_rows(puzzle)


@lru_cache(maxsize=1024)
def _planners_half(puzzle: str) -> str:
    rows = scoring.format_rows(puzzle).split("\n")
    return "".join(
        split_view.mask_rows(rows, True, split_view.lower_half(len(rows)), scoring.BLANK)
    )


def _make_filled_grid(task: SudokuTask, grid: str) -> FilledGrid:
    return FilledGrid(task.puzzle, grid, scoring.count_right_cells(task.solutions, grid))


def _blanks_and_clashes(world: FilledGrid) -> tuple[int, list[tuple[str, int]]]:
    """The number of blank cells of a grid, and the units with a digit twice."""
    blanks = world.grid.count(scoring.BLANK)
    if world.right == len(world.grid) - blanks:
        return blanks, []  # a solution with cells left out
    return blanks, scoring.find_clashes(world.grid)


@cache
def _rules_text(size: int) -> str:
    side = int(size**0.5)
    return (
        f"Task: complete the {size}x{size} sudoku. Every row, every column and every "
        f"{side}x{side} box holds each digit from 1 to {size} once; a dot is a blank cell; "
        "givens must stay."
    )


raw_env = Sudoku
env, parallel_env = make_env_fns(Sudoku)
