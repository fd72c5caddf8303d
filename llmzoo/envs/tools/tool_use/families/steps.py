"""The calls that families are put together from."""

from __future__ import annotations

from llmzoo.envs.tools.corpus import Article
from llmzoo.envs.tools.tool_use.questions import NeededCall, plain

COMPUTERS = ("calculator", "python")

_UNITS = ("m", "km2", "km", "cm", "g", "marens", "years")  # with which a fact's name may end


def look_up(article: Article, fact: str) -> NeededCall:
    """A search that finds an article, which stands under its title in the result."""
    about, _, unit = fact.rpartition("_")
    about = (about if unit in _UNITS else fact).replace("_", " ")
    # an island's name stands in the articles of all its towns
    kind = " island" if article.kind == "island" else ""
    query = f"{article.title}{kind} {about}"
    return NeededCall(("search",), f"] {article.title}\n", arguments={"query": query})


def calculate(expression: str, value: float, within: float = 0.0) -> NeededCall:
    """A calculation; any tool that computes will do."""
    return NeededCall(COMPUTERS, plain(value), within, {"expression": expression})


def program(code: str, value: float, within: float = 0.0) -> NeededCall:
    """A calculation that takes a program to do."""
    return NeededCall(COMPUTERS[::-1], plain(value), within, {"code": code})


def read(path: str, text: str) -> NeededCall:
    return NeededCall(("read_file",), text, arguments={"path": path})


def write(path: str, text: str) -> NeededCall:
    return NeededCall(("write_file",), path, arguments={"path": path, "content": text})
