"""Bounds of the numbers in a configuration."""

from __future__ import annotations

from llmzoo.errors import ConfigError


def check_bounds(config: object, /, **bounds: str) -> None:
    """Raise :class:`ConfigError` for the first option of ``config`` that is out of its bound.

    A bound reads "at least 1", "above 0", "in [0, 1]", "in [0, 1)" or "in (0, 1]". None is within every
    bound, NaN within none.
    """
    for name, bound in bounds.items():
        value = getattr(config, name)
        if value is not None and not _is_within(value, bound):
            raise ConfigError(f"{name} must be {bound}, got {value}")


def _is_within(value: float, bound: str) -> bool:
    if bound.startswith("at least "):
        return value >= float(bound.removeprefix("at least "))
    if bound.startswith("above "):
        return value > float(bound.removeprefix("above "))
    low, high = map(float, bound[len("in [") : -1].split(", "))
    return low <= value <= high and (value > low or "[" in bound) and (value < high or "]" in bound)
