"""Checks of arguments that several environments share."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.errors import ConfigError


def one_of(name: str, value: object, known: Sequence[object]) -> None:
    """Raise ``ConfigError`` if ``value`` is not one of the ``known`` values of the argument ``name``."""
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(map(str, known))}; got {value!r}")
