"""Turns as each agent lived them, and their advantages, by numbers worked out by hand."""

from dataclasses import replace

import pytest
import torch
from pettingzoo import AECEnv, ParallelEnv
from pettingzoo.utils.conversions import parallel_to_aec
from tiny_models import FakePolicy
from toy_envs import Adder, Parity

from llmzoo.learners.updates.turns import (
    AgentTrajectory,
    Turn,
    agent_trajectories,
    explained_variances,
    score_trajectory,
)
from llmzoo.records import Completion, Group
from llmzoo.rollout.episodes import episode_rollout, play_episodes
from llmzoo.rollout.scheduler import run_rollouts
from llmzoo.spaces import FreeText

pytestmark = pytest.mark.usefixtures("float64")

NUMBERS = {("a_0", 0): "1", ("b_1", 0): "2", ("a_0", 1): "3", ("b_1", 1): "4"}


@pytest.fixture
def adder():
    """a_0 writes 1, b_1 2, a_0 3, b_1 4; then a time limit ends it and both are paid 1 more."""

    def write(request, i):
        return NUMBERS[request.agent, int(request.observation.split()[1])]

    (episode,) = play_episodes(lambda: Adder(2), FakePolicy(write), [0])
    return episode


def test_each_agent_is_paid_between_its_own_turns(adder):
    a, b = agent_trajectories([adder], ["a_0", "b_1"])
    assert [turn.reward for turn in a.turns] == [1.0, 3.0 + 1.0]
    assert [turn.reward for turn in b.turns] == [2.0, 4.0 + 1.0]
    assert a.cut_off
    assert b.cut_off
    assert a.final == "a_0 2 1.0 2.0 3.0 4.0"
    assert b.final == "b_1 2 1.0 2.0 3.0 4.0"


def test_gae_over_an_agents_own_turns_and_beyond_a_time_limit(adder):
    a, b = agent_trajectories([adder], ["a_0", "b_1"])
    settings = {"gamma": 0.9, "lam": 0.5, "per_token": False}
    values = [torch.tensor([0.5]), torch.tensor([1.0])]
    first, second = score_trajectory(a, values, 2.0, **settings)
    # second: 4 + 0.9 * 2 - 1; first: (1 + 0.9 * 1 - 0.5) + 0.9 * 0.5 * 4.8
    assert second.advantages.tolist() == pytest.approx([4.8])
    assert first.advantages.tolist() == pytest.approx([1.4 + 0.45 * 4.8])
    assert second.targets.tolist() == pytest.approx([4.8 + 1.0])
    assert first.targets.tolist() == pytest.approx([3.56 + 0.5])
    values = [torch.tensor([0.2]), torch.tensor([0.4])]
    first, second = score_trajectory(b, values, 1.0, **settings)
    # second: 5 + 0.9 * 1 - 0.4; first: (2 + 0.9 * 0.4 - 0.2) + 0.45 * 5.5
    assert second.advantages.tolist() == pytest.approx([5.5])
    assert first.advantages.tolist() == pytest.approx([2.16 + 0.45 * 5.5])
    # where the task itself had ended, nothing would follow: 5 - 0.4
    assert score_trajectory(b, values, 0.0, **settings)[1].advantages.tolist() == pytest.approx(
        [4.6]
    )


def test_one_step_ahead_is_the_temporal_difference(adder):
    a, _ = agent_trajectories([adder], ["a_0", "b_1"])
    values = [torch.tensor([0.5]), torch.tensor([1.0])]
    first, second = score_trajectory(a, values, 2.0, gamma=1.0, lam=0.0, per_token=False)
    assert first.advantages.tolist() == pytest.approx([1 + 1.0 - 0.5])
    assert second.advantages.tolist() == pytest.approx([4 + 2.0 - 1.0])


def test_tokens_carry_a_turns_reward_at_its_end(adder):
    a, _ = agent_trajectories([adder], ["a_0", "b_1"])
    values = [torch.tensor([0.0, 1.0]), torch.tensor([2.0])]
    first, second = score_trajectory(a, values, 3.0, gamma=0.5, lam=1.0, per_token=True)
    # last token: 4 + 0.5 * 3 - 2 = 3.5; before it, across the turn: (1 + 0.5 * 2 - 1) + 0.5 * 3.5
    assert second.advantages.tolist() == [[pytest.approx(3.5)]]
    # and within the turn, with no discount: (0 + 1 - 0) + 2.75
    assert first.advantages.tolist() == [[pytest.approx(3.75), pytest.approx(2.75)]]
    assert first.targets.tolist() == pytest.approx([3.75 + 0.0, 2.75 + 1.0])


def test_an_end_of_the_task_is_no_time_limit():
    (episode,) = play_episodes(Parity, FakePolicy(lambda request, i: "a"), [0])
    (chain,) = agent_trajectories([episode], ["writer_0"])
    assert not chain.cut_off
    assert episode.cut_off == ()


def test_what_no_model_wrote_pays_the_answer_before():
    def write(request, i):
        return NUMBERS[request.agent, int(request.observation.split()[1])]

    class SilentAgent(FakePolicy):
        """Its second answer is a failed call."""

        def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
            answers = super().respond(requests, group_size, greedy=greedy)
            if len(self.calls) > 1:
                return [[Completion(text=c.text) for c in row] for row in answers]
            return answers

    policies = {"a_0": SilentAgent(write), "b_1": FakePolicy(write)}
    (episode,) = play_episodes(lambda: Adder(2), policies, [0])
    a, b = agent_trajectories([episode], ["a_0", "b_1"])
    assert [turn.reward for turn in a.turns] == [1.0 + 4.0]
    assert len(b.turns) == 2


def test_the_global_state_is_recorded_where_it_is_asked_for():
    env = Adder(1)
    env.reset(seed=0)
    agents = dict.fromkeys(["a_0", "b_1"], FakePolicy(lambda request, i: "1"))
    (episode,) = run_rollouts([episode_rollout(env, 0, with_state=True)], agents)
    assert [d.state for d in episode.decisions] == [
        "[a_0]\na_0 0 \n\n[b_1]\nb_1 0 ",
        "[a_0]\na_0 0 1.0\n\n[b_1]\nb_1 0 1.0",
    ]
    assert episode.final_state == "[a_0]\na_0 1 1.0 1.0\n\n[b_1]\nb_1 1 1.0 1.0"


class Market(ParallelEnv):
    """Somebody else's simultaneous game: round r pays a_0 10 + r and b_1 20 + r.

    a_0 is out after round 0; b_1 is cut off after round 2.
    """

    metadata = {"name": "market_v0", "is_parallelizable": True}

    def __init__(self):
        self.possible_agents = ["a_0", "b_1"]
        self.render_mode = None

    def observation_space(self, agent):
        return FreeText(100)

    action_space = observation_space

    def reset(self, seed=None, options=None):
        self.agents, self.round = list(self.possible_agents), 0
        return self._seen(), {a: {} for a in self.agents}

    def step(self, actions):
        assert set(actions) == set(self.agents)
        paid = {a: {"a_0": 10.0, "b_1": 20.0}[a] + self.round for a in self.agents}
        self.round += 1
        over = {a: a == "a_0" for a in self.agents}
        cut = {a: a == "b_1" and self.round == 3 for a in self.agents}
        result = self._seen(), paid, over, cut, {a: {} for a in self.agents}
        self.agents = [a for a in self.agents if not over[a] and not cut[a]]
        return result

    def _seen(self):
        return {a: f"{a} {self.round}" for a in self.agents}


def test_an_agent_that_is_out_early_has_a_chain_of_its_own():
    (episode,) = play_episodes(
        lambda: parallel_to_aec(Market()), FakePolicy(lambda request, i: "hold"), [0]
    )
    a, b = agent_trajectories([episode], ["a_0", "b_1"])
    assert [turn.reward for turn in a.turns] == [10.0]
    assert [turn.reward for turn in b.turns] == [20.0, 21.0, 22.0]
    assert [turn.observation for turn in b.turns] == ["b_1 0", "b_1 1", "b_1 2"]
    assert (a.cut_off, a.final) == (False, "a_0 1")
    assert (b.cut_off, b.final) == (True, "b_1 3")
    assert episode.totals == {"a_0": 10.0, "b_1": 63.0}


class Duel(AECEnv):
    """Somebody else's game in turns: b_1 is paid 5 before it first acts, a_0 7 once it is out.

    a_0 answers and is out, but stays listed until it is next; then b_1 answers, which pays both 7.
    """

    metadata = {"name": "duel_v0", "is_parallelizable": False}

    def __init__(self):
        self.possible_agents = ["a_0", "b_1"]
        self.render_mode = None

    def observation_space(self, agent):
        return FreeText(100)

    action_space = observation_space

    def observe(self, agent):
        return f"{agent} {self.answers}"

    def reset(self, seed=None, options=None):
        self.agents, self.answers = list(self.possible_agents), 0
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict(self.rewards)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {a: {} for a in self.agents}
        self.agent_selection = "a_0"

    def step(self, action):
        if self.terminations[self.agent_selection]:
            self._was_dead_step(action)
            return
        self._cumulative_rewards[self.agent_selection] = 0.0
        self.answers += 1
        if self.answers == 1:
            self.rewards = {"a_0": 0.0, "b_1": 5.0}
            self.terminations["a_0"] = True
        else:
            self.rewards = {"a_0": 7.0, "b_1": 7.0}
            self.terminations["b_1"] = True
        self._accumulate_rewards()
        self.agent_selection = "b_1"


def test_what_is_paid_before_the_first_turn_and_after_the_last():
    """The first counts for no answer, but in the total; the second for the answer before it."""
    (episode,) = play_episodes(Duel, FakePolicy(lambda request, i: "draw"), [0])
    a, b = agent_trajectories([episode], ["a_0", "b_1"])
    assert [turn.reward for turn in a.turns] == [7.0]
    assert [turn.reward for turn in b.turns] == [7.0]
    assert episode.totals == {"a_0": 7.0, "b_1": 12.0}
    assert (a.final, b.final) == ("a_0 1", "b_1 2")


def test_an_agent_that_never_acts_has_no_chain():
    (episode,) = play_episodes(Duel, FakePolicy(lambda request, i: "draw"), [0])
    only = replace(episode, decisions=episode.decisions[:1])
    assert [chain.agent for chain in agent_trajectories([only], ["a_0", "b_1"])] == ["a_0"]


def two_chains(lam):
    """Two episodes of two turns: one is paid 1 at its end, the other nothing."""
    values = ([0.5, 0.9], [0.5, 0.1])  # of the states, which differ at the second turn only
    result = []
    for paid, known in zip((1.0, 0.0), values, strict=True):
        turns = tuple(turn(n, reward) for n, reward in enumerate((0.0, paid)))
        trajectory = AgentTrajectory("a_0", turns, "", "", cut_off=False, timed_task=True)
        each = [torch.tensor([v], dtype=torch.float64) for v in known]
        result += score_trajectory(trajectory, each, 0.0, gamma=1.0, lam=lam, per_token=False)
    return result


def turn(number, reward):
    answer = Completion(text="x", prompt_ids=(1,), ids=(2,), logprobs=(-1.0,))
    group = Group(
        agent="a_0",
        turn=number,
        key=(0, number, "a_0"),
        prompt_ids=(1,),
        completions=(answer,),
        returns=(reward,),
    )
    return Turn(group, "", "", reward)


def test_variance_of_returns_and_of_bootstrapped_targets():
    # the returns are 1, 1, 0, 0, with a variance of 1/4; the errors are 0.5, 0.1, -0.5, -0.1,
    # with one of (0.25 + 0.01) / 2 = 0.13
    foreseen = 1 - 0.13 / 0.25
    # one step ahead the targets are 0.9, 1, 0.1, 0: (0.16 + 0.25) / 2 = 0.205; the errors are
    # 0.4, 0.1, -0.4, -0.1: (0.16 + 0.01) / 2 = 0.085
    assert explained_variances(two_chains(0.0)) == {
        "explained_variance": pytest.approx(foreseen),
        "explained_target_variance": pytest.approx(1 - 0.085 / 0.205),
    }
    # with lambda 1 the targets are the returns
    assert explained_variances(two_chains(1.0)) == {
        "explained_variance": pytest.approx(foreseen),
        "explained_target_variance": pytest.approx(foreseen),
    }


def test_returns_of_tokens_and_beyond_a_time_limit(adder):
    a, _ = agent_trajectories([adder], ["a_0", "b_1"])
    values = [torch.tensor([0.0, 1.0]), torch.tensor([2.0])]
    first, second = score_trajectory(a, values, 3.0, gamma=0.5, lam=0.3, per_token=True)
    # 4 + 0.5 * 3, and before it 1 + 0.5 * 5.5 at both tokens, whatever lambda is
    assert second.returned.tolist() == pytest.approx([5.5])
    assert first.returned.tolist() == pytest.approx([3.75, 3.75])
