import math

import pytest
import torch

from llmzoo.models.sampling import Sampling, sample_by_inversion, warp


def probabilities(logits, sampling, keep=None):
    return warp(torch.tensor(logits), sampling, keep).exp()


@pytest.mark.usefixtures("float64")
def test_temperature_divides_the_logits():
    found = probabilities([math.log(1.0), math.log(3.0)], Sampling(temperature=0.5))
    assert found.tolist() == pytest.approx([0.1, 0.9])  # 1 : 3**2


@pytest.mark.usefixtures("float64")
def test_top_k_keeps_the_k_likeliest_and_renormalises():
    logits = [math.log(p) for p in (0.1, 0.2, 0.3, 0.4)]
    found = probabilities(logits, Sampling(top_k=2))
    assert found.tolist() == pytest.approx([0, 0, 3 / 7, 4 / 7])


@pytest.mark.usefixtures("float64")
def test_top_p_keeps_the_smallest_set_that_reaches_p():
    logits = [math.log(p) for p in (0.1, 0.2, 0.3, 0.4)]
    assert probabilities(logits, Sampling(top_p=0.6)).tolist() == pytest.approx(
        [0, 0, 3 / 7, 4 / 7]
    )
    assert probabilities(logits, Sampling(top_p=0.75)).tolist() == pytest.approx(
        [0, 2 / 9, 3 / 9, 4 / 9]
    )
    assert probabilities(logits, Sampling(top_p=1e-6)).tolist() == pytest.approx([0, 0, 0, 1])


@pytest.mark.usefixtures("float64")
def test_a_kept_token_stays_finite_outside_the_filters():
    logits = [[math.log(p) for p in (0.1, 0.2, 0.3, 0.4)]]
    found = probabilities(logits, Sampling(top_k=2), keep=torch.tensor([0]))
    assert found[0].tolist() == pytest.approx([1 / 8, 0, 3 / 8, 4 / 8])


def test_draw_follows_the_distribution():
    uniforms = torch.rand(20_000, generator=torch.Generator().manual_seed(0)).double()
    logprobs = torch.tensor([0.1, 0.2, 0.7]).log().expand(20_000, 3)
    counts = torch.bincount(sample_by_inversion(logprobs, uniforms), minlength=3) / 20_000
    # five standard errors of a proportion: 5 * sqrt(0.25 / 20000) = 0.018
    assert counts.tolist() == pytest.approx([0.1, 0.2, 0.7], abs=0.018)


def test_draw_takes_the_token_in_whose_share_the_number_lies():
    # shares of [0, 1): 0 to 0.25 the first, to 0.25 the second (none), to 0.75 the third, the fourth
    logprobs = torch.tensor([0.25, 0.0, 0.5, 0.25]).log()
    uniforms = torch.tensor([0.0, 0.2499, 0.2501, 0.7499, 0.7501, 1 - 2**-53], dtype=torch.float64)
    assert sample_by_inversion(logprobs.expand(6, 4), uniforms).tolist() == [0, 0, 2, 2, 3, 3]


def test_draw_finds_its_way_through_many_tokens():
    """1,000 tokens of 1/1000 each: the number 0.0005 + i / 1000 lies in the middle of token i."""
    logprobs = torch.full((1000, 1000), 1 / 1000).log()
    uniforms = (torch.arange(1000, dtype=torch.float64) + 0.5) / 1000
    assert sample_by_inversion(logprobs, uniforms).tolist() == list(range(1000))


def test_draw_reaches_tokens_too_rare_for_a_float32_sum():
    """Token 0 has all but 2e-9; the 600 others share that, each far below float32's step at 1."""
    rare = 2e-9 / 600
    logprobs = torch.tensor([1 - 2e-9] + [rare] * 600, dtype=torch.float64).log().float()
    places = torch.tensor([1, 300, 600])
    uniforms = 1 - 2e-9 + (places.double() - 0.5) * rare
    found = sample_by_inversion(logprobs.expand(3, 601), uniforms)
    # the sums in float64 agree to about 1e-16, an eighth of a rare token would be 4e-13
    assert (found - places).abs().max() <= 1, found


def test_draw_never_takes_what_was_filtered_out():
    logprobs = warp(torch.randn(500, 700), Sampling(top_k=3))
    drawn = sample_by_inversion(logprobs, torch.linspace(0, 1 - 2**-53, 500, dtype=torch.float64))
    assert torch.isfinite(logprobs.gather(-1, drawn.unsqueeze(-1))).all()


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": 0.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_k": -1}, {"max_new_tokens": 0}],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError):
        Sampling(**wrong)
