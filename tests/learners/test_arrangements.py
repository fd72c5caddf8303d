"""Every learner with one agent and with three, and under every arrangement of weights."""

from functools import partial

import pytest
import torch
from tiny_models import model, needed, tokenizer
from toy_envs import Parities

from llmzoo.engine.local import LocalEngine
from llmzoo.learners import env_defaults, learner_class, list_learners
from llmzoo.models.sampling import Sampling
from llmzoo.policies.agent_settings import AgentSettings
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.runs.policy_loading import load_policies


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("model")
    TransformersPolicy(model(initializer_range=0.1), tokenizer()).save(path)
    return str(path)


def an_engine(name, agents, arrangement, folder, agent_args=None):
    agents = [f"writer_{i}" for i in range(agents)]
    policies, learning = load_policies(
        agents,
        AgentSettings(
            policies=arrangement,
            model=folder,
            sampling=Sampling(max_new_tokens=2),
            agent_args=agent_args or {},
        ),
    )
    cls = learner_class(name)
    learner = cls(cls.Config(learning_rate=1e-2, **needed(name)))
    return LocalEngine(learner, learning, policies, total_steps=10)


def iterate(engine, agents, steps=3):
    """Updates until something was learned from: three batches of play of six episodes each."""
    for step in range(steps):
        for number, player in enumerate(engine.policies.values()):
            player.reseed(10 * step + number)
        batch = engine.collect(partial(Parities, agents), list(range(6 * step, 6 * step + 6)))
        engine.update(batch, seed=step)


def trained(policy):
    """What a policy trains, or would train were it not frozen, apart from what others train."""
    if policy.adapter is None:
        return {n: p.detach().clone() for n, p in policy.model.named_parameters()}
    return {
        n: p.detach().clone()
        for n, p in policy.model.named_parameters()
        if policy.adapter in n.split(".")
    }


def same(before, after):
    return all(torch.equal(before[name], after[name]) for name in before)


ARRANGEMENTS = ("shared", "separate", "lora")
# one learner of each kind of update runs under every arrangement, and with one agent; the others share
# that update, and each plays once with three agents
UPDATES = ("magrpo", "ippo", "mappo", "dpo", "madpo", "sft", "opd")
OTHERS = {
    **dict.fromkeys(("at_grpo", "grpo", "mareinforce", "iac"), "shared"),
    **dict.fromkeys(("ccpo", "maremax", "maac"), "separate"),
    **dict.fromkeys(("marloo", "maxrl", "ppo"), "lora"),
}
QUICK = [("magrpo", 3, "shared"), ("dpo", 3, "separate"), ("ippo", 3, "lora")]  # in `make test`
CASES = [
    *QUICK,
    *(
        pytest.param(name, agents, arrangement, marks=pytest.mark.slow)
        for name, agents, arrangement in (
            *((name, 3, a) for name in UPDATES for a in ARRANGEMENTS if (name, 3, a) not in QUICK),
            *((name, 1, "shared") for name in UPDATES),
            *((name, 3, arrangement) for name, arrangement in OTHERS.items()),
        )
    ),
]


def test_what_a_learner_needs_of_its_environment_is_known_without_its_class():
    needed = {name: learner_class(name).env_defaults for name in list_learners()}
    assert needed == {name: env_defaults(name) for name in list_learners()}
    assert {name for name, args in needed.items() if args} == {"grpo", "ppo"}


def test_there_is_a_case_for_every_learner():
    assert sorted((*UPDATES, *OTHERS)) == list_learners()


@pytest.mark.parametrize(("name", "agents", "arrangement"), CASES)
def test_one_agent_and_three_learn_under_every_arrangement(name, agents, arrangement, folder):
    engine = an_engine(name, agents, arrangement, folder)
    assert len(engine.policies) == (1 if arrangement == "shared" else agents)
    before = {n: trained(p) for n, p in engine.policies.items()}
    first = next(iter(engine.policies.values()))
    base = {n: p.detach().clone() for n, p in first.model.named_parameters() if "lora_" not in n}
    iterate(engine, agents)
    for n, policy in engine.policies.items():
        assert not same(before[n], trained(policy)), n
    if arrangement == "lora":
        now = {n: p for n, p in first.model.named_parameters() if "lora_" not in n}
        assert same(base, now)


@pytest.mark.parametrize(
    ("name", "arrangement"),
    [
        *(("magrpo", "separate"), ("madpo", "lora")),
        *(
            pytest.param(name, arrangement, marks=pytest.mark.slow)
            for name, arrangement in (
                *((name, "separate") for name in ("mappo", "sft")),
                *((name, "lora") for name in ("ippo", "dpo", "opd")),
            )
        ),
    ],
)
def test_training_one_agent_leaves_the_others_as_they_are(name, arrangement, folder):
    frozen = {"writer_1": {"frozen": True}, "writer_2": {"frozen": True}}
    engine = an_engine(name, 3, arrangement, folder, frozen)
    assert list(engine.policies) == ["writer_0"]
    one, others = (
        engine.agent_policies["writer_0"],
        [engine.agent_policies["writer_1"], engine.agent_policies["writer_2"]],
    )
    start, kept = trained(one), [trained(other) for other in others]
    iterate(engine, 3)
    assert not same(start, trained(one))
    for other, before in zip(others, kept, strict=True):
        assert same(before, trained(other))
