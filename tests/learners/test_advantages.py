from dataclasses import replace

import pytest
import torch

from llmzoo.learners.advantages import (
    greedy_baseline,
    leave_one_out,
    max_baseline,
    mean_baseline,
    normalize_by_std,
    raw_return,
    whiten,
)
from llmzoo.records import Completion, Group

RETURNS = torch.tensor([1.0, 0.0, 0.5, 0.5])  # mean 0.5


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        (raw_return(RETURNS), [1.0, 0.0, 0.5, 0.5]),
        (mean_baseline(RETURNS), [0.5, -0.5, 0.0, 0.0]),
        # others' means: 1/3, 2/3, 1/2, 1/2
        (leave_one_out(RETURNS), [2 / 3, -2 / 3, 0.0, 0.0]),
        (greedy_baseline(RETURNS, 0.75), [0.25, -0.75, -0.25, -0.25]),
        (max_baseline(RETURNS), [0.0, -1.0, -0.5, -0.5]),
        # variance (0.25 + 0.25) / 4 = 0.125
        (
            normalize_by_std(mean_baseline(RETURNS), RETURNS),
            [0.5 / 0.125**0.5, -0.5 / 0.125**0.5, 0, 0],
        ),
    ],
    ids=["raw", "mean", "leave_one_out", "greedy", "max", "normalized"],
)
def test_worked_numbers(result, expected):
    assert result.tolist() == pytest.approx(expected, abs=1e-4)


def test_equal_returns_are_no_information():
    same = torch.full((4,), 0.3)
    assert mean_baseline(same).abs().max() < 1e-7
    assert normalize_by_std(mean_baseline(same), same).tolist() == [0.0] * 4
    assert leave_one_out(torch.tensor([0.7])).tolist() == [0.0]


def test_leave_one_out_is_the_mean_baseline_stretched():
    stretched = mean_baseline(RETURNS) * 4 / 3
    assert leave_one_out(RETURNS).tolist() == pytest.approx(stretched.tolist())


def group_of(returns):
    answers = tuple(Completion(text="", prompt_ids=(1,)) for _ in returns)
    given = tuple(returns.tolist())
    return Group(agent="a_0", turn=0, key=(), prompt_ids=(1,), completions=answers, returns=given)


@pytest.mark.parametrize("value", [0.1, 100.1, -12345.678])
@pytest.mark.parametrize("count", [1, 3, 1000])
def test_rounding_of_equal_returns_is_never_amplified(value, count):
    same = torch.full((count,), value)
    assert normalize_by_std(mean_baseline(same), same).abs().max() == 0.0
    assert whiten(same).abs().max() == 0.0
    assert not group_of(same).has_return_variance


@pytest.mark.parametrize(("deviation", "kept"), [(0.9e-6, False), (1.1e-6, True), (1.9e-6, True)])
def test_small_returns_count_from_a_deviation_of_a_millionth(deviation, kept):
    returns = torch.tensor([0.0, 2 * deviation])
    assert bool(normalize_by_std(mean_baseline(returns), returns).any()) == kept


def test_returns_of_a_group_differ_by_more_than_rounding():
    assert group_of(RETURNS).has_return_variance
    assert group_of(torch.tensor([0.0, 0.0, 0.0, 1e-3])).has_return_variance
    assert not group_of(torch.tensor([0.4])).has_return_variance
    assert not group_of(torch.tensor([0.1 + 0.2, 0.3])).has_return_variance  # 0.30000000000000004
    assert not replace(
        group_of(RETURNS[:2]), returns=(0.1 + 0.2, 0.3)
    ).has_return_variance  # in float64 too


def test_whitened_worked():
    # mean 3, squared distances 4, 0, 4 -> variance 8/3
    result = whiten(torch.tensor([1.0, 3.0, 5.0]))
    assert result.tolist() == pytest.approx(
        [-2 / (8 / 3) ** 0.5, 0.0, 2 / (8 / 3) ** 0.5], abs=1e-5
    )


def test_whitened_has_mean_zero_and_deviation_one():
    noise = torch.Generator().manual_seed(0)
    advantages = torch.randn(500, generator=noise, dtype=torch.float64) * 7 + 30
    result = whiten(advantages)
    assert result.mean().item() == pytest.approx(0, abs=1e-9)
    # a deviation of about 7 is divided by itself plus 1e-6
    assert result.std(correction=0).item() == pytest.approx(1, abs=1e-6)
    assert torch.equal(result.argsort(), advantages.argsort())


def test_whitened_of_nothing():
    assert whiten(torch.zeros(0)).tolist() == []
    assert whiten(torch.tensor([2.0])).tolist() == [0.0]
