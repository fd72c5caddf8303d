"""# Plan path

Two agents find a way through a grid with walls. The proposer writes a path, which is simulated and shown;
the planner reads where it leads and commits a path. The next round begins at the end of that path.

| | |
|---|---|
| id | `plan_path_v0` |
| agents | `proposer_0`, then `planner_1`; with `num_agents=1`: `planner_0` |
| observation, action | text |
| rounds | at most `max_turns` (4) |
| success | standing on the goal |

**The grid.** `@` your position, `G` the goal, `#` a wall, `.` floor. Nobody can leave the grid.

**Actions.** Moves `U`, `D`, `L`, `R` (up, down, left, right) as a string, `UURRD`, or a list,
`[U, U, R]`; prose and code fences around them do not matter (see `llmzoo.envs.games.moves`). A walk
ends at the goal, or before the first move that hits a wall or leaves the grid; the moves before it
count. At most 1000 moves.

**Rewards** (potential-based, gamma 1; see `llmzoo.envs.games.planning_game`).

| part | who | worth over an episode |
|---|---|---|
| team | both | the share of the way done: (d_start - d_now) / d_start, at least 0 |
| format | own answer | 0.1 if moves can be read |
| legal | own answer | 0.1 if every move was possible |
| quality | own answer | 0.8 x the share of the way done after it |

d is the length of a shortest path to the goal, around the walls.

**Arguments.** `size` (10; `height` and `width` if the grid is not square, 2 to 30 each), `density`
(0.22, probability that a cell is a wall), `min_distance` (4, least number of moves from start to goal),
`num_agents`, `max_turns`, `prompt` ("full", "terse" or "cells"), `view` ("full" or "split"),
`message_chars` (400, at most 2000, of the split view), `team_weight`, `split` ("train", "test", "all"),
`source` ("generator", or a [file](../data.md#files-of-records) with `grid`: lines of `#`, `.`, one `S`
and one `G`), `on_bad_record` ("error" or "skip": of a file), `render_mode`.

**Tasks.** The goal of every grid can be reached. The split is by content: mirror images, turns
and grids with start and goal exchanged stay together.

**Split view.** With `view="split"` the task [needs two](../split_views.md). Each agent sees one half of the
cells. The proposer also sees the goal, and writes messages; the planner also sees where it is, and walks.
What a walk tells, where it ended and which move was blocked, the planner is told. Both are paid the team
part only, and -0.05 for an answer that cannot be delivered or read.

**Cells.** With `prompt="cells"` the grid is not drawn but listed: walls, goal and player as names of cells, the
letter of the column and the number of the row (`d7`). The last line of an answer counts: the cells of the
walk (`d7 d8 e8`) or its moves; working may stand above it. A walk stops before a cell that is no neighbour of the one
before. The expert draws one of the shortest walks at random. Only with `view="full"`.

**Pictures.** `render_mode="human"` prints the grid after the reset and every step, `"ansi"` returns
it as text and `"rgb_array"` as a picture ([rendering](../tasks.md#rendering)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.drawing import Board
from llmzoo.envs.games import cells, split_view
from llmzoo.envs.games.plan_path import players, scoring, tasks
from llmzoo.envs.games.plan_path.tasks import PathTask, Position
from llmzoo.envs.games.planning_game import PLANNER, PlanningState, PlanResult
from llmzoo.envs.games.walking_game import WalkingGame
from llmzoo.envs.tasks import Tasks, generate_tasks


class PlanPath(WalkingGame[PathTask, Position]):
    """Path planning for one planner, or a proposer and a planner. The world is the position."""

    metadata: dict[str, Any] = {**WalkingGame.metadata, "name": "plan_path_v0"}
    terse_name = "path"
    split_note = " Only the proposer sees G, and only the planner sees @."

    def __init__(
        self,
        *,
        size: int = 10,
        height: int | None = None,
        width: int | None = None,
        density: float = 0.22,
        min_distance: int = 4,
        split: str = "train",
        source: str = "generator",
        on_bad_record: Literal["error", "skip"] = "error",
        prompt: Literal["full", "terse", "cells"] = "full",
        **options: Any,
    ):
        grids: Tasks[PathTask]
        if source == "generator":
            height, width = size if height is None else height, size if width is None else width
            tasks.check_arguments(height, width, density, min_distance)
            grids = generate_tasks(
                tasks.sample_task,
                tasks.canonical,
                split=split,
                name=f"plan_path {height}x{width}, density {density}, min_distance {min_distance}",
                height=height,
                width=width,
                density=density,
                min_distance=min_distance,
            )
        else:
            grids = tasks.load_tasks(source, on_bad_record).task_list(tasks.canonical, split)
        super().__init__(grids, prompt=prompt, **options)

    def initial_world(self, task: PathTask) -> Position:
        return task.start

    def place(self, world: Position) -> Position:
        return world

    def size(self, task: PathTask) -> tuple[int, int]:
        return len(task.rows), len(task.rows[0])

    def execute(self, task: PathTask, world: Position, plan: str) -> PlanResult[Position]:
        walk = scoring.walk(task, world, plan)
        if walk.blocked is None:
            return PlanResult(walk.end, True)
        return PlanResult(walk.end, False, (walk.blocked, plan[walk.blocked - 1]))

    def report(self, task: PathTask, result: PlanResult[Position]) -> str:
        if result.world == task.goal:
            return "goal reached: solved"
        row, column = result.world
        at = (
            cells.cell_name(row, column)
            if self.uses_cell_names
            else f"row {row + 1}, column {column + 1}"
        )
        if result.event is None:
            return f"every move was made; it ends at {at}, not at the goal"
        return f"{cells.describe_blocked_move(*result.event)}; it ends at {at}"

    def terse_report(self, task: PathTask, result: PlanResult[Position]) -> str:
        if result.world == task.goal:
            return "solved"
        row, column = result.world[0] + 1, result.world[1] + 1
        blocked = "" if result.event is None else f" blocked {result.event[0]}"
        return f"at {row} {column}{blocked}"

    def progress(self, task: PathTask, world: Position) -> float:
        return scoring.progress(task, world)

    def draw(self, task: PathTask, world: Position) -> str:
        return scoring.draw_grid(task, world)

    def world_board(self, task: PathTask, world: Position) -> Board:
        return scoring.grid_board(task, world)

    def cell_lists(self, task: PathTask, world: Position) -> str:
        walls = [
            (r, c)
            for r, row in enumerate(task.rows)
            for c, symbol in enumerate(row)
            if symbol == tasks.WALL
        ]
        return "\n".join(
            [
                cells.format_cells("walls", walls),
                cells.format_cells("goal", [task.goal]),
                cells.format_cells("player", [world]),
            ]
        )

    def rules(self, task: PathTask) -> str:
        if self.uses_cell_names:
            height, width = self.size(task)
            return (
                "Task: walk from the player to the goal, each step to the cell above, below, left or right, "
                "never into a wall or off the grid. A cell has the letter of its column and the number of its "
                f"row, from a1 at the top left to {cells.cell_name(height - 1, width - 1)} at the bottom right. The "
                "walk ends at the goal, or before the first step that is blocked; the next round begins there."
            )
        return (
            "Task: walk from @ to G. A dot is floor, # is a wall; nobody can leave the grid. "
            "U, D, L and R go one cell up, down, left and right. The walk ends at the goal, or "
            "before the first move that is blocked; the next round begins where it ended. Rows "
            "count from the top, columns from the left, both from 1."
        )

    def answer_form(self, task: PathTask) -> str:
        if self.uses_cell_names:
            return cells.ANSWER_FORM
        return "Answer with the moves, such as UURRD."

    def fingerprint(self, task: PathTask) -> str:
        return task.grid

    def full_expert(self) -> str:
        state, ties = self.episode, self.ties()
        if ties is None:
            return players.expert(state.task, state.world)
        return self.format_plan(state, players.random_shortest_path(state.task, state.world, ties))

    def full_noisy_expert(self, rng: random.Random) -> str:
        state = self.episode
        return self.format_plan(state, players.noisy_expert(state.task, state.world, rng))

    def visible_half(self, state: PlanningState[PathTask, Position], agent: str) -> str:
        """Half of the cells: of the proposer with the goal, of the planner with where it is."""
        task, planner = state.task, agent == PLANNER
        floor = [row.replace(tasks.START, ".").replace(tasks.GOAL, ".") for row in task.rows]
        cell, symbol = (state.world, "@") if planner else (task.goal, tasks.GOAL)
        rows = split_view.mask_rows(floor, planner)
        row, column = cell
        rows[row] = f"{rows[row][:column]}{symbol}{rows[row][column + 1 :]}"
        return "\n".join(rows)

    def split_report(self, task: PathTask, result: PlanResult[Position]) -> str:
        return self.report(task, result)

    def split_expert(self, message: str) -> str:
        seen = self.visible_half(self.episode, PLANNER).split("\n")
        return players.plan_from_half(seen, self.episode.world, message, self.turn)

    def split_noisy_expert(self, message: str, rng: random.Random) -> str:
        seen, world = self.visible_half(self.episode, PLANNER).split("\n"), self.episode.world
        task = players.reconstruct_task(seen, world, message)
        if task is None:
            return "".join(rng.choices("UDLR", k=rng.randint(1, 8)))
        return players.noisy_expert(task, world, rng)


raw_env = PlanPath
env, parallel_env = make_env_fns(PlanPath)
