from functools import partial

import pytest
from pettingzoo import ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec
from tiny_models import FakePolicy
from toy_envs import Adder, Matcher

import llmzoo
from llmzoo.records import Completion, Decision, Episode
from llmzoo.rollout import play_episodes


def test_rewards_in_turns_are_credited_to_the_action_before_them():
    policy = FakePolicy(lambda r, i: {"a_0": "1", "b_1": "2"}[r.agent])
    (episode,) = play_episodes(partial(Adder, 2), policy, [0])
    assert [(d.agent, d.turn) for d in episode.decisions] == [
        ("a_0", 0),
        ("b_1", 0),
        ("a_0", 1),
        ("b_1", 1),
    ]
    # numbers are paid at once; the team's 0.6 falls after the last action, to both
    assert [d.paid_after for d in episode.decisions] == [
        ((0, 1.0),),
        ((1, 2.0),),
        ((2, 1.0), (3, pytest.approx(0.6))),
        ((3, pytest.approx(2.6)),),
    ]
    assert episode.totals == {"a_0": pytest.approx(2.6), "b_1": pytest.approx(4.6)}
    assert episode.truncated
    assert not episode.terminated
    assert episode.success
    # a_0: 1 + 0.5 * 1.6; b_1: 2 + 0.5 * 2.6
    assert episode.returns(0.5) == pytest.approx((1.8, 3.3, 1.6, 2.6))
    assert episode.returns() == pytest.approx((2.6, 4.6, 1.6, 2.6))


def test_rewards_of_a_simultaneous_round_reach_every_agent():
    policy = FakePolicy(lambda r, i: {"a_0": "2", "b_1": "3"}[r.agent])
    (episode,) = play_episodes(Matcher, policy, [0])
    assert [d.reward for d in episode.decisions] == [8.0, 9.0]  # 2*3 + own
    assert [d.observation for d in episode.decisions] == ["a_0 0", "b_1 0"]


def test_episodes_are_played_in_lockstep():
    policy = FakePolicy(lambda r, i: "1")
    play_episodes(partial(Adder, 2), policy, range(5))
    assert policy.calls == [(5, 1, False)] * 4


def test_numbered_tasks_are_played():
    results = play_episodes(
        partial(llmzoo.make, "sudoku_v0", split="test"),
        llmzoo.policies.load("expert"),
        [7, 8, 9],
        tasks=[3, 4, 3],
    )
    ids = [e.info["task_id"] for e in results]
    assert ids[0] == ids[2] != ids[1]
    assert all(e.success and e.terminated for e in results)


class RockScissors(ParallelEnv):
    """Somebody else's environment: no reward components, no success, its own spaces."""

    metadata = {"name": "rock_scissors_v0"}
    possible_agents = ["player_0", "player_1"]
    render_mode = None

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.rounds = 0
        return dict.fromkeys(self.agents, "choose"), {a: {} for a in self.agents}

    def step(self, actions):
        self.rounds += 1
        sign = {"rock": 1, "scissors": -1}[actions["player_0"]]
        rewards = {"player_0": sign, "player_1": -sign}
        over = dict.fromkeys(self.agents, self.rounds == 2)
        infos = {a: {} for a in self.agents}
        if self.rounds == 2:
            self.agents = []
        return dict.fromkeys(rewards, "again"), rewards, over, dict.fromkeys(rewards, False), infos


def test_third_party_environments_are_played():
    policy = FakePolicy(lambda r, i: "rock" if r.agent == "player_0" else "scissors")
    (episode,) = play_episodes(lambda: parallel_to_aec(RockScissors()), policy, [0])
    assert [d.agent for d in episode.decisions] == ["player_0", "player_1"] * 2
    assert [d.reward for d in episode.decisions] == [1.0, -1.0, 1.0, -1.0]
    assert episode.totals == {"player_0": 2.0, "player_1": -2.0}
    assert not episode.success


def test_returns_discount_by_an_agents_own_turns():
    def decision(agent, turn, reward):
        return Decision(
            agent=agent, turn=turn, observation="", completion=Completion(text=""), reward=reward
        )

    episode = Episode(
        env_id="",
        seed=0,
        decisions=(
            decision("a_0", 0, 1.0),
            decision("b_1", 0, 10.0),
            decision("b_1", 1, 20.0),
            decision("a_0", 1, 4.0),
        ),
        terminated=True,
        truncated=False,
        success=True,
        totals={},
    )
    assert episode.returns(0.5) == (3.0, 20.0, 20.0, 4.0)


def test_the_board_after_each_action_is_recorded():
    sudoku = partial(llmzoo.make, "sudoku_v0", max_turns=1)
    policy = FakePolicy(lambda r, i: r.env.unwrapped.expert(r.agent))
    (episode,) = play_episodes(sudoku, policy, [3])
    env = sudoku()
    env.reset(seed=3)
    boards = []
    for decision in episode.decisions:
        env.step(decision.completion.text)
        boards.append(env.unwrapped.picture().to_dict())
        assert "board" not in env.infos[decision.agent]  # only the record has it
    assert [decision.info["board"] for decision in episode.decisions] == boards
    assert boards[0] != boards[1]
    (episode,) = play_episodes(partial(Adder, 1), FakePolicy(lambda r, i: "1"), [3])
    assert not any("board" in decision.info for decision in episode.decisions)
