"""Settings of the curriculum (:mod:`llmzoo.engine.curriculum`), checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from llmzoo.errors import ConfigError
from llmzoo.fields import field_names
from llmzoo.names import check_names

CurriculumKind = Literal["none", "uniform", "learnability", "threshold"]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurriculumArgs:
    """Options of the curriculum.

    tasks: the number of tasks of the training split that are played, from number 0 on. None: all of a finite
        list.
    window: a task's success rate is the mean of this many newest results.
    first: a task with fewer results counts as solved half of the time.
    share: the share of episodes whose task is sampled by success rate. The others sample uniformly.
    low, high: ``threshold`` samples tasks whose success rate is in this range.
    """

    tasks: int | None = None
    window: int = 8
    first: int = 2
    share: float = 0.8
    low: float = 0.2
    high: float = 0.8

    def __post_init__(self) -> None:
        for name in ("tasks", "window", "first"):
            count = getattr(self, name)
            if (name, count) != ("tasks", None) and (type(count) is not int or count < 1):
                raise ConfigError(f"{name} must be a whole number, at least 1, got {count!r}")
        if self.first > self.window:
            raise ConfigError(f"first must be at most window ({self.window}), got {self.first}")
        for name in ("share", "low", "high"):
            value = getattr(self, name)
            if type(value) not in (int, float) or not 0.0 <= value <= 1.0:
                raise ConfigError(f"{name} must be from 0 to 1, got {value!r}")
        if self.low > self.high:
            raise ConfigError(f"low must be at most high, got {self.low} and {self.high}")


# the options that each kind of curriculum uses
_OPTIONS_BY_KIND: dict[str, set[str]] = {
    "uniform": {"tasks", "window", "first"},
    "learnability": {"tasks", "window", "first", "share"},
    "threshold": field_names(CurriculumArgs),
}


def curriculum_args(kind: str, args: Mapping[str, Any]) -> CurriculumArgs | None:
    """The options, checked; None without a curriculum."""
    if kind not in get_args(CurriculumKind):
        raise ConfigError(
            f"curriculum must be one of {', '.join(get_args(CurriculumKind))}, got {kind!r}"
        )
    if kind == "none":
        if args:
            raise ConfigError("curriculum_args have no effect with curriculum='none'")
        return None
    check_names("option of the curriculum", args, field_names(CurriculumArgs))
    for name in args:
        if name not in _OPTIONS_BY_KIND[kind]:
            raise ConfigError(f"{name} has no effect with curriculum={kind!r}: leave it out")
    return CurriculumArgs(**args)
