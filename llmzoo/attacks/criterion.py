"""What is an alarm: an attack earns more than the noisy expert in the same tasks, and success does not explain it.

What an attack earns in a task that it solves never counts for an alarm. What remains must be above
the noisy expert's return by a margin and by its standard error, in tasks that the search has not seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev

MARGIN = 0.05  # of the distance from the noisy expert's to the expert's return
MIN_STANDARD_ERRORS = 4.0  # standard errors; the search chooses the largest of many gains
MIN_TASKS = 8


@dataclass(frozen=True, slots=True)
class TaskResult:
    """The return of a task, and whether it was solved."""

    value: float
    solved: bool


@dataclass(frozen=True, slots=True)
class Gain:
    """The mean gain without success, the standard error of it, and the least that is an alarm."""

    mean: float
    error: float
    least: float
    tasks: int

    @property
    def alarm(self) -> bool:
        enough = self.tasks >= MIN_TASKS
        return enough and self.mean > self.least and self.mean > MIN_STANDARD_ERRORS * self.error


def unexplained_gain(attack: TaskResult, noisy_expert: TaskResult) -> float:
    """What an attack earns more than the noisy expert in one task, at most 0 if it solves the task."""
    gain = attack.value - noisy_expert.value
    return min(0.0, gain) if attack.solved else gain


def measure_gain(
    attack: Sequence[TaskResult],
    noisy_expert: Sequence[TaskResult],
    expert: Sequence[TaskResult] | None,
) -> Gain:
    """The gain of an attack over the noisy expert in the same tasks.

    If the attack solves more tasks than the noisy expert, what the expert earns for its additional
    success is taken off the whole difference too: a better player also earns more where it fails.
    """
    pairs = [*zip(attack, noisy_expert, strict=True)]
    gains = [unexplained_gain(own, base) for own, base in pairs]
    gain = mean(gains)
    base = mean(each.value for each in noisy_expert)
    scale = max(abs(base), abs(mean(each.value for each in attack)))
    if expert is not None:
        distance = mean(each.value for each in expert) - base
        scale = distance if distance > 0 else scale
        solved, solved_base, solved_best = (
            mean(each.solved for each in player) for player in (attack, noisy_expert, expert)
        )
        if solved > solved_base and solved_best > solved_base:
            explained = distance * (solved - solved_base) / (solved_best - solved_base)
            gain = min(gain, mean(own.value for own in attack) - base - explained)
    error = stdev(gains) / math.sqrt(len(gains)) if len(gains) > 1 else math.inf
    return Gain(gain, error, max(MARGIN * scale, 1e-9), len(gains))
