import pytest
import torch

from llmzoo.advantages import (
    greedy_baseline,
    leave_one_out,
    max_baseline,
    mean_baseline,
    normalized,
    raw_return,
)

RETURNS = torch.tensor([1.0, 0.0, 0.5, 0.5])  # mean 0.5


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (raw_return(RETURNS), [1.0, 0.0, 0.5, 0.5]),
        (mean_baseline(RETURNS), [0.5, -0.5, 0.0, 0.0]),
        # others' means: 1/3, 2/3, 1/2, 1/2
        (leave_one_out(RETURNS), [2 / 3, -2 / 3, 0.0, 0.0]),
        (greedy_baseline(RETURNS, 0.75), [0.25, -0.75, -0.25, -0.25]),
        (max_baseline(RETURNS), [0.0, -1.0, -0.5, -0.5]),
        # variance (0.25 + 0.25) / 4 = 0.125
        (normalized(mean_baseline(RETURNS), RETURNS), [0.5 / 0.125**0.5, -0.5 / 0.125**0.5, 0, 0]),
    ],
    ids=["raw", "mean", "leave_one_out", "greedy", "max", "normalized"],
)
def test_worked_numbers(found, expected):
    assert found.tolist() == pytest.approx(expected, abs=1e-4)


def test_equal_returns_are_no_information():
    same = torch.full((4,), 0.3)
    assert mean_baseline(same).abs().max() < 1e-7
    assert normalized(mean_baseline(same), same).tolist() == [0.0] * 4
    assert leave_one_out(torch.tensor([0.7])).tolist() == [0.0]


def test_leave_one_out_is_the_mean_baseline_stretched():
    stretched = mean_baseline(RETURNS) * 4 / 3
    assert leave_one_out(RETURNS).tolist() == pytest.approx(stretched.tolist())
