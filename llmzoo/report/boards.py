"""Boards in the texts of episodes, for the page to draw as grids."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llmzoo import registry
from llmzoo.envs.base import TextEnv
from llmzoo.envs.drawing.board import Sighting
from llmzoo.errors import LlmzooError

# a text whole, or cut where it shows boards: {"text": as it is written, "board": rows of cells}
Segments = str | list[str | dict[str, Any]]


def drawer(env_id: str) -> Callable[[str], Segments]:
    """What cuts a text of this environment where it shows boards.

    Only an environment that is registered here is asked. Nothing is imported for a ``module:name``
    that a run folder names, and no server is called: their texts stay as they are.
    """
    cls = _class_of(env_id)
    if cls is None:
        return _whole
    return lambda text: cut(text, cls.boards_in(text))


def cut(text: str, sightings: Sequence[Sighting]) -> Segments:
    """``text`` in segments, by the boards seen in it; whole where there are none."""
    segments: list[str | dict[str, Any]] = []
    at = 0
    for seen in sorted(sightings, key=lambda seen: seen.start):
        if seen.start < at:  # within a board that is drawn already
            continue
        segments += [text[at : seen.start]] if seen.start > at else []
        board = seen.board.to_dict()
        rows = [[[cell["symbol"], cell["kind"]] for cell in row] for row in board["rows"]]
        drawn = {"rows": rows, "block": board["block"], "shows": seen.shows}
        segments.append({"text": text[seen.start : seen.end], "board": drawn})
        at = seen.end
    if not segments:
        return text
    return [*segments, text[at:]] if at < len(text) else segments


def _class_of(env_id: str) -> type[TextEnv] | None:
    if registry.is_remote(env_id) or registry.is_path(env_id):
        return None
    try:
        spec = registry.spec(env_id)
        env = registry.make(env_id, **spec.offline).unwrapped
    except (LlmzooError, OSError):  # unknown here, or what it needs is absent
        return None
    return type(env) if isinstance(env, TextEnv) else None


def _whole(text: str) -> Segments:
    return text
