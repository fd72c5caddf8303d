"""Play that gives an update little or nothing to learn from: a clear error, or nothing breaks."""

from functools import partial

import pytest
import torch
from tiny_models import policy
from toy_envs import Parities, Parity

from llmzoo.engine.local import LocalEngine
from llmzoo.envs.base import Outcome
from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class
from llmzoo.models.sampling import Sampling
from llmzoo.records import Batch

GROUPS = ["at_grpo", "ccpo", "grpo", "magrpo", "mareinforce", "maremax", "marloo", "maxrl"]
CRITICS = [
    ("ippo", {}),
    ("ippo", {"critic": "value_head"}),
    ("ippo", {"values": "token"}),
    ("ippo", {"values": "token", "critic": "value_head"}),
    ("mappo", {}),
    ("iac", {}),
]
EVERYBODY = [*((name, {}) for name in GROUPS), *CRITICS]


def an_engine(name, options, tokens=2):
    cls = learner_class(name)
    player = policy(sampling=Sampling(max_new_tokens=tokens))
    learner = cls(cls.Config(**{"learning_rate": 1e-2, **options}))
    return LocalEngine(learner, {"one": player}, {"writer_0": player}, total_steps=4)


def learned(engine, env, seeds, updates=1):
    """Whether the weights, all of them still finite, have moved."""
    model = engine.policies["one"].model
    before = [p.detach().clone() for p in model.parameters()]
    for step in range(updates):
        engine.update(engine.collect(env, seeds), seed=step)
    assert all(bool(torch.isfinite(p).all()) for p in model.parameters())
    return any(not torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))


class Over(Parity):
    """It has ended before anybody acts."""

    def reset(self, seed=None, options=None):
        super().reset(seed, options)
        self.terminations = dict.fromkeys(self.agents, True)


class Endless(Parity):
    """Its prompts fit no context."""

    def observation(self, state, agent):
        return "up down left right " * 200


class Silent(Parity):
    """A time limit from outside stops it where there is nothing to read."""

    metadata = {**Parity.metadata, "time_limit": None}

    def observation(self, state, agent):
        return state if self.turn == 0 else ""

    def state(self):
        return ""

    def apply(self, state, actions):
        (text,) = actions.values()
        return state, Outcome(team=float(len(text)))


class Paying(Parity):
    amount = float("nan")

    def apply(self, state, actions):
        return state, Outcome(team=self.amount, done=True)


@pytest.mark.parametrize(("name", "options"), EVERYBODY)
def test_nothing_to_learn_from_changes_nothing(name, options):
    engine = an_engine(name, options)
    assert not learned(engine, Over, [0, 1])
    assert engine.collect(Over, [0, 1]).endings[1].decisions == 0
    with pytest.warns(UserWarning, match="exceeds the available context"):
        assert not learned(engine, Endless, [0, 1])
    engine.update(Batch(), seed=0)


@pytest.mark.parametrize(("name", "options"), CRITICS)
def test_a_text_without_tokens_has_a_value(name, options):
    # all are paid the same, of which whitening would leave nothing
    assert learned(an_engine(name, {**options, "whiten": False}), Silent, [0, 1, 2])


@pytest.mark.parametrize("name", ["at_grpo", "magrpo", "ippo"])
@pytest.mark.parametrize("amount", [float("nan"), float("inf")])
def test_a_reward_that_is_no_finite_number_is_named(name, amount):
    env = type("Env", (Paying,), {"amount": amount})
    with pytest.raises(
        ConfigError, match=f"gave writer_0 the reward {amount}: rewards must be finite"
    ):
        an_engine(name, {}).collect(env, [0])


@pytest.mark.parametrize("name", ["at_grpo", "grpo", "magrpo", "marloo"])
def test_one_answer_has_nothing_to_be_compared_with(name):
    with pytest.raises(ConfigError, match="group_size"):
        an_engine(name, {"group_size": 1, "normalize": False})


@pytest.mark.parametrize(
    "wrong", [{"normalize": True}, {"zero_variance_groups": "drop"}, {"baseline": "group_max"}]
)
def test_options_that_compare_need_several_answers(wrong):
    with pytest.raises(ConfigError, match="group_size"):
        an_engine("maremax", {"group_size": 1, **wrong})


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("mareinforce", {}),
        ("maremax", {}),
        ("magrpo", {"role_baseline": 0.9}),
        ("at_grpo", {"role_baseline": 0.9, "normalize": False}),
    ],
)
def test_one_answer_is_enough_for_a_baseline_from_elsewhere(name, options):
    engine = an_engine(name, {"group_size": 1, **options})
    batch = engine.collect(Parity, range(6))
    assert [len(group.completions) for group in batch.groups] == [1] * 6
    assert learned(engine, Parity, range(12))


@pytest.mark.parametrize(("name", "options"), CRITICS)
def test_one_turn_alone_is_learned_from(name, options):
    """Whitened it would be 0, in every iteration; a token each, for token-level values too."""
    engine = an_engine(name, options, tokens=1)
    before = engine.policies["one"].model.get_output_embeddings().weight.detach().clone()
    right = type("Right", (Paying,), {"amount": 1.0})
    assert learned(engine, right, [0])
    # the output layer takes no part in a value head's loss: it moves with the actor's alone
    assert not torch.equal(before, engine.policies["one"].model.get_output_embeddings().weight)


@pytest.mark.parametrize(("name", "options"), [("magrpo", {"clip": 0.2}), ("ippo", {})])
def test_more_minibatches_than_items(name, options):
    engine = an_engine(name, {**options, "epochs": 1, "minibatches": 4})
    engine.update(engine.collect(partial(Parities, 1), [0]), seed=0)
    assert engine.updater.optimizers["one"].steps == 1
