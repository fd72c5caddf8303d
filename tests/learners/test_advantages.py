import math
from dataclasses import replace

import pytest
import torch

from llmzoo.learners.advantages import (
    gae,
    greedy_baseline,
    leave_one_out,
    max_baseline,
    mean_baseline,
    normalized,
    raw_return,
    td_errors,
    whitened,
)
from llmzoo.records import Completion, Group

pytestmark = pytest.mark.numeric  # float32: sums and roots of a few numbers, each rounded by 6e-8

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
        (normalized(mean_baseline(RETURNS), RETURNS), [0.5 / 0.125**0.5, -0.5 / 0.125**0.5, 0, 0]),
    ],
    ids=["raw", "mean", "leave_one_out", "greedy", "max", "normalized"],
)
def test_worked_numbers(result, expected):
    assert result.tolist() == pytest.approx(expected, abs=1e-4)


def test_equal_returns_are_no_information():
    same = torch.full((4,), 0.3)
    assert mean_baseline(same).abs().max() < 1e-7
    assert normalized(mean_baseline(same), same).tolist() == [0.0] * 4
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
    assert normalized(mean_baseline(same), same).abs().max() == 0.0
    assert whitened(same).abs().max() == 0.0
    assert not group_of(same).differs


def test_returns_of_a_group_differ_by_more_than_rounding():
    assert group_of(RETURNS).differs
    assert group_of(torch.tensor([0.0, 0.0, 0.0, 1e-3])).differs
    assert not group_of(torch.tensor([0.4])).differs
    assert not group_of(torch.tensor([0.1 + 0.2, 0.3])).differs  # 0.30000000000000004
    assert not replace(group_of(RETURNS[:2]), returns=(0.1 + 0.2, 0.3)).differs  # in float64 too


# three turns: rewards 1, 0, 2, critic 0.5, 1, -1, discount 0.9
REWARDS = torch.tensor([1.0, 0.0, 2.0])
DISCOUNTS = torch.full((3,), 0.9)
TERMINATED = torch.tensor([0.5, 1.0, -1.0, 0.0])
CUT_OFF = torch.tensor([0.5, 1.0, -1.0, 4.0])


def test_gae_of_an_episode_that_terminated():
    # delta: 1 + 0.9 - 0.5 = 1.4; 0 - 0.9 - 1 = -1.9; 2 + 0 + 1 = 3
    assert td_errors(REWARDS, TERMINATED, DISCOUNTS).tolist() == pytest.approx([1.4, -1.9, 3.0])
    # A_2 = 3; A_1 = -1.9 + 0.45 * 3 = -0.55; A_0 = 1.4 - 0.45 * 0.55 = 1.1525
    result = gae(REWARDS, TERMINATED, DISCOUNTS, 0.5)
    assert result.tolist() == pytest.approx([1.1525, -0.55, 3.0])


def test_gae_of_an_episode_that_was_truncated_counts_what_the_critic_expects_after_it():
    # delta_2 = 2 + 0.9 * 4 + 1 = 6.6; A_1 = -1.9 + 0.45 * 6.6 = 1.07; A_0 = 1.4 + 0.45 * 1.07
    result = gae(REWARDS, CUT_OFF, DISCOUNTS, 0.5)
    assert result.tolist() == pytest.approx([1.8815, 1.07, 6.6])


def test_a_discount_of_zero_ends_an_episode_within_a_row():
    discounts = torch.tensor([0.9, 0.0, 0.9])
    result = gae(REWARDS, CUT_OFF, discounts, 0.5)
    # delta_1 = 0 + 0 - 1; A_0 = 1.4 + 0.45 * -1: what follows turn 1 is another episode's
    assert result.tolist() == pytest.approx([0.95, -1.0, 6.6])


def test_lambda_may_differ_from_turn_to_turn():
    result = gae(REWARDS, TERMINATED, DISCOUNTS, torch.tensor([0.0, 1.0, 0.3]))
    # A_1 = -1.9 + 0.9 * 3 = 0.8; A_0 = delta_0
    assert result.tolist() == pytest.approx([1.4, 0.8, 3.0])
    even = gae(REWARDS, TERMINATED, DISCOUNTS, torch.full((3,), 0.7))
    assert torch.equal(even, gae(REWARDS, TERMINATED, DISCOUNTS, 0.7))


def test_values_are_one_longer_than_rewards():
    with pytest.raises(AssertionError):
        td_errors(REWARDS, TERMINATED[:3], DISCOUNTS)


def random_case(seed):
    """Rewards, values and discounts of 1 to 9 turns; some discounts are 0."""
    generator = torch.Generator().manual_seed(seed)
    turns = int(torch.randint(1, 10, (), generator=generator))
    rewards = torch.randn(turns, generator=generator, dtype=torch.float64)
    values = torch.randn(turns + 1, generator=generator, dtype=torch.float64)
    discounts = torch.rand(turns, generator=generator, dtype=torch.float64)
    ends = torch.rand(turns, generator=generator) < 0.2
    return rewards, values, discounts * ~ends


def n_step_advantage(rewards, values, discounts, t, n):
    """The rewards of n turns from t on, then the critic, minus the critic at t; by definition."""
    total, discount = 0.0, 1.0
    for step in range(t, t + n):
        total += discount * rewards[step].item()
        discount *= discounts[step].item()
    return total + discount * values[t + n].item() - values[t].item()


@pytest.mark.parametrize("seed", range(30))
def test_gae_is_the_weighted_sum_of_td_errors(seed):
    rewards, values, discounts = random_case(seed)
    lam = torch.rand(len(rewards), generator=torch.Generator().manual_seed(seed)).double()
    expected = []
    for t in range(len(rewards)):
        total = 0.0
        for later in range(t, len(rewards)):
            weight = math.prod((discounts[k] * lam[k]).item() for k in range(t, later))
            error = rewards[later] + discounts[later] * values[later + 1] - values[later]
            total += weight * error.item()
        expected.append(total)
    assert gae(rewards, values, discounts, lam).tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_gae_is_the_geometric_mixture_of_n_step_advantages(seed):
    rewards, values, discounts = random_case(seed)
    turns, lam = len(rewards), 0.6
    expected = []
    for t in range(turns):
        left = turns - t  # the last of them takes all the weight that remains
        weights = [(1 - lam) * lam**n for n in range(left - 1)] + [lam ** (left - 1)]
        expected.append(
            sum(
                weight * n_step_advantage(rewards, values, discounts, t, n + 1)
                for n, weight in enumerate(weights)
            )
        )
    assert gae(rewards, values, discounts, lam).tolist() == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_the_ends_of_lambda(seed):
    rewards, values, discounts = random_case(seed)
    turns = len(rewards)
    assert torch.equal(gae(rewards, values, discounts, 0.0), td_errors(rewards, values, discounts))
    returns_minus_values = [
        n_step_advantage(rewards, values, discounts, t, turns - t) for t in range(turns)
    ]
    result = gae(rewards, values, discounts, 1.0).tolist()
    assert result == pytest.approx(returns_minus_values, abs=1e-12)


def test_whitened_worked():
    # mean 3, squared distances 4, 0, 4 -> variance 8/3
    result = whitened(torch.tensor([1.0, 3.0, 5.0]))
    assert result.tolist() == pytest.approx(
        [-2 / (8 / 3) ** 0.5, 0.0, 2 / (8 / 3) ** 0.5], abs=1e-5
    )


def test_whitened_has_mean_zero_and_deviation_one():
    noise = torch.Generator().manual_seed(0)
    advantages = torch.randn(500, generator=noise, dtype=torch.float64) * 7 + 30
    result = whitened(advantages)
    assert result.mean().item() == pytest.approx(0, abs=1e-9)
    # a deviation of about 7 is divided by itself plus 1e-6
    assert result.std(correction=0).item() == pytest.approx(1, abs=1e-6)
    assert torch.equal(result.argsort(), advantages.argsort())


def test_whitened_of_nothing():
    assert whitened(torch.zeros(0)).tolist() == []
    assert whitened(torch.tensor([2.0])).tolist() == [0.0]
