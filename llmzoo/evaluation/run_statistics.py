"""Intervals and tests whose unit is the training run.

A learner's result varies from seed to seed, often more than from task to task. So a claim about a
learner must include both kinds of variation. :mod:`llmzoo.evaluation.statistics` has the intervals and tests of
single runs, in which only the tasks vary.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import fmean, stdev

import numpy as np


def crossed_bootstrap_interval(
    runs: Sequence[Sequence[float]],
    ids: Sequence[Hashable] | None = None,
    *,
    resamples: int = 10_000,
    seed: int = 0,
) -> tuple[float, float]:
    """The 95% percentile interval of the mean over runs and tasks.

    ``runs`` [S][N]: the result of each of S runs in each of N episodes, which are of the same tasks in
    the same order. ``ids`` [N]: the task of each episode; None: all differ. Runs and distinct tasks are
    resampled independently, with replacement: the pigeonhole bootstrap (A. B. Owen, Annals of Applied
    Statistics 1, 2007). With one run this is the bootstrap over tasks. With few runs the limits are
    rough: those of three runs are close to the lowest and the highest run if these are far apart.

    For a difference between two ways to train, pass the differences of runs with the same seeds.
    """
    values = np.asarray(runs, dtype=float)
    numbers = np.array(_number_ids(ids)) if ids else np.arange(len(runs[0]))
    tasks = int(numbers.max()) + 1
    sums = np.stack([np.bincount(numbers, weights=row, minlength=tasks) for row in values])
    counts = np.bincount(numbers, minlength=tasks)
    rng = np.random.default_rng(seed)
    run_counts = rng.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=resamples)
    task_counts = rng.multinomial(tasks, np.full(tasks, 1 / tasks), size=resamples)
    means = np.einsum("rs,rs->r", run_counts, task_counts @ sums.T) / (
        len(sums) * (task_counts @ counts)
    )
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def _number_ids(ids: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(id, len(numbers)) for id in ids]


def paired_t_test(first: Sequence[float], second: Sequence[float]) -> float:
    """The two-sided p-value of no difference, from the results of runs with the same seeds.

    Student's paired t test. With n runs it has n - 1 degrees of freedom, so three runs show only large
    and steady differences. NaN for fewer than two runs.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    if len(differences) < 2:
        return math.nan
    mean, deviation = fmean(differences), stdev(differences)
    if deviation == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return student_t_p_value(mean / (deviation / math.sqrt(len(differences))), len(differences) - 1)


def student_t_p_value(t: float, degrees_of_freedom: int) -> float:
    """The chance that |T| is at least ``|t|``, for Student's T with ``degrees_of_freedom`` degrees of freedom
    (M. Abramowitz and I. Stegun, 1964, 26.7.3 and 26.7.4)."""
    angle = math.atan(abs(t) / math.sqrt(degrees_of_freedom))
    square = math.cos(angle) ** 2
    odd = degrees_of_freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = term if degrees_of_freedom > 1 else 0.0
    for k in range(2 + odd, degrees_of_freedom - 1, 2):
        term *= square * (k - 1) / k
        total += term
    inside = math.sin(angle) * total
    if odd:
        inside = 2 / math.pi * (angle + inside)
    return max(0.0, 1.0 - inside)
