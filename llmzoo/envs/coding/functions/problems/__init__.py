"""Problems written for this project, each of which profits from a helper."""

from __future__ import annotations

from llmzoo.envs.coding.functions.problems import grids, lists, numbers, words
from llmzoo.envs.coding.functions.problems.problem import Problem

PROBLEMS: tuple[Problem, ...] = (
    *words.PROBLEMS,
    *numbers.PROBLEMS,
    *lists.PROBLEMS,
    *grids.PROBLEMS,
)

__all__ = ["PROBLEMS", "Problem"]
