"""A question, its right answers, and the calls that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from llmzoo.envs.tools.corpus import Article


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
    """The right answers.

    values: each of them is right.
    within: how far a number may be off; None if the values are text.
    path: the file that must hold the answer, if the answer is a file.
    """

    values: tuple[str, ...]
    tolerance: float | None = None
    path: str | None = None


@dataclass(frozen=True, slots=True)
class NeededCall:
    """A call that a question needs.

    tools: any of these will do.
    shows: a number or a text that the result must contain; "" accepts any result.
    within: how far the number may be off.
    arguments: the expert's, for the first tool.
    """

    tools: tuple[str, ...]
    shows: str = ""
    tolerance: float = 0.0
    arguments: Mapping[str, Any] = field(default_factory=dict, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolQuestion:
    """A task.

    content: what it is about, whatever the wording; questions with equal content are in one split.
    files: path and text of each file that exists at the start.
    """

    text: str
    target: ExpectedAnswer
    steps: tuple[NeededCall, ...]
    family: str
    content: str
    files: tuple[tuple[str, str], ...] = ()


def numeric_answer(value: float, tolerance: float = 0.0) -> ExpectedAnswer:
    """A number; ``tolerance`` is how far an answer may be off."""
    return ExpectedAnswer((format_number(value),), tolerance)


def format_number(value: float) -> str:
    """A number in digits, without an exponent or trailing zeros."""
    return str(value) if isinstance(value, int) else f"{value:.10f}".rstrip("0").rstrip(".")


# The calls that questions are put together from

_COMPUTERS = ("calculator", "python")
_UNITS = ("m", "km2", "km", "cm", "g", "marens", "years")  # the last word of some facts' names


def search_call(article: Article, fact: str) -> NeededCall:
    """A search that finds an article; the result shows its title."""
    about, _, unit = fact.rpartition("_")
    about = (about if unit in _UNITS else fact).replace("_", " ")
    # the articles of all its towns mention an island's name
    kind = " island" if article.kind == "island" else ""
    query = f"{article.title}{kind} {about}"
    return NeededCall(("search",), f"] {article.title}\n", arguments={"query": query})


def calculator_call(expression: str, value: float, tolerance: float = 0.0) -> NeededCall:
    """A calculation; any tool that computes will do."""
    return NeededCall(_COMPUTERS, format_number(value), tolerance, {"expression": expression})


def python_call(code: str, value: float, tolerance: float = 0.0) -> NeededCall:
    """A calculation that needs a program."""
    return NeededCall(_COMPUTERS[::-1], format_number(value), tolerance, {"code": code})


def read_file_call(path: str, text: str) -> NeededCall:
    return NeededCall(("read_file",), text, arguments={"path": path})


def write_file_call(path: str, text: str) -> NeededCall:
    return NeededCall(("write_file",), path, arguments={"path": path, "content": text})
