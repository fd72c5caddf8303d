import math

import pytest
import torch

from llmzoo.losses import clip_fraction, clipped_ratio, kl_k3, policy_gradient, token_weights

MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])


def test_policy_gradient_is_minus_advantage_times_logprob():
    found = policy_gradient(torch.tensor([[-1.0, -2.0]]), torch.tensor([3.0]))
    assert found.tolist() == [[3.0, 6.0]]


def test_clipped_ratio_takes_the_pessimistic_side():
    old = torch.zeros(1, 3)
    new = torch.tensor([[math.log(1.5), math.log(0.5), 0.0]])
    good = clipped_ratio(new, old, torch.tensor([2.0]), 0.2, 0.2)
    # A=2: min(3, 2.4)=2.4; min(1, 1.6)=1; min(2, 2)=2
    assert good[0].tolist() == pytest.approx([-2.4, -1.0, -2.0])
    bad = clipped_ratio(new, old, torch.tensor([-2.0]), 0.2, 0.2)
    # A=-2: min(-3, -2.4)=-3; min(-1, -1.6)=-1.6
    assert bad[0].tolist() == pytest.approx([3.0, 1.6, 2.0])
    higher = clipped_ratio(new, old, torch.tensor([2.0]), 0.2, 0.4)
    assert higher[0, 0].item() == pytest.approx(-2.8)


def test_at_the_first_update_the_gradient_is_the_policy_gradients():
    logprobs = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    clipped_ratio(logprobs, logprobs.detach(), torch.tensor([0.7]), 0.2, 0.2).sum().backward()
    assert logprobs.grad.tolist() == [pytest.approx([-0.7, -0.7])]


def test_clip_fraction_counts_sampled_tokens_only():
    new = torch.tensor([[math.log(1.5), 0.0, 0.0], [math.log(0.1), 9.0, 9.0]])
    assert clip_fraction(new, torch.zeros(2, 3), MASK, 0.2, 0.2).item() == 0.5  # 2 of 4


def test_k3_is_zero_at_equality_and_positive_elsewhere():
    same = torch.tensor([[-1.0]])
    assert kl_k3(same, same).item() == 0.0
    # d = ln 2: 2 - ln 2 - 1
    found = kl_k3(torch.tensor([[math.log(0.25)]]), torch.tensor([[math.log(0.5)]]))
    assert found.item() == pytest.approx(1 - math.log(2))


def test_k3_estimates_the_kl_without_bias():
    generator = torch.Generator().manual_seed(0)
    p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5])
    sampled = torch.multinomial(p, 200_000, replacement=True, generator=generator)
    estimate = kl_k3(p.log()[sampled], q.log()[sampled]).mean().item()
    exact = (p * (p / q).log()).sum().item()  # 0.2749
    assert estimate == pytest.approx(exact, abs=0.01)


@pytest.mark.parametrize(
    ("reduction", "expected"),
    [
        ("token_mean", [[0.25, 0.25, 0.25], [0.25, 0, 0]]),
        ("sequence_sum", [[0.5, 0.5, 0.5], [0.5, 0, 0]]),
        ("sequence_mean", [[1 / 6, 1 / 6, 1 / 6], [0.5, 0, 0]]),
    ],
)
def test_token_weights(reduction, expected):
    assert token_weights(MASK, reduction).flatten().tolist() == pytest.approx(
        [*expected[0], *expected[1]]
    )


@pytest.mark.parametrize("reduction", ["token_mean", "sequence_sum", "sequence_mean"])
def test_parts_of_a_batch_weigh_as_the_whole(reduction):
    whole = token_weights(MASK, reduction)
    parts = [token_weights(MASK[i : i + 1], reduction, rows=2, tokens=4) for i in range(2)]
    assert torch.allclose(torch.cat(parts), whole)


def test_an_unknown_reduction_is_refused():
    with pytest.raises(ValueError, match="unknown reduction"):
        token_weights(MASK, "mean")
