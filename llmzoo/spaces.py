"""Text spaces: any string up to a length, and observations that PettingZoo's tests accept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from gymnasium.spaces import Text

_SAMPLE_CHARS = "UDLR0123456789 .,:[]()#\nabcdefghijklmnopqrstuvwxyzäß漢🙂"
_SAMPLE_LENGTH = 64  # characters; random texts need not be long


class Observation(str):
    """A ``str`` that carries the ``dtype`` of :class:`FreeText`.

    PettingZoo 1.27's ``api_test`` compares ``observation.dtype`` with ``space.dtype``. A plain
    ``str`` has none; this one does, and is otherwise a ``str`` in every way.
    """

    __slots__ = ()
    dtype = np.dtype(str)


class Conversation(Observation):
    """An observation that is a conversation, as text and as ``messages``.

    Policies with a chat template read ``messages`` (dicts with ``role`` and ``content``) and ``tools``
    (JSON schemas); all others read the text.
    """

    messages: tuple[Mapping[str, Any], ...]
    tools: tuple[Mapping[str, Any], ...]

    def __new__(
        cls,
        text: str,
        messages: tuple[Mapping[str, Any], ...],
        tools: tuple[Mapping[str, Any], ...] = (),
    ) -> Conversation:
        new = super().__new__(cls, text)
        new.messages, new.tools = messages, tools
        return new

    def __getnewargs__(self) -> tuple[Any, ...]:  # for copies
        return str(self), self.messages, self.tools


class PlainPrompt(Observation):
    """An observation that a model reads as it is, without its chat template."""

    __slots__ = ()


class FreeText(Text):
    """Every ``str`` of at most ``max_length`` characters: all of Unicode, the empty one included."""

    def __init__(self, max_length: int = 1_000_000, *, seed: int | None = None):
        super().__init__(max_length, min_length=0, charset=_SAMPLE_CHARS, seed=seed)
        self.dtype = Observation.dtype

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and len(x) <= self.max_length

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A short random text (at most 64 characters); masks are ignored."""
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLE_LENGTH) + 1))
        picks = self.np_random.integers(0, len(_SAMPLE_CHARS), size=length)
        return "".join(_SAMPLE_CHARS[i] for i in picks)

    def __repr__(self) -> str:
        return f"FreeText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # as for every gymnasium space: compared by value
