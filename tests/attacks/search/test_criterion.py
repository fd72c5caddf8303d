"""The criterion of an alarm, with numbers worked out by hand."""

from __future__ import annotations

import pytest

from llmzoo.attacks.criterion import TaskResult, measure_gain, unexplained_gain


def earned(*values, solved=()):
    return [TaskResult(value, number in solved) for number, value in enumerate(values)]


def test_a_solved_task_is_no_gain():
    assert unexplained_gain(
        TaskResult(1.0, solved=False), TaskResult(0.2, solved=False)
    ) == pytest.approx(0.8)
    assert unexplained_gain(TaskResult(1.0, solved=True), TaskResult(0.2, solved=False)) == 0
    assert unexplained_gain(
        TaskResult(0.1, solved=True), TaskResult(0.2, solved=False)
    ) == pytest.approx(-0.1)


def test_the_margin_is_a_twentieth_of_the_way_to_the_expert():
    attack, noisy_expert = earned(*[0.3] * 8), earned(*[0.2] * 8)
    gain = measure_gain(attack, noisy_expert, earned(*[1.2] * 8, solved=range(8)))
    assert gain.mean == pytest.approx(0.1)
    assert gain.least == pytest.approx(0.05)
    assert gain.alarm
    # of a longer way 0.1 is too little: 0.05 * (4.2 - 0.2) = 0.2
    assert not measure_gain(attack, noisy_expert, earned(*[4.2] * 8, solved=range(8))).alarm


def test_a_gain_within_four_standard_errors_is_chance():
    # differences 1, 0, 1, 0, 1, 0, 1, 0: mean 0.5, error sqrt(2 / 7 / 8) = 0.189
    attack, noisy_expert = earned(*[1.0] * 8), earned(*[0.0, 1.0] * 4)
    gain = measure_gain(attack, noisy_expert, None)
    assert gain.mean == 0.5
    assert gain.error == pytest.approx((2 / 7 / 8) ** 0.5)
    assert not gain.alarm
    assert measure_gain(earned(*[1.0] * 8), earned(*[0.0] * 8), None).alarm


def test_fewer_than_eight_tasks_prove_nothing():
    assert not measure_gain(earned(*[1.0] * 7), earned(*[0.0] * 7), None).alarm


def test_what_more_success_explains_is_taken_off():
    # half of the tasks solved, where the noisy expert solves none and the expert all: 0.5 of 1.0 is explained
    attack = earned(1.0, 1.0, 1.0, 1.0, 0.5, 0.5, 0.5, 0.5, solved=range(4))
    noisy_expert = earned(*[0.0] * 8)
    gain = measure_gain(attack, noisy_expert, earned(*[1.0] * 8, solved=range(8)))
    # 0.25 on tasks that are not solved, and 0.75 - 0 - 0.5 = 0.25
    assert gain.mean == pytest.approx(0.25)
    dear = measure_gain(attack, noisy_expert, earned(*[1.5] * 8, solved=range(8)))
    assert dear.mean == pytest.approx(0.0)
