"""Statistics with the run as unit, against numbers worked out by hand or by SciPy."""

import math
import random

import pytest

from llmzoo.evaluation.run_statistics import (
    crossed_bootstrap_interval,
    paired_t_test,
    student_t_p_value,
)


@pytest.mark.parametrize(
    ("t", "freedom", "p"),  # quantiles of the printed tables
    [
        (12.706, 1, 0.05),
        (4.303, 2, 0.05),
        (3.182, 3, 0.05),
        (2.776, 4, 0.05),
        (4.604, 4, 0.01),
        (2.571, 5, 0.05),
        (2.228, 10, 0.05),
        (2.042, 30, 0.05),
        (0.0, 7, 1.0),
    ],
)
def test_students_distribution(t, freedom, p):
    assert student_t_p_value(t, freedom) == pytest.approx(p, abs=5e-5)
    assert student_t_p_value(-t, freedom) == student_t_p_value(t, freedom)


@pytest.mark.slow
def test_students_distribution_is_scipys():
    scipy = pytest.importorskip("scipy.stats")
    for freedom in range(1, 41):
        for t in (0.1, 0.7, 1.9, 4.0, 25.0):
            assert student_t_p_value(t, freedom) == pytest.approx(
                2 * scipy.t.sf(t, freedom), abs=1e-12
            )


def test_three_seeds_of_which_one_fails_show_no_difference():
    """Differences 87, 79 and -4: mean 54, standard error 29.1, t = 1.856 with 2 degrees of freedom."""
    assert paired_t_test([1.00, 0.90, 0.09], [0.13, 0.11, 0.13]) == pytest.approx(0.2046, abs=5e-4)
    assert paired_t_test([0.9, 0.8, 0.85], [0.1, 0.05, 0.1]) < 0.001
    assert paired_t_test([0.5, 0.6], [0.5, 0.6]) == 1.0
    assert paired_t_test([0.5, 0.5], [0.25, 0.25]) == 0.0
    assert math.isnan(paired_t_test([0.5], [0.1]))
    with pytest.raises(ValueError, match="zip"):
        paired_t_test([0.5], [0.1, 0.2])


def test_runs_that_differ_widen_the_interval():
    """Runs at 94.5%, 2% and 88%: one in 27 resamples of the runs has the worst three times, which is more
    than the 2.5% that lie below the interval."""
    runs = [[1] * 189 + [0] * 11, [1] * 4 + [0] * 196, [1] * 176 + [0] * 24]
    low, high = crossed_bootstrap_interval(runs)
    assert low < 0.04
    assert high > 0.93


def test_runs_that_agree_give_the_interval_of_the_tasks():
    rng = random.Random(0)
    one = [float(rng.random() < 0.3) for _ in range(400)]
    low, high = crossed_bootstrap_interval([one, one, one])
    rate = sum(one) / 400
    half = 1.96 * math.sqrt(rate * (1 - rate) / 400)
    assert (low, high) == (
        pytest.approx(rate - half, abs=0.01),
        pytest.approx(rate + half, abs=0.01),
    )
    assert crossed_bootstrap_interval([one]) == (
        pytest.approx(low, abs=0.01),
        pytest.approx(high, abs=0.01),
    )


def test_episodes_of_a_task_are_resampled_together():
    """Ten tasks of twenty episodes each, all alike within a task: ten results, not two hundred."""
    alike = [[1.0] * 100 + [0.0] * 100]
    ids = [number // 20 for number in range(200)]
    low, high = crossed_bootstrap_interval(alike, ids)
    assert low <= 0.25
    assert high >= 0.75
    assert crossed_bootstrap_interval(alike)[0] > 0.4
    names = [f"task {number}" for number in ids]
    assert crossed_bootstrap_interval(alike, names) == (low, high)


@pytest.mark.slow
def test_the_interval_covers_the_mean_over_runs_and_tasks():
    """Five runs whose rates vary, 100 tasks: at least 85% of 300 intervals cover the true mean. (Few
    runs make a percentile interval too narrow: 95% would need more.)"""
    rng = random.Random(1)
    covered = 0
    for trial in range(300):
        hardness = [rng.gauss(0, 0.1) for _ in range(100)]
        runs = []
        for _ in range(5):
            skill = 0.5 + rng.gauss(0, 0.15)
            runs.append([float(rng.random() < skill + hard) for hard in hardness])
        low, high = crossed_bootstrap_interval(runs, resamples=500, seed=trial)
        covered += low <= 0.5 <= high
    assert covered / 300 > 0.85
