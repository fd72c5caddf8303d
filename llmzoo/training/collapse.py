"""A run that undoes what it has learned: a warning while it happens."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from llmzoo.errors import CollapseWarning
from llmzoo.training.faults import WINDOW

_SURE = 5.0  # standard errors of a difference


@dataclass(frozen=True, slots=True)
class _Seen:
    """What an iteration's metrics say: the mean over agents of what an episode pays, the entropy of a
    sampled token in nats, and the share of answers that the environment refuses."""

    step: int
    paid: float
    entropy: float | None
    invalid: float | None


class ReturnHistory:
    """What the iterations of a run have earned, by windows of ten.

    A run collapses if its newest window earns less than the best one before it, by more than five
    standard errors. The agents of a zero-sum game always earn 0 together, so there only penalties count.
    ``rows``: the metrics of the iterations that a resumed run has done. ``warns``: warn, once, with
    :class:`CollapseWarning`.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]] = (), *, warns: bool = True):
        self._warns = False
        self._seen: list[_Seen] = []
        self._best: Sequence[_Seen] = ()
        for row in rows:
            self.iteration(row)
        self._warns = warns

    @property
    def mean_return(self) -> float | None:
        """That of the newest window, or of the iterations so far; None if there were none."""
        newest = self._seen[-WINDOW:]
        return _mean(newest) if newest else None

    def iteration(self, row: Mapping[str, Any]) -> None:
        """Take in the metrics of an iteration; those of one without episodes say nothing."""
        if not row.get("return"):
            return
        self._seen.append(_seen(row))
        earlier = self._seen[-2 * WINDOW : -WINDOW]
        if len(earlier) < WINDOW:
            return
        if not self._best or _mean(earlier) > _mean(self._best):
            self._best = earlier
        newest = self._seen[-WINDOW:]
        if self._warns and _fallen(self._best, newest):
            self._warns = False
            warnings.warn(_told(self._best, newest), CollapseWarning, stacklevel=3)


def _seen(row: Mapping[str, Any]) -> _Seen:
    entropies = [v for k, v in row.items() if k.rpartition("/")[2] == "entropy"]
    agents = row.get("agents", {}).values()
    invalid = [agent["invalid"] for agent in agents if "invalid" in agent]
    return _Seen(
        step=row["step"],
        paid=fmean(row["return"].values()),
        entropy=fmean(entropies) if entropies else None,
        invalid=fmean(invalid) if invalid else None,
    )


def _mean(seen: Sequence[_Seen]) -> float:
    return fmean(one.paid for one in seen)


def _fallen(best: Sequence[_Seen], newest: Sequence[_Seen]) -> bool:
    error = math.sqrt(
        sum(variance(one.paid for one in part) / len(part) for part in (best, newest))
    )
    return _mean(best) - _mean(newest) > max(_SURE * error, 1e-9)


def _told(best: Sequence[_Seen], newest: Sequence[_Seen]) -> str:
    def at(seen: Sequence[_Seen]) -> str:
        parts = [f"{_mean(seen):.3g} in iterations {seen[0].step} to {seen[-1].step}"]
        entropies = [one.entropy for one in seen if one.entropy is not None]
        refused = [one.invalid for one in seen if one.invalid is not None]
        parts += [f"entropy {fmean(entropies):.2g}"] if entropies else []
        parts += [f"{fmean(refused):.0%} of the answers refused"] if refused else []
        return ", ".join(parts)

    return (
        f"the return is falling: {at(newest)}; it was {at(best)}. Training undoes what it has learned. "
        "The checkpoint with the highest return is kept. A lower learning_rate, or kl above 0, may hold it."
    )
