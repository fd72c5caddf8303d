"""Each learner's credit on worked numbers, and how it rolls out."""

from dataclasses import replace
from pathlib import Path

import pytest
import torch
import yaml
from tiny_models import FakePolicy
from toy_envs import Matcher

import llmzoo
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.learners import learner_class
from llmzoo.learners.configs.groups import GroupConfig
from llmzoo.policies import scripted
from llmzoo.policies.base import PolicyRequest
from llmzoo.records import Completion, Group
from llmzoo.rollout import run_rollouts
from llmzoo.training import make_config

ROOT = Path(__file__).resolve().parents[2]
SAMPLED = Completion(text="x", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
FAILED = Completion(text="", prompt_ids=(1,))


def a_group(returns, greedy=None, completions=None):
    return Group(
        agent="a_0",
        turn=0,
        key=(0, "a_0"),
        prompt_ids=(1,),
        completions=completions or (SAMPLED,) * len(returns),
        returns=tuple(returns),
        greedy=greedy,
    )


def advantages(name, group, **options):
    cls = learner_class(name)
    (credited,) = cls(cls.Config(**options)).compute_advantages([group])
    return credited.advantages.tolist()


GROUP = replace(
    a_group([1.0, 0.0, 0.5, 0.5], greedy=0.75), counterfactual_returns=(0.75, 0.0, 0.0, 1.0)
)


@pytest.mark.parametrize(
    ("name", "options", "expected"),
    [
        ("mareinforce", {}, [1.0, 0.0, 0.5, 0.5]),
        ("magrpo", {}, [0.5, -0.5, 0.0, 0.0]),
        ("magrpo", {"normalize": True}, [2**0.5, -(2**0.5), 0.0, 0.0]),
        ("marloo", {}, [2 / 3, -2 / 3, 0.0, 0.0]),
        ("ccpo", {}, [0.25, 0.0, 0.5, -0.5]),
        ("maxrl", {}, [1.0, -1.0, 0.0, 0.0]),
        ("maxrl", {"success": 1.0}, [3.0, -1.0, -1.0, -1.0]),
        ("maremax", {}, [0.25, -0.75, -0.25, -0.25]),
        ("maremax", {"baseline": "group_max"}, [0.0, -1.0, -0.5, -0.5]),
        ("at_grpo", {}, [0.5, -0.5, 0.0, 0.0]),
        ("at_grpo", {"normalize": True}, [2**0.5, -(2**0.5), 0.0, 0.0]),
        ("grpo", {}, [2**0.5, -(2**0.5), 0.0, 0.0]),
    ],
)
def test_worked_numbers(name, options, expected):
    assert advantages(name, GROUP, **options) == pytest.approx(expected, abs=1e-4)


def test_the_four_variants_differ_under_their_defaults():
    four = ["mareinforce", "magrpo", "marloo", "maremax"]
    result = [tuple(round(a, 3) for a in advantages(name, GROUP)) for name in four]
    assert len(set(result)) == 4


def test_failed_generations_are_left_out_before_the_baseline():
    group = a_group([1.0, 0.0, 100.0], completions=(SAMPLED, SAMPLED, FAILED))
    assert advantages("magrpo", group) == pytest.approx([0.5, -0.5])
    cls = learner_class("magrpo")
    assert cls().compute_advantages([a_group([1.0, 2.0], completions=(FAILED, FAILED))]) == []


CRITICS = ("iac", "ippo", "maac", "mappo", "ppo")


def test_every_learner_names_itself_and_cites_its_source():
    for name in llmzoo.list_learners():
        cls = learner_class(name)
        module = __import__(cls.__module__, fromlist=["__doc__"])
        source = (
            cls.__doc__ if name in CRITICS else module.__doc__
        )  # those with a critic share a file
        assert "arXiv" in source or "Williams" in source
        assert "Credit:" in cls.__doc__


def test_an_unknown_learner_names_the_nearest():
    with pytest.raises(UnknownNameError, match="Did you mean 'magrpo'"):
        learner_class("magpro")


def test_at_grpo_mixes_team_and_local_rewards_by_alpha():
    cls = learner_class("at_grpo")
    write = {"a_0": ["2", "1"], "b_1": ["3", "6"]}
    policy = FakePolicy(lambda r, i: write[r.agent][i])

    def returns(alpha):
        env = Matcher()
        env.reset(seed=0)
        line = cls(cls.Config(group_size=2, team_reward_weight=alpha)).plan.rollout(
            env, 0, ["a_0", "b_1"]
        )
        (batch,) = run_rollouts([line], dict.fromkeys(["a_0", "b_1"], policy))
        return {g.agent: g.returns for g in batch.groups}

    # a with b's first: 3a + a; b with a's first: 2b + b
    assert returns(1.0) == {"a_0": (8.0, 4.0), "b_1": (9.0, 18.0)}
    assert returns(0.0) == {"a_0": (2.0, 1.0), "b_1": (3.0, 6.0)}
    assert returns(2.0) == {"a_0": (14.0, 7.0), "b_1": (15.0, 30.0)}


def test_the_configuration_for_tools_trains_both_agents():
    """The planner's groups were flat in all 18 of 18 while only its own step counted."""
    settings = yaml.safe_load((ROOT / "configs" / "environments" / "tools.yaml").read_text())
    cls = learner_class(settings["learner"])
    learner = cls(make_config(cls.Config, settings["learner_args"], "at_grpo"))
    learner.check(llmzoo.make(settings["env"], **settings["env_args"]), ["planner_0"])
    player = scripted.mixture(0.5)  # as a model that can call tools half the time

    def write(request, i):
        varied = replace(request, seed=request.seed + 1000 * i)
        return player.respond([varied])[0][0].text

    trained = {}
    for seed in range(12):
        env = llmzoo.make(settings["env"], **settings["env_args"])
        env.reset(seed=seed)
        agents = env.possible_agents
        line = learner.plan.rollout(env, seed, agents)
        (batch,) = run_rollouts([line], dict.fromkeys(agents, FakePolicy(write)))
        for credited in learner.compute_advantages(batch.groups):
            agent = credited.group.agent
            trained.setdefault(agent, []).append(bool(credited.advantages.any()))
    assert set(trained) == {"planner_0", "executor_1"}
    for agent, flags in trained.items():
        assert sum(flags) >= len(flags) / 4, (agent, flags)


def test_only_maremax_asks_for_greedy_answers():
    for name in ["magrpo", "maremax"]:
        policy = FakePolicy(lambda r, i: "1")
        env = Matcher()
        env.reset(seed=0)
        run_rollouts(
            [learner_class(name)().plan.rollout(env, 0, ["a_0"])],
            dict.fromkeys(["a_0", "b_1"], policy),
        )
        assert any(greedy for _, _, greedy in policy.calls) == (name == "maremax")


def test_the_discount_is_used():
    cls = learner_class("magrpo")
    policy = FakePolicy(lambda r, i: "1")

    def root(gamma):
        env = Matcher(2)
        env.reset(seed=0)
        line = cls(cls.Config(gamma=gamma)).plan.rollout(env, 0, ["a_0"])
        (batch,) = run_rollouts([line], dict.fromkeys(["a_0", "b_1"], policy))
        return next(g for g in batch.groups if len(g.key) == 2).returns

    assert root(1.0) == (4.0,) * 4
    assert root(0.25) == (2.5,) * 4


@pytest.mark.parametrize(
    "wrong",
    [
        {"group_size": 0},
        {"epochs": 2},  # without a clipped ratio
        {"minibatches": 2},
        {"clip_high": 0.3},
        {"gamma": 1.5},
    ],
)
def test_settings_that_cannot_work_are_refused(wrong):
    with pytest.raises(ConfigError):
        GroupConfig(**wrong)


def test_requests_carry_the_seed_of_the_line():
    seen = []

    def write(request: PolicyRequest, i: int) -> str:
        seen.append(request.seed)
        return "1"

    env = Matcher()
    env.reset(seed=0)
    line = learner_class("at_grpo")().plan.rollout(env, 77, ["a_0"])
    run_rollouts([line], dict.fromkeys(["a_0", "b_1"], FakePolicy(write)))
    assert set(seen) == {77}
    assert torch.is_tensor(learner_class("magrpo")().credit(GROUP))


def test_at_grpo_has_no_use_for_a_discount():
    with pytest.raises(ConfigError, match="gamma has no effect"):
        learner_class("at_grpo").Config(gamma=0.9)
