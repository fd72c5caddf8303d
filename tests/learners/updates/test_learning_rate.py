"""The default learning rate is that of what is trained: full weights, or an adapter on them."""

from functools import partial

import pytest
import tiny_models
from toy_envs import Parities

from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.critics import ActorCriticConfig
from llmzoo.learners.configs.groups import GroupConfig
from llmzoo.learners.configs.preferences import DPOConfig
from llmzoo.learners.configs.rows import SFTConfig
from llmzoo.learners.updates.critics import ModelCritic
from llmzoo.learners.updates.policy_gradient import PolicyGradientUpdater
from llmzoo.models.lora import parameter_count
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.training import fit

# 2 layers x (3 x 400 x 4000 in the MLP + attention): more than 10 million parameters
LARGE = {"hidden_size": 400, "intermediate_size": 4000, "initializer_range": 0.2}


def player(**sizes):
    return TransformersPolicy(
        tiny_models.model(**sizes), tiny_models.tokenizer(), sampling=Sampling(max_new_tokens=1)
    )


def rates(policies, config):
    agents = {f"{name}_agent": policy for name, policy in policies.items()}
    updater = PolicyGradientUpdater(
        config, RunPolicies(policies=policies, agent_policies=agents, total_steps=1)
    )
    return {name: optimizer.rate for name, optimizer in updater.optimizers.items()}


@pytest.mark.parametrize(
    ("config", "sizes", "full", "adapter"),
    [
        (GroupConfig(), {}, 2e-4, 2e-3),
        (GroupConfig(), LARGE, 1e-6, 1e-4),
        (DPOConfig(), LARGE, 1e-6, 1e-5),
        (SFTConfig(), {}, 2e-4, 2e-3),
        (SFTConfig(), LARGE, 2e-5, 2e-4),
        (GroupConfig(learning_rate=0.5), LARGE, 0.5, 0.5),
        (SFTConfig(learning_rate=0.5), LARGE, 0.5, 0.5),
    ],
)
def test_an_adapter_learns_at_a_higher_rate_than_full_weights(config, sizes, full, adapter):
    model = tiny_models.model(**sizes)
    assert config.rate_for(parameter_count(model)) == full
    base = TransformersPolicy(model, tiny_models.tokenizer())
    (policy,) = base.with_adapters(["a"]).values()
    assert config.rate_for(parameter_count(policy.model), adapter=True) == adapter


def test_the_updater_asks_for_what_its_policies_train():
    assert rates({"p": player(**LARGE)}, GroupConfig()) == {"p": 1e-6}
    adapters = player(**LARGE).with_adapters(["a", "b"])
    adapters["b"].learning_rate = 3e-4  # an agent's own
    assert rates(adapters, GroupConfig()) == {"a": 1e-4, "b": 3e-4}


def test_many_adapters_do_not_make_a_small_base_large():
    base = player(hidden_size=64, intermediate_size=640)
    policies = base.with_adapters([f"agent{i}" for i in range(8)], r=512)
    size = sum(p.numel() for p in base.model.parameters())
    assert size > 10_000_000
    assert set(rates(policies, GroupConfig()).values()) == {2e-3}


@pytest.mark.parametrize("central", [False, True])
def test_the_critic_of_an_adapter_is_a_whole_model(central):
    (policy,) = player(**LARGE).with_adapters(["a"]).values()
    critic = ModelCritic(
        policy, ActorCriticConfig(), ["a"], central=central, total_steps=1, name="a"
    )
    assert critic.optimizer.rate == 1e-6


@pytest.mark.slow
def test_an_adapter_on_a_large_base_learns_with_the_default(tmp_path):
    """An agent answers "U" and "D" by the parity of a letter; at a tenth of the rate it stays as it is."""
    policies = player(**LARGE).with_adapters(["writer_0"])
    result = fit(
        "magrpo",
        partial(Parities, 1),
        out=tmp_path / "run",
        policies=policies,
        steps=100,
        episodes_per_step=16,
        learner_args={"group_size": 8},
        eval_tasks=200,
        quiet=True,
    )
    assert result.before["success"] < 0.35
    assert result.after["success_ci95"][0] > result.before["success_ci95"][1]
