"""Planning under constraints: a meeting that suits everyone, a trip within its budget.

Sudoku, sokoban and plan-path are in :mod:`llmzoo.envs.games`.
"""

from __future__ import annotations

from llmzoo.registry import register

register(
    "calendar_v0",
    "llmzoo.envs.planning.calendar:env",
    family="planning",
    agents=("assistant_0", "assistant_1"),
    summary="Find a time for a meeting: each agent knows one person's calendar, and they write messages.",
    terse={"prompt": "terse"},
    offline={"source": "generator"},  # which is the default
)
register(
    "travel_v0",
    "llmzoo.envs.planning.travel:env",
    family="planning",
    agents=("booker_0", "guide_1"),
    summary="Plan a trip within a budget: one agent books transport and stays, the other meals and sights.",
    terse={"prompt": "terse"},
    offline={"source": "generator"},  # which is the default
)
