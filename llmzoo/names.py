"""Names: which ones are allowed, and whether they are known."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TypeVar

from llmzoo.errors import UnknownNameError

T = TypeVar("T")
_NAME = re.compile(r"[\w.-]{1,64}", re.ASCII)
NAME_RULE = 'a name has 1 to 64 of the characters a-z, A-Z, 0-9, "_", "." and "-", not dots alone'


def is_name(text: str) -> bool:
    """Whether a text, such as an agent's name, may become a folder (:data:`NAME_RULE`)."""
    return _NAME.fullmatch(text) is not None and text.strip(".") != ""


def check_names(kind: str, names: Iterable[str], known: Collection[str]) -> None:
    """Raise :class:`UnknownNameError` for the first of ``names`` that is not among the ``known``."""
    for name in names:
        if name not in known:
            raise UnknownNameError(kind, name, known)


def matches_an_agent(key: str, agents: Iterable[str]) -> bool:
    """Whether a key is one of ``agents``, or a pattern, such as ``worker_*``, that matches one."""
    return any(agent == key or fnmatchcase(agent, key) for agent in agents)


def check_agent_keys(keys: Iterable[str], agents: Collection[str]) -> None:
    """Raise :class:`UnknownNameError` for the first of ``keys`` that matches none of ``agents``."""
    for key in keys:
        if not matches_an_agent(key, agents):
            raise UnknownNameError("agent", key, agents)


def value_for_agent(values: Mapping[str, T], agent: str, default: T) -> T:
    """The value for an agent: by its name, else by the first pattern that matches it (``worker_*``), else
    ``default``."""
    if agent in values:
        return values[agent]
    return next((value for key, value in values.items() if fnmatchcase(agent, key)), default)
