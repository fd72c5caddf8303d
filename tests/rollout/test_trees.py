"""Tree rollouts on environments whose returns are worked out by hand."""

import gc

import pytest
from tiny_models import FakePolicy
from toy_envs import Adder, Matcher

import llmzoo
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.rollout import agent_turn_tree, joint_tree, run_rollouts

BOTH = ["a_0", "b_1"]
NUMBERS = {"a_0": ["0", "1", "2"], "b_1": ["0", "3", "6"]}


def numbers(greedy="1"):
    return FakePolicy(lambda r, i: greedy if i < 0 else NUMBERS[r.agent][i])


def play(strategy, env, policy, agents=BOTH, **options):
    env.reset(seed=0)
    options.setdefault("trained", BOTH)
    return run_rollouts([strategy(env, 5, **options)], dict.fromkeys(agents, policy))[0]


def by_key(batch):
    return {group.key: group for group in batch.groups}


def test_agent_turn_tree_groups_by_agent_and_turn_and_carries_out_the_best():
    batch = play(agent_turn_tree, Adder(2), numbers(), group_size=3)
    assert [(g.key, g.returns) for g in batch.groups] == [
        ((5, 0, "a_0"), (0.0, 1.0, 2.0)),
        ((5, 1, "b_1"), (0.0, 3.0, 6.0)),
        # then b's first answer, 0, ends the episode, and pays a (8 + a + 0) / 10 too
        ((5, 2, "a_0"), pytest.approx((0.8, 1.9, 3.0))),
        # 10 carried out so far; the last answer b also pays (10 + b) / 10
        ((5, 3, "b_1"), pytest.approx((1.0, 4.3, 7.6))),
    ]
    # all answers of a group saw the same prompt, in which the best earlier ones stand
    seen = ["".join(map(chr, g.prompt_ids)) for g in batch.groups]
    assert seen == ["a_0 0 ", "b_1 0 2.0", "a_0 1 2.0 6.0", "b_1 1 2.0 6.0 2.0"]
    (ending,) = batch.endings
    assert ending.totals == {"a_0": pytest.approx(5.6), "b_1": pytest.approx(13.6)}
    assert (ending.success, ending.decisions) == (True, 4)


@pytest.mark.parametrize("tree", [agent_turn_tree, joint_tree])
def test_a_group_counts_its_agents_own_turns(tree):
    batch = play(tree, Adder(2), numbers(), group_size=3)
    results = {(g.agent, g.turn) for g in batch.groups}
    assert results == {("a_0", 0), ("b_1", 0), ("a_0", 1), ("b_1", 1)}


def test_agent_turn_tree_weighs_the_team_part():
    batch = play(agent_turn_tree, Adder(1), numbers(), group_size=3, team_weight=10.0)
    # b: own number + 10 * (2 + b) / 10
    assert by_key(batch)[5, 1, "b_1"].returns == pytest.approx((2.0, 8.0, 14.0))


@pytest.mark.parametrize("select", ["sample", "random"])
def test_other_selections_are_reproducible_and_do_vary(select):
    firsts = set()
    for seed in range(30):
        env = Adder(1)
        env.reset(seed=0)
        (batch,) = run_rollouts(
            [agent_turn_tree(env, seed, group_size=3, trained=BOTH, select=select)],
            dict.fromkeys(BOTH, numbers()),
        )
        firsts.add("".join(map(chr, batch.groups[1].prompt_ids)))
    assert firsts == {"b_1 0 0.0", "b_1 0 1.0", "b_1 0 2.0"}


def test_agent_turn_tree_in_a_simultaneous_task_pairs_with_the_others_first_answers():
    first = {"a_0": ["2", "1", "0"], "b_1": ["3", "0", "6"]}
    policy = FakePolicy(lambda r, i: first[r.agent][i])
    batch = play(agent_turn_tree, Matcher(), policy, group_size=3)
    # a: 3a + a; b: 2b + b
    assert by_key(batch)[5, 0, "a_0"].returns == (8.0, 4.0, 0.0)
    assert by_key(batch)[5, 0, "b_1"].returns == (9.0, 0.0, 18.0)
    assert batch.endings[0].totals == {"a_0": 14.0, "b_1": 18.0}  # best of each: 2 and 6


def test_joint_tree_align_pairs_the_gth_answers():
    batch = play(joint_tree, Matcher(), numbers(), group_size=3, mode="align")
    # pairs (0,0) (1,3) (2,6): product + own
    assert by_key(batch)[5, "a_0"].returns == (0.0, 4.0, 14.0)
    assert by_key(batch)[5, "b_1"].returns == (0.0, 6.0, 18.0)


def test_joint_tree_cross_averages_over_the_others_answers():
    batch = play(joint_tree, Matcher(), numbers(), group_size=3, mode="cross")
    # mean of b is 3, of a is 1
    assert by_key(batch)[5, "a_0"].returns == pytest.approx((0.0, 4.0, 8.0))
    assert by_key(batch)[5, "b_1"].returns == pytest.approx((0.0, 6.0, 12.0))
    assert len(batch.endings) == 9


def test_a_completion_keeps_the_info_of_its_first_joint_action():
    class Told(Matcher):
        def final_info(self, agent):
            return {**super().final_info(agent), "written": self.episode[-1]}

    batch = play(joint_tree, Told(), numbers(), group_size=3, mode="cross")
    infos = by_key(batch)[5, "a_0"].infos
    assert [info["written"] for info in infos] == [(float(i), 0.0) for i in range(3)]


@pytest.mark.parametrize("strategy", [joint_tree, agent_turn_tree])
def test_an_episode_that_is_over_at_its_start_ends_with_nothing(strategy):
    class Over(Adder):
        def reset(self, seed=None, options=None):
            super().reset(seed, options)
            self.terminations = dict.fromkeys(self.agents, True)

    batch = play(strategy, Over(), numbers(), group_size=2)
    assert batch.groups == ()
    (ending,) = batch.endings
    assert (dict(ending.totals), ending.decisions) == ({"a_0": 0.0, "b_1": 0.0}, 0)


def test_joint_tree_full_returns_are_reward_plus_discounted_mean_of_children():
    batch = play(joint_tree, Matcher(2), numbers(), group_size=3, expand=None, gamma=0.5)
    groups = by_key(batch)
    # every second round is worth the mean of the first: a (0+4+14)/3 = 6, b (0+6+18)/3 = 8
    assert groups[5, "a_0"].returns == pytest.approx((3.0, 7.0, 17.0))
    assert groups[5, "b_1"].returns == pytest.approx((4.0, 10.0, 22.0))
    assert {key for key in groups if len(key) == 3} == {
        (5, g, agent) for g in range(3) for agent in BOTH
    }
    assert len(batch.endings) == 9


def test_joint_tree_in_turns_counts_what_is_paid_later_once():
    batch = play(joint_tree, Adder(1), numbers(), group_size=3, expand=None, gamma=0.5)
    groups = by_key(batch)
    # a's children: mean over b of the team's (a + b) / 10 = (a + 3) / 10, undiscounted,
    # for it is paid before a's next turn
    assert groups[5, "a_0"].returns == pytest.approx((0.3, 1.4, 2.5))
    assert groups[5, 2, "b_1"].returns == pytest.approx((0.2, 3.5, 6.8))


def test_joint_tree_expands_one_child_and_plays_the_others_on():
    batch = play(joint_tree, Adder(2), numbers(), group_size=3, expand=1)
    assert [len(g.key) - 2 for g in sorted(batch.groups, key=lambda g: len(g.key))] == [0, 1, 2, 3]
    root = by_key(batch)[5, "a_0"]
    # what is played on answers "0" each time; only the expanded child has other returns
    played_on = [value for value in root.returns if value in (0.0, 1.1, 2.2)]
    assert len(played_on) == 2


def test_joint_tree_tries_the_greedy_answers_of_all_agents():
    batch = play(joint_tree, Matcher(), numbers(greedy="5"), group_size=2, with_greedy=True)
    assert by_key(batch)[5, "a_0"].greedy == 30.0
    assert by_key(batch)[5, "a_0"].returns == (0.0, 4.0)  # not among the sampled ones
    assert len(batch.endings) == 2


@pytest.mark.parametrize("strategy", [agent_turn_tree, joint_tree])
def test_agents_that_do_not_learn_answer_once_and_form_no_group(strategy):
    env = Adder(1)
    env.reset(seed=0)
    learner, script = numbers(), ScriptedPolicy(lambda r: "1")
    (batch,) = run_rollouts(
        [strategy(env, 5, group_size=3, trained=["b_1"])], {"a_0": script, "b_1": learner}
    )
    assert {g.agent for g in batch.groups} == {"b_1"}
    assert all(len(g.returns) == 3 for g in batch.groups)


def test_the_environment_given_is_left_as_it_was():
    env = Adder(2)
    env.reset(seed=0)
    for strategy in (agent_turn_tree, joint_tree):
        run_rollouts([strategy(env, 5, group_size=2, trained=BOTH)], dict.fromkeys(BOTH, numbers()))
        assert env.episode == ()
        assert env.agent_selection == "a_0"


def test_a_node_that_waits_for_its_children_keeps_no_state():
    """At most one state for each of the joint actions that are played on, however long the episode is."""
    alive = []

    def count_states(request, i):
        gc.collect()
        alive.append(sum(isinstance(one, Matcher) for one in gc.get_objects()))
        return "1"

    env = Matcher(max_turns=6)
    env.reset(seed=0)
    policy = FakePolicy(count_states)
    run_rollouts([joint_tree(env, 0, group_size=3, trained=[])], {"a_0": policy, "b_1": policy})
    run_rollouts(
        [joint_tree(env, 0, group_size=3, trained=["a_0"])], {"a_0": policy, "b_1": policy}
    )
    # the first state, which the test holds; six nodes were expanded, and two others of each go on
    assert max(alive) <= 1 + 3 + 2 * 5


@pytest.mark.parametrize("tree", [agent_turn_tree, joint_tree])
def test_each_completion_of_a_group_has_the_board_that_it_led_to(tree):
    env = llmzoo.make("sudoku_v0", max_turns=1, num_agents=1)
    agents = env.possible_agents
    policy = FakePolicy(lambda r, i: ["no plan", r.env.unwrapped.expert(r.agent)][max(i, 0)])
    batch = play(tree, env, policy, agents, trained=agents, group_size=2)
    (group,) = batch.groups
    env.reset(seed=0)
    before = env.unwrapped.picture().to_dict()
    env.step(group.completions[1].text)
    after = env.unwrapped.picture().to_dict()
    assert [info["board"] for info in group.infos] == [before, after]
