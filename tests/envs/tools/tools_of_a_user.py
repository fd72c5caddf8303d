"""Tools as a user registers them, named by ``"module:attribute"`` in tests."""

from __future__ import annotations

from llmzoo.envs.tools.toolbox import tool


@tool
def greet(name: str) -> str:
    """Greet somebody."""
    return f"Good day, {name}."


@tool
def count(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def plain(x: int) -> int:
    """No tool: the decorator is missing."""
    return x


both = (greet, count)
