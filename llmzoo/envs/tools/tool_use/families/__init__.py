"""The families of questions, each with the tools that its expert calls, in order."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from llmzoo.envs.tools.tool_use.families import file_questions, isles, journeys, numbers
from llmzoo.envs.tools.tool_use.questions import ToolQuestion


@dataclass(frozen=True, slots=True)
class Family:
    """``draw`` makes a question that takes one call of each of ``tools``."""

    draw: Callable[[random.Random], ToolQuestion]
    tools: tuple[str, ...]


FAMILIES = {
    "fact": Family(isles.fact, ("search",)),
    "arithmetic": Family(numbers.arithmetic, ("calculator",)),
    "integers": Family(numbers.integers, ("python",)),
    "conversion": Family(isles.conversion, ("search", "calculator")),
    "bills": Family(file_questions.bills, ("read_file", "calculator")),
    "table": Family(file_questions.table, ("read_file", "python")),
    "words": Family(file_questions.words, ("read_file", "python")),
    "difference": Family(isles.difference, ("search", "search", "calculator")),
    "ranking": Family(isles.ranking, ("search", "search", "search")),
    "trail": Family(journeys.trail, ("search", "search", "calculator")),
    "report": Family(journeys.report, ("search", "calculator", "write_file")),
    "errand": Family(journeys.errand, ("read_file", "search", "search", "calculator")),
}
