"""What several environments check of their arguments."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.errors import ConfigError


def one_of(name: str, value: object, known: Sequence[object]) -> None:
    """Raise ``ConfigError`` where the argument ``name`` is none of the values that it may have."""
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(map(str, known))}; got {value!r}")
