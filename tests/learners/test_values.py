import math

import pytest
import torch

from llmzoo.learners.value_estimation import gae, td_errors, value_loss

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


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(
    ("value", "loss", "slope"),
    [
        # old 1, target 2, clip 0.2: the range is [0.8, 1.2]
        (1.1, 0.5 * 0.9**2, -0.9),  # inside: plain
        (1.5, 0.5 * 0.8**2, 0.0),  # past 1.2 towards 2: judged as 1.2, max(0.25, 0.64): clipped
        (2.5, 0.5 * 0.8**2, 0.0),  # even past the target, 0.5 away: still nearer than 1.2 is
        (3.0, 0.5 * 1.0**2, 1.0),  # past it by more than 0.8: led back
        (0.5, 0.5 * 1.5**2, -1.5),  # left the range on the far side: max(2.25, 1.44): led back
    ],
)
def test_clipped_value_loss(value, loss, slope):
    values = torch.tensor([value], requires_grad=True)
    result = value_loss(values, torch.tensor([2.0]), torch.tensor([1.0]), 0.2)
    assert result.item() == pytest.approx(loss)
    result.sum().backward()
    assert values.grad.item() == pytest.approx(slope)


@pytest.mark.usefixtures("float64")
def test_value_loss_without_a_clip_is_half_the_squared_error():
    values, targets, old = (
        torch.tensor([[1.5, -1.0]], requires_grad=True),
        torch.tensor([[2.0, 1.0]], requires_grad=True),
        torch.tensor([[1.0, 0.0]], requires_grad=True),
    )
    result = value_loss(values, targets, old, None)
    assert result.tolist() == [[0.125, 2.0]]
    result.sum().backward()
    assert values.grad.tolist() == [[-0.5, -2.0]]
    assert targets.grad is None
    assert old.grad is None


@pytest.mark.usefixtures("float64")
def test_a_target_that_is_a_function_of_the_values_passes_no_gradient():
    values = torch.tensor([1.1], requires_grad=True)
    value_loss(values, values + 0.9, torch.tensor([1.0]), 0.2).sum().backward()
    assert values.grad.item() == pytest.approx(-0.9)  # not 0, as of a constant loss
