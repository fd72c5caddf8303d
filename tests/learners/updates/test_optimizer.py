"""The optimiser's momentum: worked out by hand, and what it does to two players of a zero-sum game."""

import math

import pytest
import torch

from llmzoo.errors import ConfigError
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.learners.updates.optimizer import Optimizer


def stepped(adam_beta1: float) -> list[float]:
    """A weight that starts at 0, after a gradient of 1 and after one of 0."""
    weight = torch.nn.Parameter(torch.zeros(1, dtype=torch.float64))
    config = OptimizerConfig(adam_beta1=adam_beta1)
    optimizer = Optimizer([weight], config, rate=0.1, total=2, name="policy")
    found = []
    for gradient in (1.0, 0.0):
        weight.grad = torch.full_like(weight, gradient)
        optimizer.step()
        found.append(weight.item())
    return found


def test_without_momentum_a_gradient_moves_a_weight_once():
    """The first step is the rate itself. The second: the moments are 0.09 and 0.0099, corrected by 0.19
    and 0.0199, so 0.1 x (0.09 / 0.19) / sqrt(0.0099 / 0.0199) with momentum, and nothing without."""
    assert stepped(0) == pytest.approx([-0.1, -0.1], abs=1e-8)
    more = 0.1 * (0.09 / 0.19) / math.sqrt(0.0099 / 0.0199)
    assert stepped(0.9) == pytest.approx([-0.1, -0.1 - more], abs=1e-8)


@pytest.mark.parametrize("adam_beta1", [-0.1, 1.0])
def test_momentum_out_of_range_is_refused(adam_beta1):
    with pytest.raises(ConfigError, match=r"adam_beta1 must be in \[0, 1\)"):
        OptimizerConfig(adam_beta1=adam_beta1)


def farthest(adam_beta1: float) -> float:
    """Matching pennies with an entropy bonus of 0.1, both players' logits along their exact gradients: how
    far from the equilibrium, logits of 0, the last 100 of 1,000 steps go.

    The first is paid a b, the second -a b, where a = tanh x and b = tanh y are means of -1 and 1; the slope
    of tanh is 1 - a**2, and that of the entropy, by x, is -x (1 - a**2).
    """
    pair = torch.nn.Parameter(torch.tensor([0.3, 0.0], dtype=torch.float64))
    config = OptimizerConfig(adam_beta1=adam_beta1, schedule="linear")
    optimizer = Optimizer([pair], config, rate=0.01, total=1000, name="policy")
    path = []
    for _ in range(1000):
        x, y = pair.detach().clone()
        a, b = x.tanh(), y.tanh()
        gains = torch.stack([(1 - a**2) * (b - 0.1 * x), (1 - b**2) * (-a - 0.1 * y)])
        pair.grad = -gains
        optimizer.step()
        path.append(pair.detach().abs().max().item())
    return max(path[-100:])


@pytest.mark.slow
def test_momentum_keeps_two_players_going_in_circles():
    assert farthest(0) < 0.02
    assert farthest(0.9) > 0.3
