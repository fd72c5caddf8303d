"""Planning games: sudoku, sokoban, plan_path."""

from __future__ import annotations

from llmzoo.registry import register

_GAME_AGENTS = ("proposer_0", "planner_1")

for _id, _summary in {
    "sudoku_v0": "Fill a 4x4 or 9x9 sudoku: a proposer's grid is checked, a planner commits.",
    "sokoban_v0": "Push boxes onto goals: a proposer's moves are simulated, a planner commits.",
    "plan_path_v0": "Walk a grid with walls: a proposer's path is simulated, a planner commits.",
}.items():
    _name = _id.removesuffix("_v0")
    register(
        _id,
        f"llmzoo.envs.games.{_name}:env",
        family="games",
        agents=_GAME_AGENTS,
        summary=_summary,
        terse={"prompt": "terse"},
    )
