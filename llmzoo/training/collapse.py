"""Warnings during a run: its return collapses, or its return rises while success falls."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, variance
from typing import Any

from llmzoo.errors import CollapseWarning, RewardAttackWarning
from llmzoo.training.faults import WINDOW

_STANDARD_ERRORS = 5.0  # standard errors of a difference


@dataclass(frozen=True, slots=True)
class _IterationSummary:
    """The metrics of an iteration: the mean episode return over agents, the success rate, the entropy of a
    sampled token in nats, and the fraction of actions that the environment refuses."""

    step: int
    mean_return: float
    success: float | None
    entropy: float | None
    invalid: float | None


class ReturnHistory:
    """The returns of a run's iterations, in windows of ten.

    A run collapses if the mean return of its newest window is more than five standard errors below that
    of the best window before it. It attacks its reward if the newest window has a higher return than
    the earlier window with the highest success, but lower success, both by more than five standard
    errors. The agents of a zero-sum game always have a total return of 0, so there only penalties
    count. ``rows``: the metrics of the iterations that a resumed run has done. ``warns``: whether to warn
    with :class:`CollapseWarning` and :class:`RewardAttackWarning`, at most once each.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]] = (), *, warns: bool = True):
        self._silent: set[type[Warning]] = {CollapseWarning, RewardAttackWarning}
        self._seen: list[_IterationSummary] = []
        self._highest = -math.inf
        self.idle = 0  # iterations since the window with the highest mean return
        self._best: Sequence[_IterationSummary] = ()
        self._most_successful: Sequence[_IterationSummary] = ()
        for row in rows:
            self.add_iteration(row)
        if warns:
            self._silent.clear()

    @property
    def mean_return(self) -> float | None:
        """The mean return of the newest window, or of the iterations so far; None if there are none."""
        newest = self._seen[-WINDOW:]
        return _mean_return(newest) if newest else None

    def add_iteration(self, row: Mapping[str, Any]) -> None:
        """Add the metrics of an iteration. Iterations without episodes are ignored."""
        if not row.get("return"):
            return
        self._seen.append(_summarize(row))
        if len(self._seen) >= WINDOW:
            mean = _mean_return(self._seen[-WINDOW:])
            self.idle = 0 if mean > self._highest else self.idle + 1
            self._highest = max(mean, self._highest)
        earlier = self._seen[-2 * WINDOW : -WINDOW]
        if len(earlier) < WINDOW:
            return
        if not self._best or _mean_return(earlier) > _mean_return(self._best):
            self._best = earlier
        if not self._most_successful or _mean_success(earlier) > _mean_success(
            self._most_successful
        ):
            self._most_successful = earlier
        newest = self._seen[-WINDOW:]
        if _is_clearly_higher(_returns(self._best), _returns(newest)):
            self._warn(CollapseWarning, _collapse_message(self._best, newest))
        if _is_reward_attack(self._most_successful, newest):
            self._warn(RewardAttackWarning, _attack_message(self._most_successful, newest))

    def _warn(self, kind: type[Warning], text: str) -> None:
        if kind not in self._silent:
            self._silent.add(kind)
            warnings.warn(text, kind, stacklevel=4)


def _summarize(row: Mapping[str, Any]) -> _IterationSummary:
    entropies = [v for k, v in row.items() if k.rpartition("/")[2] == "entropy"]
    agents = row.get("agents", {}).values()
    invalid = [agent["invalid"] for agent in agents if "invalid" in agent]
    return _IterationSummary(
        step=row["step"],
        mean_return=fmean(row["return"].values()),
        success=row.get("success"),
        entropy=fmean(entropies) if entropies else None,
        invalid=fmean(invalid) if invalid else None,
    )


def _returns(seen: Sequence[_IterationSummary]) -> list[float]:
    return [one.mean_return for one in seen]


def _success_rates(seen: Sequence[_IterationSummary]) -> list[float]:
    return [one.success for one in seen if one.success is not None]


def _mean_return(seen: Sequence[_IterationSummary]) -> float:
    return fmean(_returns(seen))


def _mean_success(seen: Sequence[_IterationSummary]) -> float:
    return fmean(_success_rates(seen) or [0.0])


def _is_reward_attack(
    earlier: Sequence[_IterationSummary], newest: Sequence[_IterationSummary]
) -> bool:
    """Whether the return is higher and success is lower."""
    solved, now = _success_rates(earlier), _success_rates(newest)
    known = min(len(solved), len(now)) == WINDOW
    return (
        known
        and _is_clearly_higher(solved, now)
        and _is_clearly_higher(_returns(newest), _returns(earlier))
    )


def _is_clearly_higher(first: Sequence[float], second: Sequence[float]) -> bool:
    """Whether the mean of the first is higher by more than five standard errors of the difference."""
    error = math.sqrt(sum(variance(part) / len(part) for part in (first, second)))
    return fmean(first) - fmean(second) > max(_STANDARD_ERRORS * error, 1e-9)


def _collapse_message(
    best: Sequence[_IterationSummary], newest: Sequence[_IterationSummary]
) -> str:
    def describe(seen: Sequence[_IterationSummary]) -> str:
        parts = [f"{_mean_return(seen):.3g} in iterations {seen[0].step} to {seen[-1].step}"]
        entropies = [one.entropy for one in seen if one.entropy is not None]
        refused = [one.invalid for one in seen if one.invalid is not None]
        parts += [f"entropy {fmean(entropies):.2g}"] if entropies else []
        parts += [f"{fmean(refused):.0%} of the actions refused"] if refused else []
        return ", ".join(parts)

    return (
        f"the return is falling: {describe(newest)}; it was {describe(best)}. Training is undoing what was learned. "
        "The checkpoint with the highest return is kept. A lower learning_rate, or kl above 0, may prevent this."
    )


def _attack_message(
    earlier: Sequence[_IterationSummary], newest: Sequence[_IterationSummary]
) -> str:
    then, now = (f"iterations {part[0].step} to {part[-1].step}" for part in (earlier, newest))
    return (
        f"the return rises while success falls: return {_mean_return(earlier):.3g} and success "
        f"{_mean_success(earlier):.1%} in {then}, {_mean_return(newest):.3g} and {_mean_success(newest):.1%} in {now}. "
        "The reward can be obtained without solving the task: read played.jsonl, or run llmzoo report."
    )
