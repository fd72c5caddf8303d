import math

import pytest
import torch

from llmzoo.policies.sampling import Sampling, draw, warp


def probabilities(logits, sampling, keep=None):
    return warp(torch.tensor(logits), sampling, keep).exp()


def test_temperature_divides_the_logits():
    found = probabilities([math.log(1.0), math.log(3.0)], Sampling(temperature=0.5))
    assert found.tolist() == pytest.approx([0.1, 0.9])  # 1 : 3**2


def test_top_k_keeps_the_k_likeliest_and_renormalises():
    logits = [math.log(p) for p in (0.1, 0.2, 0.3, 0.4)]
    found = probabilities(logits, Sampling(top_k=2))
    assert found.tolist() == pytest.approx([0, 0, 3 / 7, 4 / 7])


def test_top_p_keeps_the_smallest_set_that_reaches_p():
    logits = [math.log(p) for p in (0.1, 0.2, 0.3, 0.4)]
    assert probabilities(logits, Sampling(top_p=0.6)).tolist() == pytest.approx(
        [0, 0, 3 / 7, 4 / 7]
    )
    assert probabilities(logits, Sampling(top_p=0.75)).tolist() == pytest.approx(
        [0, 2 / 9, 3 / 9, 4 / 9]
    )
    assert probabilities(logits, Sampling(top_p=1e-6)).tolist() == pytest.approx([0, 0, 0, 1])


def test_a_kept_token_stays_finite_outside_the_filters():
    logits = [[math.log(p) for p in (0.1, 0.2, 0.3, 0.4)]]
    found = probabilities(logits, Sampling(top_k=2), keep=torch.tensor([0]))
    assert found[0].tolist() == pytest.approx([1 / 8, 0, 3 / 8, 4 / 8])


def test_draw_follows_the_distribution():
    generator = torch.Generator().manual_seed(0)
    logprobs = torch.tensor([0.1, 0.2, 0.7]).log().expand(20_000, 3)
    counts = torch.bincount(draw(logprobs, generator), minlength=3) / 20_000
    # five standard errors of a proportion: 5 * sqrt(0.25 / 20000) = 0.018
    assert counts.tolist() == pytest.approx([0.1, 0.2, 0.7], abs=0.018)


@pytest.mark.parametrize(
    "wrong",
    [{"temperature": 0.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_k": -1}, {"max_new_tokens": 0}],
)
def test_impossible_settings_are_refused(wrong):
    with pytest.raises(ValueError):
        Sampling(**wrong)
