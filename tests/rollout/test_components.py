"""What each reward component returns, worked out by hand: joint trees and agent-turn trees."""

import pytest
from tiny_models import FakePolicy
from toy_envs import Adder, Matcher

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.rollout import agent_turn_tree, joint_tree
from llmzoo.rollout.scheduler import run_rollouts

BOTH = ("a_0", "b_1")


def played(tree, env, answers, **options):
    """The first group of each agent in a tree; ``answers``: of each agent in turn."""
    env.reset(seed=0)
    policy = FakePolicy(lambda request, i: answers[request.agent][i])
    line = tree(env, 0, group_size=2, trained=BOTH, **options)
    (batch,) = run_rollouts([line], dict.fromkeys(BOTH, policy))
    for group in batch.groups:  # the parts sum to the whole
        for k, whole in enumerate(group.returns):
            assert sum(p.returns[k] for p in group.components.values()) == pytest.approx(
                whole, rel=1e-12
            )
    first = sorted(batch.groups, key=lambda group: (len(group.key), group.key), reverse=True)
    return {group.agent: group for group in first}


def of(group):
    return {name: part.returns for name, part in group.components.items()}


def test_what_others_pay_later_counts_for_its_own_part():
    """a_0 writes 1 or 2, b_1 then 3 or 5; the team is paid a tenth of the sum, at b_1's step. After 1 that is
    0.4 or 0.6, after 2 0.5 or 0.7."""
    answers = {"a_0": "12", "b_1": "35"}
    found = played(joint_tree, Adder(), answers, expand=None)
    assert of(found["a_0"]) == {"number": (1.0, 2.0), "team": (0.5, pytest.approx(0.6))}
    assert of(found["b_1"]) == {"number": (3.0, 5.0), "team": (0.4, 0.6)}


def test_a_part_is_discounted_like_the_return():
    """Two rounds of ones. The first answer is paid 1 at once, and 1 and a team reward of 0.4 one turn later."""
    found = played(joint_tree, Adder(max_turns=2), {"a_0": "11", "b_1": "11"}, gamma=0.5)
    assert of(found["a_0"]) == {"number": (1.5, 1.5), "team": (0.2, 0.2)}


def test_all_combinations_of_answers():
    """2 beside 3 and 6 gives the team 6 and 12, on average 9; 1 gives 4.5."""
    found = played(joint_tree, Matcher(), {"a_0": "21", "b_1": "36"}, mode="cross")
    assert of(found["a_0"]) == {"own": (2.0, 1.0), "team": (9.0, 4.5)}


def test_greedy_and_counterfactual_answers_have_parts_too():
    """Joint answers (2, 3) and (1, 6): a_0's first answer drawn again is 1 beside 3, its second 2 beside 6."""
    found = played(
        joint_tree, Matcher(), {"a_0": "21", "b_1": "36"}, with_greedy=True, counterfactuals=1
    )
    own, team = found["a_0"].components["own"], found["a_0"].components["team"]
    assert (own.returns, own.counterfactual_returns) == ((2.0, 1.0), (1.0, 2.0))
    assert (team.returns, team.counterfactual_returns) == ((6.0, 6.0), (3.0, 12.0))
    assert (own.greedy, team.greedy) == (
        1.0,
        6.0,
    )  # the fake policy's greedy answer is its last: 1 and 6


def test_an_agents_turn_and_the_weight_of_the_team():
    """a_0's answers beside b_1's first, 3, and the other way round; alpha 2 counts the team twice."""
    found = played(agent_turn_tree, Matcher(), {"a_0": "21", "b_1": "36"}, team_weight=2.0)
    assert of(found["a_0"]) == {"own": (2.0, 1.0), "team": (12.0, 6.0)}
    assert of(found["b_1"]) == {"own": (3.0, 6.0), "team": (12.0, 24.0)}


def test_an_agents_turn_that_others_must_finish():
    """In a copy b_1 answers 3: the team is paid 0.4 after 1, and 0.5 after 2."""
    found = played(agent_turn_tree, Adder(), {"a_0": "12", "b_1": "35"})
    assert of(found["a_0"]) == {"number": (1.0, 2.0), "team": (0.4, 0.5)}


class Sometimes(TextEnv):
    """Pays the part "big" for 2 only. Only for this test."""

    def __init__(self):
        super().__init__(list(BOTH), simultaneous=True)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return "up"

    def apply(self, state, actions):
        own = {a: {"small": 1.0} | ({"big": 5.0} if t == "2" else {}) for a, t in actions.items()}
        return state, Outcome(local=own, done=True)


@pytest.mark.parametrize("tree", [joint_tree, agent_turn_tree])
def test_a_part_that_was_not_paid_is_0(tree):
    found = played(tree, Sometimes(), {"a_0": "12", "b_1": "11"})
    assert of(found["a_0"]) == {"small": (1.0, 1.0), "big": (0.0, 5.0)}
    assert of(found["b_1"]) == {"small": (1.0, 1.0)}
