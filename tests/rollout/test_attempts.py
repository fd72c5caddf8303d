"""Attempts at one observation are a group, and all of them judge who set it: returns worked out by hand."""

from functools import partial

import pytest
from tiny_models import FakePolicy
from toy_envs import Quiz

from llmzoo import testing
from llmzoo.learners import learner_class
from llmzoo.rollout import agent_turn_tree, joint_tree, run_rollouts

AGENTS = ["asker_0", "solver_1"]
# the asker writes 1, 2, ... and greedily 3; the solver 0, 1, 4 and greedily 7
WRITTEN = {"asker_0": ["1", "2", "5"], "solver_1": ["0", "1", "4"]}
BEST = {"asker_0": "3", "solver_1": "7"}


def play(strategy, env=None, *, trained=AGENTS, **options):
    """Returns the batch, its groups by key, and the policy."""
    env = env or Quiz()
    env.reset(seed=0)
    policy = FakePolicy(lambda r, i: BEST[r.agent] if i < 0 else WRITTEN[r.agent][i])
    rollout = strategy(env, 5, trained=trained, **{"group_size": 2, **options})
    (batch,) = run_rollouts([rollout], dict.fromkeys(AGENTS, policy))
    return batch, {group.key: group for group in batch.groups}, policy


def test_a_full_joint_tree_has_a_group_for_the_asker_and_one_for_each_question():
    batch, groups, policy = play(joint_tree, expand=None)
    assert {key: group.returns for key, group in groups.items()} == {
        (5, "asker_0"): (5.0, 10.0),  # 1 x (0 + 1 + 4), 2 x (0 + 1 + 4)
        (5, 0, "solver_1"): (0.0, 1.0, 4.0),
        (5, 1, "solver_1"): (0.0, 1.0, 4.0),
    }
    seen = {key: "".join(map(chr, group.prompt_ids)) for key, group in groups.items()}
    assert seen[5, 0, "solver_1"] == "solver_1 0 1.0"
    assert seen[5, 1, "solver_1"] == "solver_1 0 2.0"
    infos = [info["reward_components"] for info in groups[5, 0, "solver_1"].infos]
    assert infos == [{"number": 0.0}, {"number": 1.0}, {"number": 4.0}]
    # two answers, then three for each of them: nothing is sampled twice
    assert policy.calls == [(1, 2, False), (2, 3, False)]
    assert [e.totals for e in batch.endings] == [
        {"asker_0": 5.0, "solver_1": 5.0},
        {"asker_0": 10.0, "solver_1": 5.0},
    ]
    assert [e.decisions for e in batch.endings] == [4, 4]


def test_a_group_of_attempts_counts_for_as_many_decisions():
    _, groups, _ = play(joint_tree, expand=None)
    assert {key: group.reach for key, group in groups.items()} == {
        (5, "asker_0"): 1.0,
        (5, 0, "solver_1"): 1.5,  # reached half of the time, three decisions
        (5, 1, "solver_1"): 1.5,
    }


def test_discounts_count_the_agents_own_turns():
    """Two rounds, gamma 1/2, and one question of 1 a round.

    Second round: the solver's value from the turn before is 1/2 (0 + 1/2 + 4/4) = 0.75, the asker's
    5/2. First round: attempt i has 2 - i own turns between it and the next round.
    """
    _, groups, _ = play(joint_tree, Quiz(max_turns=2), expand=None, group_size=1, gamma=0.5)
    assert {key: group.returns for key, group in groups.items()} == {
        (5, "asker_0"): (5 + 2.5,),
        (5, 0, "solver_1"): (0 + 0.75 / 4, 1 + 0.75 / 2, 4 + 0.75),
        (5, 0, 0, "asker_0"): (5.0,),
        (5, 0, 0, 0, "solver_1"): (0.0, 1.0, 4.0),
    }
    turns = {key: group.turn for key, group in groups.items()}
    assert (turns[5, "asker_0"], turns[5, 0, 0, "asker_0"]) == (0, 1)
    assert (turns[5, 0, "solver_1"], turns[5, 0, 0, 0, "solver_1"]) == (0, 3)


def test_children_that_are_played_on_make_all_attempts_too():
    _, groups, policy = play(joint_tree, expand=1)
    assert groups[5, "asker_0"].returns == (5.0, 10.0)
    assert len(groups) == 2
    assert policy.calls == [(1, 2, False), (2, 3, False)]


def test_greedy_answers_and_answers_drawn_again():
    _, groups, _ = play(joint_tree, expand=None, with_greedy=True, counterfactuals=2)
    assert groups[5, "asker_0"].greedy == 15.0
    assert groups[5, 0, "solver_1"].greedy == 7.0
    assert groups[5, 0, "solver_1"].counterfactual_returns == (2.5, 2.0, 0.5)
    _, groups, _ = play(joint_tree, expand=None, counterfactuals=1)
    assert groups[5, 0, "solver_1"].counterfactual_returns == (1.0, 4.0, 0.0)


def test_an_agent_turn_tree_learns_from_the_attempts_that_judge():
    batch, groups, _ = play(agent_turn_tree)
    assert {key: group.returns for key, group in groups.items()} == {
        (5, 0, "asker_0"): (5.0, 10.0),
        (5, 0, "asker_0", 0, "solver_1"): (0.0, 1.0, 4.0),
        (5, 0, "asker_0", 1, "solver_1"): (0.0, 1.0, 4.0),
        (5, 1, "solver_1"): (0.0, 1.0, 4.0),  # after 2, which is carried out
    }
    (ending,) = batch.endings
    assert ending.totals == {"asker_0": 10.0, "solver_1": 5.0}
    assert ending.decisions == 4


def test_alpha_weighs_the_teams_part_of_every_attempt():
    _, groups, _ = play(agent_turn_tree, Quiz(team=True), team_weight=10.0)
    assert groups[5, 1, "solver_1"].returns == (0.0, 11.0, 44.0)  # number + 10 x number


@pytest.mark.parametrize("strategy", [joint_tree, agent_turn_tree])
def test_attempts_of_an_agent_that_does_not_learn_form_no_group(strategy):
    _, groups, _ = play(strategy, trained=["asker_0"])
    assert {key[-1] for key in groups} == {"asker_0"}


def test_the_initial_state_stays():
    for strategy in (joint_tree, agent_turn_tree):
        env = Quiz()
        env.reset(seed=0)
        play(strategy, env)
        assert env.unwrapped.episode == ()
        env.step("1")  # the next tree begins with the attempts
        agent = env.agent_selection
        policy = FakePolicy(lambda r, i: WRITTEN[r.agent][i])
        run_rollouts(
            [strategy(env, 5, trained=AGENTS, group_size=2)], dict.fromkeys(AGENTS, policy)
        )
        assert (agent, env.agent_selection) == ("solver_1", "solver_1")
        assert env.unwrapped.episode == (1.0,)


@pytest.mark.parametrize("name", ["magrpo", "marloo", "ccpo"])
def test_credit_is_within_each_question(name):
    """5 and 10 for the asker; 0, 1, 4 for each question: the mean 5/3, the means of the others 5/2, 2, 1/2."""
    learner = learner_class(name)
    learner = learner(learner.Config(group_size=2, expand=None, weigh_by_reach=False))
    env = Quiz()
    env.reset(seed=0)
    policy = FakePolicy(lambda r, i: WRITTEN[r.agent][i])
    (batch,) = run_rollouts([learner.plan.rollout(env, 5, AGENTS)], dict.fromkeys(AGENTS, policy))
    found = {c.group.key: c.advantages.tolist() for c in learner.compute_advantages(batch.groups)}
    asker = {"magrpo": [-2.5, 2.5]}.get(name, [-5.0, 5.0])
    solver = {"magrpo": [-5 / 3, -2 / 3, 7 / 3]}.get(name, [-2.5, -1.0, 3.5])
    if name == "ccpo":  # group_size - 1 answers drawn again: the next one
        solver = [-1.0, -3.0, 4.0]
    assert found[5, "asker_0"] == pytest.approx(asker)
    assert found[5, 0, "solver_1"] == pytest.approx(solver)
    assert found[5, 1, "solver_1"] == pytest.approx(solver)


def test_the_conformance_kit_checks_what_attempts_promise():
    testing.check_attempts(Quiz, act=one)
    with pytest.raises(testing.ConformanceError, match=r"'solver_1' answers 3 times .* and not 2"):
        testing.check_attempts(lambda: declared(2), act=one)
    with pytest.raises(testing.ConformanceError, match="'solver_1' reads something else"):
        testing.check_attempts(partial(Quiz, tells=True), act=counted)


def declared(count):
    env = Quiz()
    env.metadata["attempts"] = {"solver_1": count}
    return env


def one(env, agent):
    return "1"


def counted(env, agent):
    return str(len(env.unwrapped.episode))


@pytest.mark.parametrize("strategy", [joint_tree, agent_turn_tree])
def test_named_parts_of_attempts_sum_to_their_returns(strategy):
    """The solver is paid its number, and the team, as the parts "number" and "team"; the asker in "sum" and
    "team": 0 + 1 + 4."""
    _, groups, _ = (
        play(strategy, Quiz(team=True), expand=None)
        if strategy is joint_tree
        else play(strategy, Quiz(team=True))
    )
    solved = next(group for key, group in groups.items() if key[-1] == "solver_1")
    assert solved.components["number"].returns == (0.0, 1.0, 4.0)
    assert solved.components["team"].returns == (0.0, 1.0, 4.0)
    asked = groups[min(key for key in groups if key[-1] == "asker_0")]
    assert asked.components["sum"].returns == (5.0, 10.0)
    assert asked.components["team"].returns == (5.0, 5.0)


def test_parts_of_attempts_are_discounted_and_have_greedy_and_counterfactual_answers():
    """Two rounds, gamma 1/2, a question of 1 each. An attempt is paid its number, and later ones count by the
    rule of returns: the parts are as the whole, which is the only part."""
    _, groups, _ = play(
        joint_tree, Quiz(max_turns=2), expand=None, gamma=0.5, with_greedy=True, counterfactuals=1
    )
    for group in groups.values():
        (part,) = group.components.values()
        assert (part.returns, part.greedy, part.counterfactual_returns) == (
            *(group.returns, group.greedy),
            group.counterfactual_returns,
        )
