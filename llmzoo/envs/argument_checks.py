"""Checks of arguments that several environments share."""

from __future__ import annotations

from collections.abc import Sequence

from llmzoo.errors import ConfigError


def check_choice(name: str, value: object, known: Sequence[object]) -> None:
    """Raise ``ConfigError`` if ``value`` is not one of the ``known`` values of the argument ``name``."""
    if value not in known:
        raise ConfigError(f"{name} must be one of {', '.join(map(str, known))}; got {value!r}")


def check_range(name: str, value: int, least: int, most: int) -> None:
    """Raise ``ConfigError`` unless the argument ``name`` is a whole number from ``least`` to ``most``."""
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ConfigError(f"{name} must be {least} to {most}, got {value!r}")
