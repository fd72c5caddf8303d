"""Settings of the pool of opponents (:mod:`llmzoo.engine.opponents`), checked before a model is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, get_args

from llmzoo.errors import ConfigError
from llmzoo.names import check_names
from llmzoo.policies import SCRIPTED

OpponentSampling = Literal["self", "latest", "uniform", "recency", "prioritized", "fictitious"]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpponentArgs:
    """Options of the pool of opponents.

    every: iterations between copies. The first copy has the weights at the start.
    size: the maximum number of copies in the pool; the oldest are dropped. None: no limit. 0: only scripted
        policies. ``fictitious`` keeps all copies.
    share: the share of episodes that are played against an opponent. The others are self-play.
    scripted: policies that are in the pool from the start, such as ``noisy_expert``.
    gate: add a copy only if the win rate against the newest copy is at least this. None: always.
    per_iteration: the number of opponents sampled for an iteration. Each needs its own model in memory, and
        its own sampling calls.
    """

    every: int = 5
    size: int | None = 20
    share: float = 1.0
    scripted: tuple[str, ...] = ()
    gate: float | None = None
    per_iteration: int = 4

    def __post_init__(self) -> None:
        minimums = {"every": 1, "size": 0 if self.scripted else 1, "per_iteration": 1}
        for name, minimum in minimums.items():
            count = getattr(self, name)
            if (name, count) != ("size", None) and (type(count) is not int or count < minimum):
                raise ConfigError(
                    f"{name} must be a whole number, at least {minimum}, got {count!r}"
                )
        if not _is_share(self.share) or self.share == 0:
            raise ConfigError(f"share must be above 0 and at most 1, got {self.share!r}")
        if self.gate is not None and not _is_share(self.gate):
            raise ConfigError(f"gate must be a win rate from 0 to 1, got {self.gate!r}")
        if not isinstance(self.scripted, tuple):
            raise ConfigError(f"scripted must be a list of policies: write [{self.scripted}]")
        check_names("scripted player", self.scripted, SCRIPTED)


def _is_share(value: object) -> bool:
    return type(value) in (int, float) and 0.0 <= value <= 1.0  # type: ignore[operator]


def opponent_args(sampling: str, args: Mapping[str, Any]) -> OpponentArgs | None:
    """The options, checked; None for self-play, which has none."""
    if sampling not in get_args(OpponentSampling):
        raise ConfigError(
            f"opponents must be one of {', '.join(get_args(OpponentSampling))}, got {sampling!r}"
        )
    if sampling == "self":
        if args:
            raise ConfigError("opponents_args have no effect with opponents='self'")
        return None
    check_names("option of opponents", args, [f.name for f in fields(OpponentArgs)])
    options = dict(args)
    if isinstance(options.get("scripted"), list):
        options["scripted"] = tuple(options["scripted"])
    if sampling == "fictitious" and options.setdefault("size", None) is not None:
        raise ConfigError("opponents='fictitious' averages over all copies: leave out size")
    return OpponentArgs(**options)
