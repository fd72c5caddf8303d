"""Intervals, estimates and tests of results on tasks.

Results on one task (its samples, or those of several seeds) are correlated. So tasks are the units:
each is a cluster of its results.

``llmzoo eval`` calls the intervals in :mod:`llmzoo.evaluation.evaluate`, and leagues call them in
:mod:`llmzoo.evaluation.league_games`; ``llmzoo eval compare`` calls the tests in ``llmzoo/report/compare.py``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

Z95 = 1.959964


def wilson_interval(successes: float, trials: float, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (E. B. Wilson, 1927); z=1.96 for 95%.

    Both may be effective numbers, which need not be integers (:func:`repeated_success_interval`).
    """
    if trials == 0:
        return 0.0, 1.0
    rate = successes / trials
    scale = 1 + z * z / trials
    centre = (rate + z * z / (2 * trials)) / scale
    half = z / scale * math.sqrt(rate * (1 - rate) / trials + z * z / (4 * trials * trials))
    low = 0.0 if successes == 0 else max(0.0, centre - half)  # exact at the ends
    high = 1.0 if successes == trials else min(1.0, centre + half)
    return low, high


def repeated_success_interval(
    solved: Sequence[Sequence[bool]], z: float = Z95
) -> tuple[float, float]:
    """The interval of a success rate over several evaluations of the same tasks.

    ``solved[s][i]``: whether evaluation s solved task i. Results on one task under several seeds
    are correlated, so each task is a cluster. The interval is Wilson's with the number of trials
    divided by the design effect: the variance of the rate with tasks as clusters over that of
    independent trials (J. N. K. Rao and A. J. Scott, 1992; coverage: N. Dean and M. Pagano, 2015).
    For one evaluation this is Wilson's interval. A design effect below 1 counts as 1. If all or
    none are solved it cannot be estimated, and each task counts once.

    The interval covers the choice of tasks and the sampling of completions, not the variation of
    training between seeds.
    """
    results = [[one[i] for one in solved if i < len(one)] for i in range(max(map(len, solved)))]
    return clustered_wilson_interval(results, z)


def clustered_wilson_interval(results: Sequence[Sequence[bool]], z: float) -> tuple[float, float]:
    """The interval for correlated results within each sequence."""
    successes, trials = sum(map(sum, results)), sum(map(len, results))
    if successes in (0, trials):
        return wilson_interval(len(results) if successes else 0, len(results), z)
    rate = successes / trials
    between = sum((sum(cluster) - rate * len(cluster)) ** 2 for cluster in results)
    effect = max(1.0, between / (trials * rate * (1 - rate)))
    return wilson_interval(successes / effect, trials / effect, z)


def mean_interval(
    clusters: Sequence[Sequence[float]], z: float = Z95
) -> tuple[float, float] | None:
    """The normal interval of the mean of all values, which are correlated within each cluster.

    The variance is the sandwich estimate: the sum over clusters of the squared sum of deviations
    (K.-Y. Liang and S. L. Zeger, 1986), times C / (C - 1) for C clusters. None for a single
    cluster, from which it cannot be estimated.
    """
    count = sum(map(len, clusters))
    mean = sum(map(sum, clusters)) / count
    if len(clusters) < 2:
        return None
    between = sum((sum(values) - mean * len(values)) ** 2 for values in clusters)
    half = z * math.sqrt(between * len(clusters) / (len(clusters) - 1)) / count
    return mean - half, mean + half


def mean_returns(evaluation: Mapping[str, Any]) -> list[float]:
    """The mean return over agents of each episode of an evaluation; nan if unknown."""
    return [
        fmean(math.nan if value is None else value for value in episode_returns)
        for episode_returns in zip(*evaluation["returns"].values(), strict=True)
    ]


def pool_success(evaluations: Sequence[Mapping[str, Any]]) -> tuple[float, tuple[float, float]]:
    """The success rate over evaluations of the same tasks, and its interval (:func:`repeated_success_interval`).

    ``evaluations``: evaluations as written to files, with ``solved`` as a string of 0 and 1, and
    ``ids``; without ids, tasks of the same number count as the same. If one lacks ``solved``, each
    distinct task counts once, which gives the widest possible interval.
    """
    if all("solved" in one for one in evaluations):
        named = all("ids" in one for one in evaluations)
        results: dict[Any, list[bool]] = {}
        for one in evaluations:
            for name, mark in zip(
                one["ids"] if named else range(len(one["solved"])), one["solved"], strict=True
            ):
                results.setdefault(name, []).append(mark == "1")
        marks = list(results.values())
        return sum(map(sum, marks)) / sum(map(len, marks)), clustered_wilson_interval(marks, Z95)
    rate = sum(one["success"] * one["tasks"] for one in evaluations)
    rate /= sum(one["tasks"] for one in evaluations)
    distinct = max(one["tasks"] for one in evaluations)
    return rate, wilson_interval(rate * distinct, distinct)


def pass_at_k(k: int, solved: int, samples: int) -> float:
    """The probability that at least one of ``k`` samples of a task is right, if ``solved`` of
    ``samples`` are: the unbiased estimate 1 - C(samples - solved, k) / C(samples, k) of Chen et al.
    (2021, arXiv 2107.03374).

    >>> pass_at_k(2, 1, 4)
    0.5
    """
    if not 1 <= k <= samples:
        raise ValueError(f"k must be from 1 to the {samples} samples of a task, got {k}")
    return 1 - math.comb(samples - solved, k) / math.comb(samples, k)


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTest:
    """Two policies on the same tasks: the number of distinct tasks that each solved under more seeds
    than the other, and the p-value of no difference."""

    only_first: int
    only_second: int
    p_value: float  # exact, two-sided


def mcnemar_test(first: Sequence[bool], second: Sequence[bool]) -> PairedTest:
    """McNemar's exact test (Q. McNemar, 1947) of two evaluations of the same tasks.

    Under the null hypothesis, a task that only one policy solved is equally likely to be either's.
    Raises ``ValueError`` for different numbers of tasks.
    """
    return paired_test_over_seeds([first], [second])


def paired_test_over_seeds(
    first: Sequence[Sequence[bool]], second: Sequence[Sequence[bool]]
) -> PairedTest:
    """The same test for policies that were evaluated on the same tasks under several seeds.

    A task's difference is the number of seeds under which the first policy solved it minus that of
    the second. Under the null hypothesis each difference is equally likely to have the other sign.
    The p-value is the share of all choices of signs whose sum is at least as far from 0 (R. A.
    Fisher's randomization test, 1935, computed exactly). With one seed this is McNemar's test.
    Raises ``ValueError`` for different numbers of seeds or tasks.
    """
    seeds = list(zip(first, second, strict=True))
    differences = [[a - b for a, b in zip(one, other, strict=True)] for one, other in seeds]
    return sign_flip_test(
        [sum(task_differences) for task_differences in zip(*differences, strict=True)]
    )


def sign_flip_test(differences: Sequence[int]) -> PairedTest:
    """The test of :func:`paired_test_over_seeds` from each task's difference."""
    sums = {0: 1}  # sum of signed differences -> number of sign choices that give it
    for size in map(abs, filter(None, differences)):
        added: dict[int, int] = {}
        for value, count in sums.items():
            for signed in (value - size, value + size):
                added[signed] = added.get(signed, 0) + count
        sums = added
    as_extreme = sum(count for value, count in sums.items() if abs(value) >= abs(sum(differences)))
    return PairedTest(
        only_first=sum(difference > 0 for difference in differences),
        only_second=sum(difference < 0 for difference in differences),
        p_value=as_extreme / sum(sums.values()),
    )


def bootstrap_interval(
    clusters: Sequence[Sequence[float]], *, resamples: int = 10_000, seed: int = 0
) -> tuple[float, float]:
    """The 95% percentile interval of the mean of all values, from resampled clusters (B. Efron, 1979;
    with clusters as units: A. C. Davison and D. V. Hinkley, 1997, section 3.8)."""
    import numpy as np

    sums, counts = np.array([(sum(values), len(values)) for values in clusters], dtype=float).T
    indices = np.random.default_rng(seed).integers(len(clusters), size=(resamples, len(clusters)))
    means = sums[indices].sum(axis=1) / counts[indices].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return float(low), float(high)


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number: the probability of any false positive among all of them
    stays below the level (S. Holm, 1979)."""
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    corrected, least = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(order):
        least = max(least, min(1.0, p_values[i] * (len(order) - rank)))
        corrected[i] = least
    return corrected
