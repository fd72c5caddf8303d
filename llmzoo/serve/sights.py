"""What is looked at beyond a view: states, experts' answers, pictures, what else agents observe."""

from __future__ import annotations

import contextlib
from typing import Any

from llmzoo.errors import LlmzooError
from llmzoo.serve import values, views
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.noted import Noted

Key = tuple[str, str]  # what is looked at, and of which agent ("" where that means nothing)

ONE_BY_ONE = frozenset({"render", "board"})  # a person looks at these


class Onlooker:
    """Takes what was looked at ahead of time. ``sights`` are those of the state that it was noted
    at, which the environment has thrown away if it has gone on since."""

    def __init__(self, sights: dict[Key, Any], key: Key):
        self._sights = sights
        self._key = key

    def take(self, noted: Noted, number: int, outcome: pb.Outcome) -> bool:
        if not outcome.HasField("status") and outcome.HasField("sight"):
            with contextlib.suppress(LookupError, ValueError):  # whoever needs it will hear of it
                self._sights[self._key] = seen_in(outcome.sight, self._key)
        return False

    def lose(self, noted: Noted, error: LlmzooError, *, refused: bool) -> None:
        """Whoever needs it will ask for it."""

    def ask_again(self) -> Noted:
        raise AssertionError("nobody waits for this")


def look_at(key: Key, places: dict[str, int]) -> pb.Look:
    what, agent = key
    if what == "observe":
        return pb.Look(observe=[places[agent]])
    if what == "expert":
        return pb.Look(expert=[places[agent]])
    return pb.Look(state=what == "state", board=what == "board", render=what == "render")


def seen_in(sight: pb.Sight, key: Key) -> Any:
    what, _ = key
    if what == "observe":
        return views.read_observation(sight.observations[0])
    if what == "expert":
        return values.read(sight.experts[0])
    if what == "state":
        return values.read(sight.state)
    return values.read(sight.board if what == "board" else sight.render)
