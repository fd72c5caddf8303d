"""Actors and critics: what moves, what must not, and that it learns."""

import random
from dataclasses import replace
from functools import partial

import pytest
import torch
from float64 import LIMIT
from tiny_models import model, policy, tokenizer
from toy_envs import Adder, Matcher

from llmzoo.engine.local import LocalEngine
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError
from llmzoo.learners import learner_class
from llmzoo.learners.updates.critics import total_value_loss
from llmzoo.learners.updates.turns import agent_trajectories
from llmzoo.models import scoring
from llmzoo.models.sampling import Sampling
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch


class Lengths(Adder):
    """The adder for those who write anything: the number is the text's length."""

    def apply(self, state, actions):
        return super().apply(state, {agent: str(len(text)) for agent, text in actions.items()})


class Trio(TextEnv):
    """Three agents in turn write something; the team is paid its letters at the end of a round."""

    metadata = {**TextEnv.metadata, "name": "trio_v0"}

    def __init__(self, agents=3):
        super().__init__([f"agent_{i}" for i in range(agents)], max_turns=2)

    def reset_task(self, rng, task):
        return 0

    def observation(self, state, agent):
        return f"{agent} {self.turn}"

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        letters = state + len(text)
        return letters, Outcome(team=float(letters) if agent == self.possible_agents[-1] else 0.0)


FORMS = [
    ("ippo", {}),
    ("ippo", {"critic": "value_head"}),
    ("ippo", {"values": "token"}),
    ("ippo", {"values": "token", "critic": "value_head"}),
    ("mappo", {}),
    ("iac", {}),
    ("iac", {"critic": "value_head"}),
    ("maac", {}),
]


def an_engine(name, options, agents, total=10):
    cls = learner_class(name)
    learning = {}
    for agent, player in agents.items():
        if player not in learning.values():
            learning[agent] = player
    return LocalEngine(
        cls(cls.Config(**{"learning_rate": 1e-2, **options})), learning, agents, total_steps=total
    )


def short(seed=0):
    return policy(seed=seed, sampling=Sampling(max_new_tokens=3))


def weights(module):
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def moved(before, module):
    return {name for name, t in module.state_dict().items() if not torch.equal(t, before[name])}


def critic_module(engine, name):
    critic = engine.updater.critics[name]
    return critic.head if hasattr(critic, "head") else critic.model


@pytest.mark.parametrize(("name", "options"), FORMS)
def test_gradients_reach_the_actor_and_the_critic(name, options):
    engine = an_engine(name, options, dict.fromkeys(["a_0", "b_1"], short()))
    (judge,) = engine.updater.critics
    player = engine.policies["a_0"]
    actor, critic = weights(player.model), weights(critic_module(engine, judge))
    batch = engine.collect(Lengths, [0, 1, 2])
    # a zero head passes no gradient on to what lies below it: the critic's body moves in a second step
    metrics = engine.update(batch, seed=0)
    engine.update(batch, seed=1)
    assert len(moved(actor, player.model)) > len(actor) / 2
    assert len(moved(critic, critic_module(engine, judge))) > len(critic) / 2
    assert metrics["grad_norm"] > 0
    assert metrics["value_loss"] > 0


@pytest.mark.parametrize(("name", "options"), FORMS[:2])
def test_actors_never_look_for_the_most_likely_tokens(name, options, monkeypatch):
    def asked(*_):
        raise AssertionError("the most likely tokens were asked for")

    monkeypatch.setattr(scoring, "_is_top", asked)
    engine = an_engine(name, options, dict.fromkeys(["a_0", "b_1"], short()))
    engine.update(engine.collect(Lengths, [0, 1]), seed=0)


@pytest.mark.usefixtures("float64")
@pytest.mark.parametrize(("name", "options"), FORMS[:5])
def test_the_ratio_is_one_at_the_first_update(name, options):
    engine = an_engine(name, {**options, "epochs": 1}, dict.fromkeys(["a_0", "b_1"], short()))
    metrics = engine.update(engine.collect(Lengths, [0, 1, 2]), seed=0)
    assert metrics["ratio"] == pytest.approx(1.0, abs=LIMIT)
    assert metrics["clip_fraction"] == 0.0
    assert metrics["update_kl"] == pytest.approx(0.0, abs=LIMIT)


@pytest.mark.parametrize(
    ("name", "options", "agents"),
    [
        ("ippo", {"values": "token", "critic": "value_head"}, 1),
        ("mappo", {}, 1),
        ("iac", {}, 3),
        ("maac", {}, 3),
    ],
)
def test_one_agent_and_three(name, options, agents):
    names = [f"agent_{i}" for i in range(agents)]
    players = {agent: short(seed=i) for i, agent in enumerate(names)}
    engine = an_engine(name, options, players)
    batch = engine.collect(partial(Trio, agents), [0, 1])
    before = {agent: weights(player.model) for agent, player in players.items()}
    engine.update(batch, seed=0)
    assert all(moved(before[agent], player.model) for agent, player in players.items())
    central = name in ("mappo", "maac")
    assert set(engine.updater.critics) == ({"central"} if central else set(names))
    if central:
        assert engine.updater.critics["central"].model.head.linear.out_features == agents


@pytest.mark.parametrize(("name", "options"), FORMS[:5])
def test_an_agent_that_does_not_act_keeps_its_weights(name, options):
    one, other = short(0), short(1)
    engine = an_engine(name, options, {"a_0": one, "b_1": other})
    batch = engine.collect(Lengths, [0, 1])
    only = [
        replace(episode, decisions=tuple(d for d in episode.decisions if d.agent == "a_0"))
        for episode in batch.episodes
    ]
    before = weights(other.model)
    start = weights(one.model)
    engine.update(Batch(episodes=tuple(only)), seed=0)
    assert moved(before, other.model) == set()
    assert moved(start, one.model)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ippo", {"kl": 0.1, "minibatches": 2}),
        pytest.param("ippo", {"values": "token", "critic": "value_head"}, marks=pytest.mark.slow),
        pytest.param("mappo", {}, marks=pytest.mark.slow),
    ],
)
def test_a_saved_state_goes_on_bit_for_bit(name, options, tmp_path):
    def new():
        return an_engine(name, options, dict.fromkeys(["a_0", "b_1"], short()))

    def iterate(engine, step):
        for player in engine.policies.values():
            player.reseed(step)
        engine.update(engine.collect(Lengths, [step, step + 100]), seed=step)

    whole = new()
    iterate(whole, 0)
    whole.save(tmp_path)
    resumed = new()
    resumed.load(tmp_path)
    for step in (1, 2):
        iterate(whole, step)
        iterate(resumed, step)
    assert moved(weights(whole.policies["a_0"].model), resumed.policies["a_0"].model) == set()
    for judge in whole.updater.critics:
        ours, theirs = critic_module(whole, judge), critic_module(resumed, judge)
        assert moved(weights(ours), theirs) == set()


def test_a_large_step_ends_the_passes():
    def steps(target):
        engine = an_engine(
            "ippo",
            {"epochs": 5, "learning_rate": 5e-2, "target_kl": target},
            dict.fromkeys(["a_0", "b_1"], short()),
        )
        engine.update(engine.collect(Lengths, [0, 1, 2]), seed=0)
        return engine.updater.optimizers["a_0"].steps

    assert steps(None) == 5
    assert steps(1e-9) == 2  # the second step is the first whose policy is not the one that played


class Cut(Lengths):
    """Its limit on turns comes from outside."""

    metadata = {**Lengths.metadata, "time_limit": None}


@pytest.mark.parametrize(
    ("env", "time_limit", "goes_on"),
    [
        (Cut, "auto", True),
        (Lengths, "auto", False),
        (Lengths, "bootstrap", True),
        (Cut, "end", False),
    ],
)
def test_the_value_of_a_final_state_is_read_where_a_time_limit_cut(env, time_limit, goes_on):
    """V is 0 at first; a head with bias 7 values everything at 7, also what comes after the end."""
    options = {"gamma": 1.0, "lam": 0.0, "time_limit": time_limit}
    engine = an_engine("ippo", options, dict.fromkeys(["a_0", "b_1"], short()))
    batch = engine.collect(partial(env, 1), [0])
    critic = engine.updater.critics["a_0"]
    torch.nn.init.constant_(critic.model.head.linear.bias, 7.0)
    (a, b) = engine.updater.score_turns(critic, agent_trajectories(batch.episodes, ["a_0", "b_1"]))
    assert batch.episodes[0].cut_off == ("a_0", "b_1")
    after = 7.0 if goes_on else 0.0
    assert a.advantages.item() == pytest.approx(a.turn.reward + after - 7.0, abs=1e-5)
    assert b.advantages.item() == pytest.approx(b.turn.reward + after - 7.0, abs=1e-5)


@pytest.mark.slow
def test_central_values_are_the_agents_own():
    """Two agents with different rewards in one state: each output learns its own."""
    players = dict.fromkeys(["a_0", "b_1"], short())

    class Uneven(Matcher):
        metadata = {**Matcher.metadata, "time_limit": "task"}

        def apply(self, state, actions):
            return state, Outcome(local={"a_0": {"own": 1.0}, "b_1": {"own": -1.0}})

    engine = an_engine(
        "mappo", {"critic_learning_rate": 1e-2, "value_clip": None}, players, total=50
    )
    for step in range(30):
        engine.update(engine.collect(partial(Uneven, 1), [step]), seed=step)
    batch = engine.collect(partial(Uneven, 1), [99])
    turns = [c.turns[0] for c in agent_trajectories(batch.episodes, ["a_0", "b_1"])]
    ours, theirs = engine.updater.critics["central"].values(turns)
    assert ours.item() == pytest.approx(1.0, abs=0.3)
    assert theirs.item() == pytest.approx(-1.0, abs=0.3)


def test_a_central_critic_needs_a_state_of_text():
    class Stateless(Lengths):
        def state(self):
            raise NotImplementedError

    engine = an_engine("mappo", {}, dict.fromkeys(["a_0", "b_1"], short()))
    with pytest.raises(ConfigError, match=r"reads env.state\(\) as text"):
        engine.collect(Stateless, [0])


@pytest.mark.parametrize("critic", ["separate", "value_head"])
def test_names_with_dots_are_saved_apart(critic, tmp_path):
    players = {"agent.0": short(0), "agent.1": short(1)}

    def biases(engine):
        modules = [critic_module(engine, name) for name in players]
        return [m.linear.bias if critic == "value_head" else m.head.linear.bias for m in modules]

    engine = an_engine("ippo", {"critic": critic}, players)
    for number, bias in enumerate(biases(engine)):
        torch.nn.init.constant_(bias, float(number))
    engine.save(tmp_path)
    resumed = an_engine("ippo", {"critic": critic}, players)
    resumed.load(tmp_path)
    assert [bias.item() for bias in biases(resumed)] == [0.0, 1.0]


def test_a_critic_learns_at_its_actors_rate_unless_it_has_its_own():
    slow = short()
    slow.learning_rate = 1e-4
    players = {"a_0": slow, "b_1": short(1)}
    critics = an_engine("ippo", {}, players).updater.critics
    assert [critics[name].optimizer.rate for name in players] == [1e-4, 1e-2]
    critics = an_engine("ippo", {"critic_learning_rate": 3e-3}, players).updater.critics
    assert [critics[name].optimizer.rate for name in players] == [3e-3, 3e-3]
    (central,) = an_engine("mappo", {}, players).updater.critics.values()
    assert central.optimizer.rate == 1e-2  # of all agents, whatever one of them has


def test_a_bfloat16_critic_adds_up_its_parts_in_float32(monkeypatch):
    """bfloat16 sums would be off by up to 2^-8 of each partial sum; float32 ones by 2^-24."""
    player = policy(precision="bf16", sampling=Sampling(max_new_tokens=3))
    options = {"microbatch_tokens": 1}
    engine = an_engine("iac", options, dict.fromkeys(["a_0", "b_1"], player))
    critic = engine.updater.critics["a_0"]
    torch.nn.init.normal_(critic.model.head.linear.weight)
    batch = engine.collect(partial(Lengths, 1), range(6))
    items = engine.updater.score_turns(critic, agent_trajectories(batch.episodes, ["a_0", "b_1"]))
    assert len(items) == 12
    parameters = critic.optimizer.parameters
    expected = [torch.zeros(p.shape) for p in parameters]
    sizes = [torch.zeros(p.shape) for p in parameters]
    for item in items:
        loss = total_value_loss(critic._values([item.turn]), [item], None) / len(items)
        parts = torch.autograd.grad(loss, parameters)
        for total, size, part in zip(expected, sizes, parts, strict=True):
            total += part.float()
            size += part.float().abs()
    result = []

    def step():
        critic.optimizer.accumulate()
        result.extend(master.grad for master in critic.optimizer._masters.masters)
        return 0.0

    monkeypatch.setattr(critic.optimizer, "step", step)
    critic.learn(items, random.Random(0))
    assert max(total.abs().max().item() for total in expected) > 1e-3
    for ours, total, size in zip(result, expected, sizes, strict=True):
        # each of the two sums rounds 11 times, by 2^-24 of what it has added up at most
        assert bool(((ours - total).abs() <= 2 * 11 * 2**-24 * size).all())


def test_another_model_as_critic(tmp_path):
    TransformersPolicy(model("llama", seed=5), tokenizer()).save(tmp_path / "critic")
    options = {"critic_model": str(tmp_path / "critic")}
    engine = an_engine("ippo", options, dict.fromkeys(["a_0", "b_1"], short()))
    critic = engine.updater.critics["a_0"]
    assert "Llama" in type(critic.model.body).__name__
    assert (
        critic._reader.model is critic.model.body
    )  # the model that was loaded is not kept beside it
    engine.update(engine.collect(Lengths, [0]), seed=0)
    with pytest.raises(ConfigError, match="no policy or model"):
        an_engine("ippo", {"critic_model": str(tmp_path / "nobody")}, {"a_0": short()})


@pytest.mark.parametrize(
    ("name", "wrong", "why"),
    [
        ("iac", {"lam": 0.5}, "use ippo for GAE"),
        ("mappo", {"critic": "value_head"}, "central critic"),
        ("maac", {"values": "token"}, "one value per state"),
        ("ippo", {"lam": 1.5}, r"lam must be in \[0, 1\]"),
        ("ippo", {"value_clip": 0.0}, "value_clip must be above 0"),
        ("ippo", {"clip": None}, "need the clipped ratio"),
        ("iac", {"target_kl": 0.1}, "target_kl requires clip to be set"),
        ("ippo", {"value_weight": -1.0}, "value_weight must be at least 0"),
        ("ippo", {"critic": "value_head", "critic_model": "x"}, "critic_model has no effect"),
    ],
)
def test_settings_that_cannot_work_are_refused(name, wrong, why):
    with pytest.raises(ConfigError, match=why):
        learner_class(name).Config(**wrong)
