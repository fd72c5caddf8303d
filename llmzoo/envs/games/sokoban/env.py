"""# Sokoban

Two agents push boxes onto goals. The proposer writes moves, which are simulated and shown; the planner
reads their result and commits moves, which change the level.

| | |
|---|---|
| id | `sokoban_v0` |
| agents | `proposer_0`, then `planner_1`; with `num_agents=1`: `planner_0` |
| observation, action | text |
| rounds | at most `max_turns` (4) |
| success | every box is on a goal |

**The level.** XSB text: `#` wall, space floor, `.` goal, `$` box, `*` box on a goal, `@` player, `+`
player on a goal. Positions in reports are rows and columns counted from 1, outer wall included.

**Actions.** At most 1,000 moves: `RRDLU`, `rrDLu` (case does not matter), `R, R, D`, the words up,
down, left and right, or a list such as `["R", "D"]`; prose and code fences around them do not
matter, and the last code fence, `Answer:` line or line of moves counts (the full rule:
`llmzoo.envs.games.moves.parse_moves`). Moves are carried out up to the first impossible one; the moves
before it count. Moves after the level is solved are ignored.

**Rewards** (potential-based, gamma 1; see `llmzoo.envs.games.planning_game`).

| part | who | worth over an episode |
|---|---|---|
| team | both | 1 when solved, otherwise the progress p, below 1 |
| format | own answer | 0.1 if moves can be read |
| legal | own answer | 0.1 if none of them was blocked |
| quality | own answer | 0.8 x the progress after it |

p = 1/2 (boxes placed since the start / boxes to place) + 1/2 (pushes saved / pushes needed at the
start), each share at least 0; pushes are counted by the cheapest assignment of boxes to goals, each
box alone on the board. p is 0 in a position that is known to be lost: a box that can reach no goal, boxes
that block each other off a goal, or too few reachable goals.

**Arguments.** `size` (6, outer wall included) or `height` and `width`, `boxes` (1), `walls` (0.25, the
share of inner cells), `min_pushes` (2 where possible), `split` ("train", "test", "all"), `source`
("generator", or a file of levels in XSB text, separated by blank or `;` lines, or of
[records](../data.md#files-of-records) with `level`, which takes none of the arguments before),
`on_bad_record` ("skip": leave out the bad levels of a file, with a warning that names them; or
"error"), `num_agents`, `max_turns`, `prompt` ("full", "terse" or "cells"), `view` ("full" or "split"),
`message_chars` (400, at most 2000, of the split view), `team_weight`, `render_mode`.

**Tasks.** Generated levels are solvable by construction and start with no box on a goal. Levels from
a file need not be solvable. The split is by content: mirror images and turns of a level, and starts
between which the player can walk, stay together.

**Split view.** With `view="split"` the task [needs two](../split_views.md). Each agent sees one half of the
cells with the boxes on them. The proposer also sees every goal, and writes messages; the planner also sees
the player, and moves it. The planner is told which move was blocked and where the player is, not how many
boxes are on goals. Both are paid the team part only, and -0.05 for an answer that cannot be delivered or
read.

**Cells.** With `prompt="cells"` the level is not drawn but listed: floor, goals, boxes and player as names of
cells, the letter of the column and the number of the row (`d4`); what is not listed is wall. The last line of an
answer counts: the cells that the player walks over (`c4 d4 d5`) or its moves; working may stand above it. A walk
stops before a cell that is no neighbour of the one before. The expert writes where each box goes (`box: c4 c5`)
above its walk, and draws among the solutions with the fewest pushes. Only with `view="full"`.

**Pictures.** `render_mode="human"` prints the level after the reset and every step, `"ansi"` returns
it as text and `"rgb_array"` as a picture ([rendering](../tasks.md#rendering)).

**Version history.** v0: first version. Prompts for chat models were reworded in November 2026.
"""

from __future__ import annotations

import random
from typing import Any, Literal

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.games import cells
from llmzoo.envs.games.planning_game import PLANNER, PlanningState, PlanResult
from llmzoo.envs.games.sokoban import players, scoring, tasks, view
from llmzoo.envs.games.sokoban.levels import build_tables, cells_in_mask
from llmzoo.envs.games.sokoban.scoring import Position
from llmzoo.envs.games.sokoban.tasks import SokobanTask
from llmzoo.envs.games.walking_game import WalkingGame
from llmzoo.envs.tasks import Tasks, generate_tasks
from llmzoo.errors import ConfigError

DEFAULT_SIZE = 6


class Sokoban(WalkingGame[SokobanTask, Position]):
    """Sokoban for one planner, or a proposer and a planner."""

    metadata: dict[str, Any] = {**WalkingGame.metadata, "name": "sokoban_v0"}
    terse_name = "sokoban"
    board_cells = view.CELLS
    split_note = " Only the proposer sees goals, and only the planner sees the player."

    def __init__(
        self,
        *,
        size: int | None = None,
        height: int | None = None,
        width: int | None = None,
        boxes: int | None = None,
        walls: float | None = None,
        min_pushes: int | None = None,
        split: str = "train",
        source: str = "generator",
        on_bad_record: Literal["error", "skip"] = "skip",
        prompt: Literal["full", "terse", "cells"] = "full",
        **options: Any,
    ):
        if size is not None and (height is not None or width is not None):
            raise ConfigError("give size, or height and width, not both")
        chosen: Tasks[SokobanTask]
        generating = {
            "height": size if height is None else height,
            "width": size if width is None else width,
            "boxes": boxes,
            "walls": walls,
            "min_pushes": min_pushes,
        }
        if source == "generator":
            arguments = {**_DEFAULTS, **_explicit_arguments(generating)}
            tasks.check_arguments(**arguments)
            chosen = generate_tasks(
                tasks.sample_task,
                tasks.canonical,
                split=split,
                name=f"sokoban {_SETTINGS.format(**arguments)}",
                **arguments,
            )
        elif _explicit_arguments(generating):
            raise ConfigError(
                f"{', '.join(_explicit_arguments(generating))} are for generated levels; {source} has its own"
            )
        else:
            chosen = tasks.load_tasks(source, on_bad_record).task_list(tasks.canonical, split)
        super().__init__(chosen, prompt=prompt, **options)

    def initial_world(self, task: SokobanTask) -> Position:
        return scoring.start_position(task.level)

    def place(self, world: Position) -> cells.Position:
        return divmod(world.player, build_tables(world.level).width)

    def size(self, task: SokobanTask) -> tuple[int, int]:
        tables = build_tables(task.level)
        return tables.height, tables.width

    def execute(self, task: SokobanTask, world: Position, plan: str) -> PlanResult[Position]:
        done = scoring.run_moves(world, plan)
        return PlanResult(done.world, done.blocked is None, done)

    def report(self, task: SokobanTask, result: PlanResult[Position]) -> str:
        return scoring.report(result.event, by_name=self.uses_cell_names)

    def terse_report(self, task: SokobanTask, result: PlanResult[Position]) -> str:
        return scoring.terse_report(result.event)

    def progress(self, task: SokobanTask, world: Position) -> float:
        return scoring.progress(world)

    def draw(self, task: SokobanTask, world: Position) -> str:
        return scoring.draw_position(world)

    def cell_lists(self, task: SokobanTask, world: Position) -> str:
        tables = build_tables(world.level)

        def format_mask(label: str, mask: int) -> str:
            return cells.format_cells(
                label, (divmod(cell, tables.width) for cell in cells_in_mask(mask))
            )

        return "\n".join(
            [
                format_mask("floor", tables.floor),
                format_mask("goals", tables.goals),
                format_mask("boxes", world.boxes),
                format_mask("player", 1 << world.player),
            ]
        )

    def rules(self, task: SokobanTask) -> str:
        if self.uses_cell_names:
            return (
                "Task: sokoban. Walk so that every box is pushed onto a goal, each step to the cell above, "
                "below, left or right. A step into a box pushes it if the cell behind it is free; two boxes "
                "cannot be pushed at once. A cell has the letter of its column and the number of its row, "
                "from a1 at the top left. What is not listed as floor is wall; goals, boxes and the player "
                "are on floor."
            )
        return (
            "Task: sokoban. Move the player so that every box is pushed onto a goal. A box can be "
            "pushed by walking against it if the cell behind it is free; it cannot be pulled, and "
            "two boxes cannot be pushed at once.\n"
            "Symbols: # wall, @ player, $ box, . goal, * box on a goal, + player on a goal, space "
            "floor. Rows and columns are counted from 1, outer wall included."
        )

    def answer_form(self, task: SokobanTask) -> str:
        if self.uses_cell_names:
            return cells.ANSWER_FORM
        return (
            "Answer with the moves as one string of U (up), D (down), L (left) and R (right), such as "
            f"RRDLU, at most {scoring.MAX_MOVES}. They are executed until one is blocked."
        )

    def fingerprint(self, task: SokobanTask) -> str:
        return task.level

    def full_expert(self) -> str:
        state, ties = self.episode, self.ties()
        if ties is None:
            return players.expert(state.world)
        moves = players.expert(state.world, ties)
        return "\n".join(
            [*players.explain_solution(state.world, moves), self.format_plan(state, moves)]
        )

    def full_noisy_expert(self, rng: random.Random) -> str:
        return self.format_plan(self.episode, players.noisy_expert(self.episode.world, rng))

    def visible_half(self, state: PlanningState[SokobanTask, Position], agent: str) -> str:
        """Half of the cells: of the proposer with every goal, of the planner with the player."""
        return view.visible_half(scoring.draw_position(state.world), agent == PLANNER)

    def split_report(self, task: SokobanTask, result: PlanResult[Position]) -> str:
        return scoring.brief_report(result.event)

    def split_expert(self, message: str) -> str:
        seen = self.visible_half(self.episode, PLANNER)
        position = players.reconstruct_position(seen, message)
        return players.explore(seen, self.turn) if position is None else players.expert(position)

    def split_noisy_expert(self, message: str, rng: random.Random) -> str:
        seen = self.visible_half(self.episode, PLANNER)
        position = players.reconstruct_position(seen, message)
        if position is None:
            return "".join(rng.choices("UDLR", k=rng.randint(1, 8)))
        return players.noisy_expert(position, rng)


_SETTINGS = "{height}x{width}, boxes {boxes}, walls {walls}, min_pushes {min_pushes}"
_DEFAULTS: dict[str, Any] = {
    "height": DEFAULT_SIZE,
    "width": DEFAULT_SIZE,
    "boxes": 1,
    "walls": tasks.WALLS,
    "min_pushes": None,
}


def _explicit_arguments(arguments: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if value is not None}


raw_env = Sokoban
env, parallel_env = make_env_fns(Sokoban)
