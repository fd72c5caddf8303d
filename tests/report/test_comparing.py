"""Comparisons of evaluations, against worked numbers and scipy."""

from __future__ import annotations

import json
import random

import pytest

import llmzoo
from llmzoo.errors import ConfigError
from llmzoo.evaluation.statistics import bootstrap_interval, holm_correction, sign_flip_test
from llmzoo.report.compare import compare, load_evaluation


def evaluation(marks, *, ids=None, returns=None, env="sudoku_v0", split="test"):
    ids = [f"task{i}" for i in range(len(marks))] if ids is None else ids
    returns = [float(mark) for mark in marks] if returns is None else returns
    return {
        "env": env,
        "split": split,
        "source": "generator",
        "ids": ids,
        "solved": "".join("1" if mark else "0" for mark in marks),
        "returns": {"a": returns, "b": returns},
        "mean_return": {"a": sum(returns) / len(returns), "b": sum(returns) / len(returns)},
    }


def test_a_worked_example():
    """Ten tasks: the first alone solves 5, the second alone 1, both 2, none 2."""
    first = evaluation([1, 1, 1, 1, 1, 0, 1, 1, 0, 0])
    second = evaluation([0, 0, 0, 0, 0, 1, 1, 1, 0, 0])
    (pair,) = compare({"A": first, "B": second}).pairs
    assert (pair.tasks, pair.more, pair.less) == (10, 5, 1)
    assert pair.success == pytest.approx(0.4)
    # of six tasks that one alone solved, five or more of one kind: 2 (C(6,5) + C(6,6)) / 2^6
    assert pair.p_value == pytest.approx(2 * (6 + 1) / 64)
    assert pair.p_holm == pair.p_value
    assert pair.gain == pytest.approx(0.4)


def test_as_scipy_says():
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(3)
    for _ in range(20):
        first = [chance.random() < 0.6 for _ in range(60)]
        second = [chance.random() < 0.4 for _ in range(60)]
        test = sign_flip_test([a - b for a, b in zip(first, second, strict=True)])
        alone = test.only_first + test.only_second
        expected = stats.binomtest(test.only_first, alone, 0.5).pvalue
        assert test.p_value == pytest.approx(expected)
    values = [chance.gauss(1, 2) for _ in range(40)]
    low, high = bootstrap_interval([[value] for value in values], resamples=20_000)
    theirs = stats.bootstrap(
        (values,), lambda x, axis: x.mean(axis=axis), method="percentile", n_resamples=20_000, rng=1
    ).confidence_interval
    assert (low, high) == pytest.approx((theirs.low, theirs.high), abs=0.03)
    p_values = [0.01, 0.04, 0.03, 0.005]
    assert holm_correction(p_values) == pytest.approx(
        [0.03, 0.06, 0.06, 0.02]
    )  # Holm's own procedure


def test_the_samples_of_a_task_are_one_cluster():
    """Repeating every sample changes no p-value, and the interval hardly."""
    chance = random.Random(4)
    marks = [[chance.random() < rate for _ in range(40)] for rate in (0.7, 0.4)]
    once = [evaluation(own) for own in marks]
    ids = [f"task{i}" for i in range(40) for _ in range(5)]
    often = [evaluation([m for m in own for _ in range(5)], ids=ids) for own in marks]
    (single,), (many,) = (
        compare({"A": first, "B": second}).pairs for first, second in (once, often)
    )
    assert many.p_value == pytest.approx(single.p_value)
    assert many.gain_ci95 == pytest.approx(single.gain_ci95)
    assert (many.more, many.less) == (single.more, single.less)


def test_many_pairs_are_corrected():
    chance = random.Random(5)
    made = {
        name: evaluation([chance.random() < rate for _ in range(50)])
        for name, rate in {"A": 0.2, "B": 0.5, "C": 0.55}.items()
    }
    pairs = compare(made).pairs
    assert [(pair.first, pair.second) for pair in pairs] == [("A", "B"), ("A", "C"), ("B", "C")]
    assert [pair.p_holm for pair in pairs] == holm_correction([pair.p_value for pair in pairs])
    assert all(pair.p_holm >= pair.p_value for pair in pairs)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (evaluation([1, 0], env="math_v0"), "A and B differ in env: 'sudoku_v0', 'math_v0'"),
        (evaluation([1, 0], split="train"), "A and B differ in split"),
        (evaluation([1, 0, 1]), "2 and 3, of which 2 are the same; not in both are task2. "),
        (evaluation([1, 0], ids=["x", "y"]), "of which 0 are the same"),
    ],
)
def test_other_tasks_are_refused(other, message):
    with pytest.raises(ConfigError, match=message):
        compare({"A": evaluation([1, 0]), "B": other})


def test_one_is_not_enough():
    with pytest.raises(ConfigError, match="two evaluations or more"):
        compare({"A": evaluation([1, 0])})


def test_what_is_read(tmp_path):
    options = {"tasks": 6, "env_args": {"size": 4}}
    for policy in ("expert", "noisy_expert"):
        llmzoo.evaluate("sudoku_v0", policy, out=tmp_path / policy, **options)
    found = load_evaluation(str(tmp_path / "expert"))
    assert found["solved"] == "111111"
    (tmp_path / "one.json").write_text(json.dumps(found))
    assert load_evaluation(str(tmp_path / "one.json")) == found
    (tmp_path / "expert" / "result.json").unlink()
    with pytest.raises(ConfigError, match="was cut off"):
        load_evaluation(str(tmp_path / "expert"))
    with pytest.raises(ConfigError, match="holds no evaluation"):
        load_evaluation(str(tmp_path / "none"))
    (tmp_path / "old.json").write_text('{"success": 0.5}')
    with pytest.raises(ConfigError, match="no results of single tasks"):
        load_evaluation(str(tmp_path / "old.json"))
