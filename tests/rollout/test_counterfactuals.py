"""Joint trees that draw one agent's answer again: returns worked out by hand, and credit without luck."""

from __future__ import annotations

import pytest
from tiny_models import FakePolicy
from toy_envs import Matcher

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError
from llmzoo.learners.ccpo import CCPO
from llmzoo.learners.configs.groups import CCPOConfig
from llmzoo.learners.magrpo import MAGRPO
from llmzoo.rollout import joint_tree
from llmzoo.rollout.scheduler import run_rollouts


class Sum(TextEnv):
    """Both agents are paid the first number plus ten times the second. Only for this test."""

    def __init__(self):
        super().__init__(["a_0", "b_1"], simultaneous=True)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return "up"

    def apply(self, state, actions):
        team = int(actions["a_0"]) + 10.0 * int(actions["b_1"])
        return state, Outcome(team=team, done=True, success=True)


def groups(answers, trained=("a_0", "b_1"), env=Sum, **options):
    policy = FakePolicy(lambda request, i: answers[request.agent][i])
    made = env()
    made.reset(seed=0)
    tree = joint_tree(made, 0, group_size=3, trained=trained, **options)
    (batch,) = run_rollouts([tree], {"a_0": policy, "b_1": policy})
    return {group.agent: group for group in batch.groups}


ANSWERS = {"a_0": ["1", "2", "5"], "b_1": ["0", "1", "3"]}


def test_returns_with_another_answer_by_hand():
    """Joint answers 1+0, 2+10, 5+30. The first agent's first answer with its second and third in place, beside
    0: 2 and 5. The second agent's first answer with its others beside 1: 11 and 31."""
    found = groups(ANSWERS, counterfactuals=2)
    assert found["a_0"].returns == found["b_1"].returns == (1.0, 12.0, 35.0)
    assert found["a_0"].counterfactual_returns == (3.5, (15 + 11) / 2, (31 + 32) / 2)
    assert found["b_1"].counterfactual_returns == (21.0, (32 + 2) / 2, (5 + 15) / 2)


def test_one_redraw_is_the_next_answer_around_the_group():
    found = groups(ANSWERS, counterfactuals=1)
    assert found["a_0"].counterfactual_returns == (2.0, 15.0, 31.0)
    assert found["b_1"].counterfactual_returns == (11.0, 32.0, 5.0)


def test_without_counterfactuals_nothing_is_tried():
    assert groups(ANSWERS)["a_0"].counterfactual_returns == ()


def test_an_agent_that_does_not_learn_answers_once_and_stays():
    found = groups({"a_0": ["1", "2", "5"], "b_1": ["3"]}, trained=["a_0"], counterfactuals=2)
    assert list(found) == ["a_0"]
    assert found["a_0"].returns == (31.0, 32.0, 35.0)
    assert found["a_0"].counterfactual_returns == (33.5, 33.0, 31.5)


def test_credit_does_not_depend_on_the_others_luck():
    """In a sum, an answer is worth its own number less the mean of the others' numbers, whatever the
    other agent says. MAGRPO mixes in the other agent's draw, which is ten times as large."""
    learner = CCPO(CCPOConfig(group_size=3))
    for seconds in (["0", "1", "3"], ["9", "0", "4"]):
        found = groups({"a_0": ["1", "2", "5"], "b_1": seconds}, counterfactuals=2)
        (credited,) = learner.compute_advantages([found["a_0"]])
        assert credited.advantages.tolist() == pytest.approx([1 - 3.5, 2 - 3.0, 5 - 1.5])
        (mixed,) = MAGRPO().compute_advantages([found["a_0"]])
        assert mixed.advantages.tolist() != pytest.approx([1 - 8 / 3, 2 - 8 / 3, 5 - 8 / 3])


def test_an_answer_that_makes_no_difference_gets_no_credit():
    class Second(Sum):
        def apply(self, state, actions):
            return state, Outcome(team=10.0 * int(actions["b_1"]), done=True, success=True)

    found = groups(ANSWERS, env=Second, counterfactuals=2)
    learner = CCPO(CCPOConfig(group_size=3))
    (credited,) = learner.compute_advantages([found["a_0"]])
    assert credited.advantages.tolist() == [0.0, 0.0, 0.0]
    (mixed,) = MAGRPO().compute_advantages([found["a_0"]])
    assert max(mixed.advantages.abs()) > 1


def test_alone_it_is_leave_one_out():
    class Alone(Sum):
        def __init__(self):
            TextEnv.__init__(self, ["a_0"], simultaneous=True)

        def apply(self, state, actions):
            return state, Outcome(team=float(actions["a_0"]), done=True)

    found = groups(ANSWERS, trained=["a_0"], env=Alone, counterfactuals=2)
    (credited,) = CCPO(CCPOConfig(group_size=3)).compute_advantages([found["a_0"]])
    assert credited.advantages.tolist() == pytest.approx([1 - 3.5, 2 - 3.0, 5 - 1.5])


def test_it_plays_on_where_the_episode_is_not_over():
    """In a task of several turns the copies go on to the end, as those of the answers do."""
    env = Matcher()
    env.reset(seed=0)
    policy = FakePolicy(lambda request, i: str(1 + i))
    tree = joint_tree(env, 0, group_size=3, trained=env.possible_agents, counterfactuals=2)
    (batch,) = run_rollouts([tree], dict.fromkeys(env.possible_agents, policy))
    assert all(len(group.counterfactual_returns) == 3 for group in batch.groups)
    assert len({group.turn for group in batch.groups}) >= 1


@pytest.mark.parametrize(
    "options",
    [{"counterfactuals": 0}, {"counterfactuals": 4}, {"mode": "cross"}, {"group_size": 1}],
)
def test_settings_are_checked(options):
    with pytest.raises(ConfigError):
        CCPO(CCPOConfig(**options))
