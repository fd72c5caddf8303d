"""MaxRL (arXiv 2602.02710): worked numbers, and the objective that its gradient belongs to."""

import itertools

import pytest
import torch

from llmzoo.errors import ConfigError
from llmzoo.learners.advantages import success_weighted
from llmzoo.learners.configs.groups import MaxRLConfig


def test_a_success_counts_more_where_it_is_rare():
    # one of four: (1 - 1/4) / (1/4) and -1; three of four: (1 - 3/4) / (3/4) and -1
    assert success_weighted(torch.tensor([1.0, 0, 0, 0])).tolist() == [3.0, -1.0, -1.0, -1.0]
    assert success_weighted(torch.tensor([1.0, 1, 1, 0])).tolist() == pytest.approx(
        [1 / 3] * 3 + [-1]
    )


def test_without_a_success_and_without_a_failure_nothing_is_learned():
    for same in ([0.0, 0.0], [1.0, 1.0], [-0.5, -2.0]):
        assert success_weighted(torch.tensor(same)).tolist() == [0.0, 0.0]


def test_shares_of_a_success_and_fines():
    # shares 0.5 and 0.25, the fine counts as 0: the mean is 0.25
    assert success_weighted(torch.tensor([0.5, -3.0, 0.25])).tolist() == [1.0, -1.0, 0.0]
    # the scale cancels
    assert success_weighted(torch.tensor([2.0, -1.0, 1.0])).tolist() == [1.0, -1.0, 0.0]


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize("k", [2, 3, 5])
@pytest.mark.parametrize("p", [0.1, 0.6])
def test_the_expected_gradient_is_that_of_a_truncated_log_likelihood(p, k):
    """With one logit, the gradient of an answer's log-probability is a - p (a: 1 for a success), that of p is
    p (1 - p), and that of -sum_(j=1)^(K-1) (1-p)^j / j is p (1 - p) sum_(j=0)^(K-2) (1-p)^j. Every group of K
    answers counts with its probability."""
    expected = 0.0
    for group in itertools.product((0.0, 1.0), repeat=k):
        answers = torch.tensor(group)
        chance = float((p**answers * (1 - p) ** (1 - answers)).prod())
        expected += chance * float((success_weighted(answers) * (answers - p)).mean())
    assert expected == pytest.approx(
        p * (1 - p) * sum((1 - p) ** j for j in range(k - 1)), rel=1e-12
    )


@pytest.mark.parametrize(
    "wrong", [{"normalize": True}, {"success": float("nan")}, {"success": float("inf")}]
)
def test_settings_without_a_meaning_are_refused(wrong):
    with pytest.raises(ConfigError, match=next(iter(wrong))):
        MaxRLConfig(**wrong)
