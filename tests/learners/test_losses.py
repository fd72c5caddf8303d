import math

import pytest
import torch

from llmzoo.learners.losses import (
    approximate_kl,
    clip_fraction,
    clipped_surrogate_loss,
    dual_clip,
    kl_k3,
    policy_gradient_loss,
    sequence_log_ratio,
    token_log_ratio,
    token_weights,
)

pytestmark = pytest.mark.usefixtures("float64")

MASK = torch.tensor([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
LN = math.log


def test_policy_gradient_is_minus_advantage_times_logprob():
    result = policy_gradient_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([3.0]))
    assert result.tolist() == [[3.0, 6.0]]
    tokenwise = policy_gradient_loss(torch.tensor([[-1.0, -2.0]]), torch.tensor([[3.0, -1.0]]))
    assert tokenwise.tolist() == [[3.0, -2.0]]


def test_clipped_ratio_takes_the_pessimistic_side():
    log_ratio = torch.tensor([[LN(1.5), LN(0.5), 0.0]])
    good = clipped_surrogate_loss(log_ratio, torch.tensor([2.0]), 0.2, 0.2)
    # A=2: min(3, 2.4)=2.4; min(1, 1.6)=1; min(2, 2)=2
    assert good[0].tolist() == pytest.approx([-2.4, -1.0, -2.0])
    bad = clipped_surrogate_loss(log_ratio, torch.tensor([-2.0]), 0.2, 0.2)
    # A=-2: min(-3, -2.4)=-3; min(-1, -1.6)=-1.6
    assert bad[0].tolist() == pytest.approx([3.0, 1.6, 2.0])
    higher = clipped_surrogate_loss(log_ratio, torch.tensor([2.0]), 0.2, 0.4)
    assert higher[0, 0].item() == pytest.approx(-2.8)
    tokenwise = clipped_surrogate_loss(log_ratio, torch.tensor([[2.0, -2.0, 0.0]]), 0.2, 0.2)
    assert tokenwise[0].tolist() == pytest.approx([-2.4, 1.6, 0.0])


def test_one_advantage_an_answer_is_the_same_for_each_of_its_tokens():
    log_ratio = torch.randn(2, 3, generator=torch.Generator().manual_seed(0))
    answers, tokens = torch.tensor([0.7, -1.3]), torch.tensor([[0.7] * 3, [-1.3] * 3])
    for loss in (policy_gradient_loss, lambda r, a: clipped_surrogate_loss(r, a, 0.2, 0.3)):
        assert torch.equal(loss(log_ratio, answers), loss(log_ratio, tokens))
    unbounded = clipped_surrogate_loss(log_ratio * 3, answers, 0.2, 0.3)
    assert torch.equal(dual_clip(unbounded, answers, 3.0), dual_clip(unbounded, tokens, 3.0))


@pytest.mark.parametrize("level", ["token", "sequence"])
def test_at_the_first_update_the_gradient_is_the_policy_gradients(level):
    logprobs = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    old = logprobs.detach()
    ratio = {
        "token": lambda: token_log_ratio(logprobs, old),
        "sequence": lambda: sequence_log_ratio(logprobs, old, torch.ones(1, 2)),
    }[level]()
    assert ratio.exp().tolist() == [[1.0, 1.0]]  # exactly
    clipped_surrogate_loss(ratio, torch.tensor([0.7]), 0.2, 0.2).sum().backward()
    assert logprobs.grad.tolist() == [pytest.approx([-0.7, -0.7])]


def test_clip_fraction_counts_sampled_tokens_only():
    log_ratio = torch.tensor([[LN(1.5), 0.0, 0.0], [LN(0.1), 9.0, 9.0]])
    assert clip_fraction(log_ratio, MASK, 0.2, 0.2).item() == 0.5  # 2 of 4
    assert clip_fraction(log_ratio, MASK, 0.2, 0.6).item() == 0.25  # 1.5 is now inside
    assert clip_fraction(log_ratio, torch.zeros_like(MASK), 0.2, 0.2).item() == 0.0


def test_the_clip_range_includes_its_ends():
    log_ratio = torch.tensor([[0.5, 1.5]]).log()
    assert log_ratio.exp().tolist() == [[0.5, 1.5]]
    assert clip_fraction(log_ratio, torch.ones(1, 2), 0.5, 0.5).item() == 0.0


def test_a_sequence_ratio_is_the_mean_over_its_own_tokens():
    new = torch.tensor([[-1.0, -2.0, -3.0], [-1.0, -9.0, -9.0]])
    old = torch.tensor([[-1.3, -2.0, -2.4], [-1.5, 0.0, 0.0]])
    result = sequence_log_ratio(new, old, MASK)
    # (0.3 + 0 - 0.6) / 3 = -0.1; the second has one token: 0.5
    assert result[0].tolist() == pytest.approx([-0.1] * 3)
    assert result[1, 0].item() == pytest.approx(0.5)
    nothing = sequence_log_ratio(new, old, torch.zeros(2, 3))
    assert nothing.tolist() == [[0.0] * 3] * 2


LENGTHS = torch.tensor([4, 2, 3, 1])
ROWS_MASK = (torch.arange(4) < LENGTHS.unsqueeze(-1)).double()
OLD = -torch.rand(4, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
# means of 0.0025, 0.1, -0.1, 0.3 over each row's own tokens: with A and a range of 0.15 below,
# the first two are inside, the third (good, become unlikelier) is not clipped, the last (good,
# become likelier) is
STEP = torch.tensor(
    [[0.4, -0.3, 0.01, -0.1], [0.5, -0.3, 7, 7], [-0.4, 0.2, -0.1, 7], [0.3, 7, 7, 7]],
    dtype=torch.float64,
)
ADVANTAGES = torch.tensor([1.0, -0.5, 2.0, 0.8], dtype=torch.float64)


def gspo(logprobs):
    """GSPO's loss as in its paper: one ratio and one term for each answer, no stop-gradient."""
    total = torch.zeros((), dtype=torch.float64)
    for row, length in enumerate(LENGTHS.tolist()):
        ratio = torch.exp((logprobs[row, :length] - OLD[row, :length]).sum() / length)
        clipped = torch.clamp(ratio, 0.85, 1.15)
        total = total - torch.min(ratio * ADVANTAGES[row], clipped * ADVANTAGES[row])
    return total / len(LENGTHS)


@pytest.mark.parametrize(
    ("reduction", "times"),
    [
        ("sequence_mean", torch.ones(4).double()),
        ("sequence_sum", LENGTHS.double()),  # |y_i|
        ("token_mean", LENGTHS.double() * 4 / 10),  # |y_i| N / tokens
    ],
)
def test_gradient_of_the_sequence_ratio_is_gspos_times_what_the_reduction_says(reduction, times):
    logprobs = (OLD + STEP).requires_grad_()
    (expected,) = torch.autograd.grad(gspo(logprobs), logprobs)
    ratio = sequence_log_ratio(logprobs, OLD, ROWS_MASK)
    losses = clipped_surrogate_loss(ratio, ADVANTAGES, 0.15, 0.15)
    loss = (losses * token_weights(ROWS_MASK, reduction)).sum()
    (result,) = torch.autograd.grad(loss, logprobs)
    assert torch.allclose(result, expected * times.unsqueeze(-1), rtol=1e-12, atol=0)
    # worked: -A s / length / N for each token of the first; the clipped one has none
    assert expected[0].tolist() == pytest.approx([-1.0 * math.exp(0.0025) / 4 / 4] * 4)
    assert expected[3].tolist() == [0.0] * 4
    assert result[ROWS_MASK == 0].abs().max() == 0
    if reduction == "sequence_mean":
        assert loss.item() == pytest.approx(gspo(logprobs).item(), rel=1e-12)


def test_a_sequence_ratio_hands_each_token_the_gradient_of_its_own_advantage():
    logprobs = torch.tensor([[-1.0, -2.0]], requires_grad=True)
    old = torch.tensor([[-1.1, -2.3]])  # the mean log ratio is (0.1 + 0.3) / 2 = 0.2
    ratio = sequence_log_ratio(logprobs, old, torch.ones(1, 2))
    clipped_surrogate_loss(ratio, torch.tensor([[1.0, -2.0]]), 0.3, 0.3).sum().backward()
    # not their mean, 0.5 s, for both
    assert logprobs.grad[0].tolist() == pytest.approx([-math.exp(0.2), 2 * math.exp(0.2)])


def test_token_ratios_give_another_gradient_than_gspo():
    logprobs = (OLD + STEP).requires_grad_()
    (expected,) = torch.autograd.grad(gspo(logprobs), logprobs)
    losses = clipped_surrogate_loss(token_log_ratio(logprobs, OLD), ADVANTAGES, 0.15, 0.15)
    loss = (losses * token_weights(ROWS_MASK, "sequence_mean")).sum()
    (result,) = torch.autograd.grad(loss, logprobs)
    assert (result - expected).abs().max() > 0.05


def test_dual_clip_bounds_what_a_bad_token_costs():
    log_ratio = torch.tensor([[LN(10), LN(2.5), LN(0.1)]] * 2, requires_grad=True)
    advantages = torch.tensor([-2.0, 2.0])
    loss = clipped_surrogate_loss(log_ratio, advantages, 0.2, 0.2)
    # A=-2: 20, 5, 1.6 (clipped at 0.8); A=2: -2.4, -2.4 (clipped at 1.2), -0.2
    assert loss[0].tolist() == pytest.approx([20.0, 5.0, 1.6])
    bounded = dual_clip(loss, advantages, 3.0)  # at most -3 * -2 = 6
    assert bounded[0].tolist() == pytest.approx([6.0, 5.0, 1.6])
    assert bounded[1].tolist() == pytest.approx([-2.4, -2.4, -0.2])  # good answers: as before
    bounded.sum().backward()
    # d/d log r of -A r is -A r: 5; nothing where either clip holds
    assert log_ratio.grad[0].tolist() == pytest.approx([0.0, 5.0, 0.0])
    assert log_ratio.grad[1].tolist() == pytest.approx([0.0, 0.0, -0.2])


def test_dual_clip_wants_a_bound_above_one():
    with pytest.raises(AssertionError):
        dual_clip(torch.zeros(1, 1), torch.tensor([-1.0]), 1.0)


def test_approximate_kl_is_zero_at_equality_and_counts_sampled_tokens_only():
    assert approximate_kl(torch.zeros(2, 3), MASK).item() == 0.0
    log_ratio = torch.tensor([[LN(2), 0.0, 0.0], [LN(0.5), 9.0, 9.0]])
    # 2 - 1 - ln 2, and 1/2 - 1 + ln 2, over 4 tokens: 1/2 / 4
    assert approximate_kl(log_ratio, MASK).item() == pytest.approx(0.125)


def test_approximate_kl_estimates_the_kl_from_the_old_policy():
    generator = torch.Generator().manual_seed(0)
    old, new = torch.tensor([0.6, 0.3, 0.1]), torch.tensor([0.1, 0.4, 0.5])
    sampled = torch.multinomial(old, 200_000, replacement=True, generator=generator)
    log_ratio = token_log_ratio(new.log()[sampled], old.log()[sampled])
    estimate = approximate_kl(log_ratio, torch.ones_like(log_ratio)).item()
    exact = (old * (old / new).log()).sum().item()  # 0.828
    reverse = (new * (new / old).log()).sum().item()  # 0.741
    assert abs(exact - reverse) > 0.05
    assert estimate == pytest.approx(exact, abs=0.02)


def test_k3_is_zero_at_equality_and_positive_elsewhere():
    same = torch.tensor([[-1.0]])
    assert kl_k3(same, same).item() == 0.0
    # d = ln 2: 2 - ln 2 - 1
    result = kl_k3(torch.tensor([[LN(0.25)]]), torch.tensor([[LN(0.5)]]))
    assert result.item() == pytest.approx(1 - LN(2))


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
    with pytest.raises(ValueError, match="unknown reduction 'mean'"):
        token_weights(MASK, "mean")
