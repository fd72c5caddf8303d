"""Numbers of several runs: worked out by hand."""

import math

import pytest
from made_runs import evaluation, iteration, make

from llmzoo.evaluation.statistics import wilson_interval
from llmzoo.report.runs import load_run
from llmzoo.report.series import (
    compute_curve,
    differing_settings,
    downsample,
    evaluation_points,
    group_runs,
    running_mean,
    sort_agents,
    student_t_interval,
)


def run_of(folder, rows=(), **config):
    return load_run(make(folder, rows, **config), folder.name)


def success(row):
    return row["success"]


def test_the_interval_of_three_seeds():
    # mean 0.5, standard deviation 0.1, t(0.975, 2) = 4.303: 4.303 x 0.1 / sqrt(3) = 0.24843
    mean, low, high = student_t_interval([0.4, 0.5, 0.6])
    assert (mean, low, high) == pytest.approx((0.5, 0.5 - 0.24843, 0.5 + 0.24843), abs=1e-5)
    assert student_t_interval([0.4]) == (0.4, 0.4, 0.4)


def test_a_running_mean_has_what_there_is():
    assert running_mean([1, 2, 3, 4], 2) == [1, 1.5, 2.5, 3.5]


def test_long_curves_are_averaged_over_stretches():
    assert downsample([1, 3, 5, 7, 9], 3) == [2, 6, 9]
    assert downsample([1, 3], 3) == [1, 3]


def test_a_curve_over_seeds(tmp_path):
    one = run_of(tmp_path / "a", [iteration(1, 0.2), iteration(2, 0.4), iteration(3, 0.9)])
    two = run_of(tmp_path / "b", [iteration(1, 0.4), iteration(2, math.nan)], seed=1)
    three = run_of(tmp_path / "c", [iteration(1, 0.6)], seed=2)
    result = compute_curve([one, two, three], success)
    assert result.steps == (1, 2, 3)
    assert result.mean == pytest.approx((0.4, 0.4, 0.9))
    # t(0.975, 2) = 4.303, standard deviation 0.2 of three: half of it is 4.303 * 0.2 / sqrt(3) = 0.49687
    assert result.high == pytest.approx((0.4 + 0.49687, 0.4, 0.9), abs=1e-5)
    # two seeds have no interval
    assert compute_curve([one, two], success).high == pytest.approx((0.3, 0.4, 0.9))
    assert not compute_curve([one], lambda row: row.get("absent"))
    assert not compute_curve([one], lambda row: "text")


def test_evaluations_of_seeds_are_pooled(tmp_path):
    one = run_of(tmp_path / "a", [evaluation(0, 30), evaluation(5, 50)])
    two = run_of(tmp_path / "b", [evaluation(0, 10, tasks=50)], seed=1)
    first, last = evaluation_points([one, two])
    assert (first.step, first.tasks, first.success) == (0, 100, pytest.approx(40 / 150))
    assert first.ci95 == pytest.approx(
        wilson_interval(100 * 40 / 150, 100)
    )  # which were solved is not known
    assert (last.step, last.tasks) == (5, 100)
    assert last.ci95 == wilson_interval(50, 100)


def test_the_interval_of_evaluations_of_seeds_is_of_distinct_tasks(tmp_path):
    solved = {"solved": "1" * 30 + "0" * 70}
    runs = [
        run_of(tmp_path / str(seed), [{**evaluation(0, 30), **solved}], seed=seed)
        for seed in range(3)
    ]
    (point,) = evaluation_points(runs)
    assert (point.success, point.tasks) == (pytest.approx(0.3), 100)
    assert point.ci95 == pytest.approx(wilson_interval(30, 100))  # three seeds that did the same


def test_seeds_are_one_group_and_settings_are_not(tmp_path):
    runs = [
        run_of(tmp_path / "a0", seed=0, learner_args={"group_size": 4}),
        run_of(tmp_path / "b0", seed=0, learner_args={"group_size": 8}),
        run_of(tmp_path / "a1", seed=1, learner_args={"group_size": 4}),
    ]
    result = group_runs(runs)
    assert [[run.name for run in group.runs] for group in result] == [["a0", "a1"], ["b0"]]
    assert [group.label for group in result] == ["group_size=4", "group_size=8"]


def test_labels_name_learners_where_these_differ(tmp_path):
    runs = [
        run_of(tmp_path / "a", learner="grpo", learner_args={}),
        run_of(tmp_path / "b", learner="magrpo", learner_args={}),
    ]
    assert [group.label for group in group_runs(runs)] == ["grpo", "magrpo"]
    other = run_of(tmp_path / "c", learner="magrpo", learner_args={}, steps=9)
    assert [group.label for group in group_runs([*runs, other])] == [
        *("grpo", "magrpo, steps=20", "magrpo, steps=9")
    ]


def test_settings_that_differ():
    configs = [{"a": {"b": 1, "c": 2}, "d": 3}, {"a": {"b": 1}, "d": 4}]
    assert differing_settings(configs) == {"a.c": [2, None], "d": [3, 4]}
    assert differing_settings(configs[:1]) == {}


def test_agents_stand_in_the_order_of_their_agents():
    assert sort_agents(["planner_1", "judge", "proposer_0", "x_10"]) == [
        *("proposer_0", "planner_1", "x_10", "judge")
    ]
