"""Planning games whose plans are walks of one player over a grid, with a prompt form of cells.

``prompt="cells"`` shows the world as lists of named cells (:mod:`llmzoo.envs.games.cells`) in place of a
drawing, and reads an answer that names cells. Everything else is that of the full form. A model then need not
find positions in a drawing. (Sudoku has no such form: its grid is read and answered in the same order.)
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Generic

from llmzoo.envs.games import cells
from llmzoo.envs.games.cells import Position
from llmzoo.envs.games.moves import parse_moves
from llmzoo.envs.games.planning_game import PlanningGame, PlanningState, Task, World


class WalkingGame(PlanningGame[Task, World, str], Generic[Task, World]):
    """A planning game of walks. A game supplies, beside the methods of :class:`PlanningGame`, where its
    player stands (:meth:`place`) and its world as lists (:meth:`cell_lists`).

    In the form of cells the expert draws at random, by the episode's seed, among plans that are as good.
    """

    def place(self, world: World) -> Position:
        """The row and column of the player."""
        raise NotImplementedError

    def size(self, task: Task) -> tuple[int, int]:
        """The rows and columns of the grid."""
        raise NotImplementedError

    def cell_lists(self, task: Task, world: World) -> str:
        """The world as lines of a label and the names of cells."""
        raise NotImplementedError

    @property
    def uses_cell_names(self) -> bool:
        return self.prompt_style == "cells"

    def reset_task(self, rng: random.Random, task: int | str | None) -> PlanningState[Task, World]:
        state = super().reset_task(rng, task)
        return replace(state, ties=rng.getrandbits(64)) if self.uses_cell_names else state

    def ties(self) -> random.Random | None:
        """What the expert draws from in this round, alike for both agents; None: no draws."""
        return random.Random(self.episode.ties + self.turn) if self.uses_cell_names else None

    def parse(self, state: PlanningState[Task, World], text: str) -> str:
        if self.uses_cell_names:
            return cells.parse_walk(text, self.place(state.world))
        return parse_moves(text)

    def format_world(self, task: Task, world: World) -> str:
        return (self.cell_lists if self.uses_cell_names else self.draw)(task, world)

    def format_plan(self, state: PlanningState[Task, World], plan: str) -> str:
        if self.uses_cell_names:
            return cells.format_walk(plan, self.place(state.world), self.size(state.task))
        return plan
