"""What a joint tree's groups have to count for the gradient to be that of the expected return.

A toy with one agent and two turns: the first answer is right with probability P and ends the
episode with 1; otherwise a second one is right with probability Q and pays 1. The return expected is
J = P + (1 - P) Q. Each turn has a logit of its own, P = s(x) and Q = s(y), so
dJ/dx = P (1 - P) (1 - Q) and dJ/dy = (1 - P) Q (1 - Q), and the gradient of the log-probability of
an answer a (1: right) is a - P, or a - Q.

Every tree that can be is played, and counts with its probability.
"""

import itertools
from dataclasses import replace

import pytest
import torch
from tiny_models import FakePolicy, policy
from toy_envs import Adder

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.learners import learner_class
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.groups import JointConfig
from llmzoo.learners.groups import GroupUpdater
from llmzoo.learners.mareinforce import MAREINFORCE
from llmzoo.rollout.scheduler import run_rollouts
from llmzoo.rollout.trees import joint_tree

P, Q = 0.7, 0.4
DX, DY = P * (1 - P) * (1 - Q), (1 - P) * Q * (1 - Q)


class TwoTries(TextEnv):
    """An answer begins with 1, right, or 0, wrong; the second try reads the first answer."""

    metadata = {**TextEnv.metadata, "name": "two_tries_v0"}

    def __init__(self):
        super().__init__(["a_0"], max_turns=2)

    def reset_task(self, rng, task):
        return "start"

    def observation(self, state, agent):
        return state

    def apply(self, state, actions):
        (text,) = actions.values()
        right = text[0] == "1"
        return text, Outcome(team=float(right), done=right, success=right)


def trees(expand):
    """The batch of every tree of two answers a node, with the tree's probability."""
    # who writes: the first or second answer at the start, or after the first or second wrong answer
    writers = list(itertools.product(("start", "0.0", "0.1"), (0, 1)))
    for bits in itertools.product("01", repeat=len(writers)):
        written = dict(zip(writers, bits, strict=True))
        chance = 1.0
        for (read, _), bit in written.items():
            right = P if read == "start" else Q
            chance *= right if bit == "1" else 1 - right
        player = FakePolicy(lambda request, i, w=written: f"{w[request.observation, i]}.{i}")
        env = TwoTries()
        env.reset(seed=0)
        line = joint_tree(env, 0, group_size=2, trained=["a_0"], expand=expand)
        (batch,) = run_rollouts([line], {"a_0": player})
        yield chance, batch


def expected_gradient(expand, **options):
    """The mean over all trees of the sum over groups of the mean of advantage x score."""
    learner = MAREINFORCE(JointConfig(group_size=2, expand=expand, **options))
    gradient, total = torch.zeros(2, dtype=torch.float64), 0.0
    for chance, batch in trees(expand):
        total += chance
        for credited in learner.compute_advantages(batch.groups):
            group = credited.group
            right = (P, Q)[group.turn]
            scores = [(c.text[0] == "1") - right for c in group.completions]
            pairs = zip(credited.advantages.tolist(), scores, strict=True)
            gradient[group.turn] += chance * sum(a * s for a, s in pairs) / len(scores)
    assert total == pytest.approx(1.0, rel=1e-12)
    return gradient.tolist()


@pytest.mark.parametrize("expand", [1, None])
def test_weighed_by_reach_the_gradient_is_that_of_the_expected_return(expand):
    result = expected_gradient(expand)
    assert result == pytest.approx([DX, DY], rel=1e-6)


def test_without_weights_later_turns_count_for_more():
    # a tree of two answers has a second node unless both were right: 1 - P^2 in place of 1 - P
    times = (1 - P**2) / (1 - P)
    assert expected_gradient(1, weigh_by_reach=False) == pytest.approx([DX, times * DY], rel=1e-6)
    # and in the full tree one for each wrong answer: 2 (1 - P)
    assert expected_gradient(None, weigh_by_reach=False) == pytest.approx([DX, 2 * DY], rel=1e-6)


@pytest.mark.parametrize(
    ("mode", "expand", "reach"),
    [
        # in turns: a of 3 answers, then b after each or one of them, and so on
        ("align", None, {0: 1.0, 1: 1 / 3, 2: 1 / 9, 3: 1 / 27}),
        ("align", 1, {0: 1.0, 1: 1.0, 2: 1.0, 3: 1.0}),
        ("align", 2, {0: 1.0, 1: 1 / 2, 2: 1 / 4, 3: 1 / 8}),
    ],
)
def test_reach_where_nothing_ends_early_sums_to_one_at_each_depth(mode, expand, reach):
    env = Adder(max_turns=2)
    env.reset(seed=0)
    player = FakePolicy(lambda request, i: str(i))
    line = joint_tree(env, 0, group_size=3, trained=["a_0", "b_1"], mode=mode, expand=expand)
    (batch,) = run_rollouts([line], {"a_0": player, "b_1": player})
    at_depth = {depth: [] for depth in reach}
    for group in batch.groups:
        at_depth[len(group.key) - 2].append(group.reach)
    for depth, values in at_depth.items():
        assert values == pytest.approx([reach[depth]] * len(values), rel=1e-12)
        assert sum(values) == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("name", ["ccpo", "magrpo", "marloo", "maremax", "maxrl", "mareinforce"])
def test_every_learner_of_the_family_weighs(name):
    cls = learner_class(name)
    batch = next(batch for _, batch in trees(1) if len(batch.groups) == 2)
    groups = [
        replace(group, greedy=0.5, counterfactual_returns=(0.2, 0.7)) for group in batch.groups
    ]
    plain = cls(cls.Config(group_size=2, weigh_by_reach=False)).compute_advantages(groups)
    weighed = cls(cls.Config(group_size=2)).compute_advantages(groups)
    for one, other in zip(plain, weighed, strict=True):
        assert other.advantages.tolist() == pytest.approx(
            (one.advantages * one.group.reach).tolist(), rel=1e-6
        )


def test_a_running_baseline_is_weighed_too():
    batch = next(batch for _, batch in trees(1) if any(g.reach < 1 for g in batch.groups))
    learners = [
        MAREINFORCE(JointConfig(role_baseline=0.9, weigh_by_reach=weigh)) for weigh in (False, True)
    ]
    agents = dict.fromkeys((group.agent for group in batch.groups), policy())
    run = RunPolicies(
        policies={"policy": next(iter(agents.values()))}, agent_policies=agents, total_steps=1
    )
    plain, weighed = (
        GroupUpdater(learner, run)._score_groups(learner, batch.groups) for learner in learners
    )
    for one, other in zip(plain, weighed, strict=True):
        assert other.advantages.tolist() == pytest.approx(
            (one.advantages * one.group.reach).tolist(), rel=1e-6
        )
