"""A bound on the KL of an optimiser step: worked out by hand, and in the updates of learners."""

import math

import pytest
import tiny_models
import torch
from test_groups import a_group

from llmzoo.engine.local import LocalEngine
from llmzoo.errors import ConfigError, DivergedError
from llmzoo.learners import learner_class, learner_config
from llmzoo.learners.configs.optimizer import OptimizerConfig
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.step_bound import StepBound, step_bound
from llmzoo.models.likelihood import Likelihood
from llmzoo.models.sampling import Sampling
from llmzoo.policies import load
from llmzoo.records import Batch

ANSWERS = a_group([(20, 0), (22, 0)], [1.0, 0.0])


def a_coin(rate=0.5):
    """Logits 0, 0 of two answers, with a gradient towards the first; and the likelihood of each answer once."""
    logits = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
    logits.grad = torch.tensor([-1.0, 1.0], dtype=torch.float64)

    def sample():
        logprobs = logits.log_softmax(0).unsqueeze(1)
        return [Likelihood(logprobs, torch.zeros_like(logprobs), torch.ones_like(logprobs))]

    optimizer = Optimizer([logits], OptimizerConfig(), rate=rate, total=1, name="coin")
    return logits, optimizer, sample


def test_a_step_too_far_is_shortened_by_the_root_of_its_kl():
    """AdamW's first step is the rate: the logits become 0.5 and -0.5. The KL of two equal answers to these
    is log cosh 0.5 = 0.1201. A limit of a quarter of that halves the step."""
    logits, optimizer, sample = a_coin()
    kl = math.log(math.cosh(0.5))
    norm, metrics = StepBound(kl / 4, torch.nn.Identity(), sample).step(optimizer)
    assert norm == pytest.approx(math.sqrt(2))
    assert metrics == pytest.approx({"step_kl": kl, "step_scale": 0.5}, abs=1e-7)
    assert logits.tolist() == pytest.approx([0.25, -0.25], abs=1e-7)


def test_a_step_far_too_long_is_shortened_until_it_is_near_the_limit():
    """The KL of logits 5 and -5 is log cosh 5 = 4.3, which grows by a straight line there, not by a square."""
    logits, optimizer, sample = a_coin(rate=5.0)
    _, metrics = StepBound(0.001, torch.nn.Identity(), sample).step(optimizer)
    assert metrics["step_kl"] == pytest.approx(math.log(math.cosh(5.0)), abs=1e-6)
    assert 0.0005 < math.log(math.cosh(logits[0].item())) <= 0.002
    assert logits[0].item() == pytest.approx(5.0 * metrics["step_scale"], abs=1e-6)


def test_a_step_within_the_limit_is_taken_as_it_is():
    logits, optimizer, sample = a_coin()
    free, alone, _ = a_coin()
    _, metrics = StepBound(0.2, torch.nn.Identity(), sample).step(optimizer)
    alone.step()
    assert metrics["step_scale"] == 1.0
    assert torch.equal(logits, free)


def test_a_step_to_nowhere_is_taken_back():
    logits, optimizer, sample = a_coin()

    def broken():
        (found,) = sample()
        return [
            Likelihood(found.logprobs * (1.0 if logits[0] == 0 else math.nan), *[found.mask] * 2)
        ]

    with pytest.raises(DivergedError, match="'coin' moves it by a KL of nan: lower learning_rate"):
        StepBound(0.2, torch.nn.Identity(), broken).step(optimizer)
    assert logits.tolist() == [0.0, 0.0]


def test_weights_in_bfloat16_are_moved_through_their_copies():
    weight = torch.nn.Parameter(torch.ones(1, dtype=torch.bfloat16))
    weight.grad = torch.ones_like(weight)
    optimizer = Optimizer([weight], OptimizerConfig(), rate=0.25, total=1, name="policy")
    before = optimizer.weights()
    optimizer.step()
    assert weight.item() == 0.75
    optimizer.interpolate(before, 0.5)
    assert weight.item() == 0.875


def updated(name, batch, **options):
    policy = tiny_models.policy(sampling=Sampling(max_new_tokens=2))
    cls = learner_class(name)
    engine = LocalEngine(cls(cls.Config(**options)), {"p": policy}, {"a_0": policy}, total_steps=1)
    return engine.updater.update(batch, seed=0), policy


def test_a_shortened_step_to_nowhere_is_taken_back():
    logits, optimizer, sample = a_coin()
    measured = iter([1.0, 1.0, math.nan])  # before, after the step, after it was shortened

    def breaks():
        (found,) = sample()
        return [Likelihood(found.logprobs * next(measured), *[found.mask] * 2)]

    with pytest.raises(DivergedError, match="'coin' moves it by a KL of nan: lower learning_rate"):
        StepBound(1e-6, torch.nn.Identity(), breaks).step(optimizer)
    assert logits.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", ["magrpo", "at_grpo", "maxrl", "dpo", "madpo"])
def test_updates_are_held_to_the_limit(name):
    batch = Batch(episodes=[], groups=[ANSWERS])
    free, far = updated(name, batch, learning_rate=0.05)
    held, near = updated(name, batch, learning_rate=0.05, max_update_kl=0.01)
    assert "step_kl" not in free
    assert held["step_kl"] > 0.02
    assert held["step_scale"] < math.sqrt(0.01 / held["step_kl"]) + 1e-9
    assert held["loss"] == free["loss"]
    start = tiny_models.policy()
    for begin, there, here in zip(*(p.model.parameters() for p in (start, far, near)), strict=True):
        expected = begin + held["step_scale"] * (there - begin)
        torch.testing.assert_close(here, expected, rtol=1e-4, atol=1e-6)


def test_the_steps_of_an_update_share_its_limit():
    """Two steps of one batch have a quarter of it each, so that together they move as far as one alone."""
    policy, optimizer = tiny_models.policy(), a_coin()[1]
    optimizer.update_kl = 0.01
    assert step_bound(policy, optimizer, list, update_fraction=1.0).limit == 0.01
    assert step_bound(policy, optimizer, list, update_fraction=0.5).limit == 0.0025


@pytest.mark.parametrize("name", ["dpo", "madpo"])
@pytest.mark.parametrize(("batch_size", "share"), [(1, 1.0), (4, 0.25)])
def test_a_step_on_few_pairs_is_as_much_shorter(name, batch_size, share):
    """One pair of answers, of a full batch or of a quarter of one; Adam's step is as long for both."""
    batch = Batch(episodes=[], groups=[a_group([(20, 0), (22, 0)], [1.0, 0.0])])
    options = {"learning_rate": 0.002, "batch_size": batch_size}
    free, _ = updated(name, batch, **options)
    held, _ = updated(name, batch, **options, max_update_kl=1e-6)
    assert free["pairs"] == 1
    assert held["step_scale"] == pytest.approx(share * math.sqrt(1e-6 / held["step_kl"]), rel=0.1)


def test_a_batch_without_a_gradient_is_not_measured():
    same = a_group([(20, 0), (22, 0)], [1.0, 1.0])
    metrics, _ = updated("magrpo", Batch(episodes=[], groups=[same]), max_update_kl=0.01)
    assert metrics["grad_norm"] == 0.0
    assert "step_kl" not in metrics


def test_given_preferences_have_no_bound_by_default():
    """The estimate needs answers that the policy sampled."""
    config = learner_config("dpo")
    assert config(preferences="pairs.jsonl").update_kl_for(1, known_rate=False) == math.inf
    assert config().update_kl_for(1, known_rate=False) == 0.001


def test_only_a_small_model_of_unknown_rate_has_a_bound():
    config = learner_config("magrpo")
    small, large = 9_999_999, 10_000_000
    assert config().update_kl_for(small, known_rate=False) == 0.001
    assert config().update_kl_for(large, known_rate=False) == math.inf
    assert config().update_kl_for(small, known_rate=True) == math.inf
    assert config(max_update_kl=0.5).update_kl_for(large, known_rate=True) == 0.5
    assert learner_config("sft")().update_kl_for(small, known_rate=False) == math.inf


def bound(policy, **options):
    config = learner_config("magrpo")(**options)
    return Optimizer.for_policy(policy, config, total=1, name="p").update_kl


def test_a_rate_is_known_if_it_was_chosen():
    policy = tiny_models.policy()
    assert bound(policy) == 0.001
    assert bound(policy, learning_rate=2e-4) == math.inf
    policy.learning_rate = 1e-3
    assert bound(policy) == math.inf


def test_the_default_rates_were_found_on_the_embedded_model(tmp_path):
    embedded = load("tiny")
    assert bound(embedded) == math.inf
    embedded.save(tmp_path / "trained_further")
    assert bound(load(str(tmp_path / "trained_further"))) == math.inf


@pytest.mark.parametrize("name", ["ippo", "dpo"])
@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan])
def test_a_limit_is_above_0(name, limit):
    with pytest.raises(ConfigError, match="max_update_kl must be above 0"):
        learner_config(name)(max_update_kl=limit)
