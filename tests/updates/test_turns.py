"""Turns as each agent lived them, and their advantages, by numbers worked out by hand."""

import pytest
import torch
from tiny_models import FakePolicy
from toy_envs import Adder, Parity

from llmzoo.records import Completion
from llmzoo.rollout.episodes import episodes, play_episode
from llmzoo.rollout.scheduler import run
from llmzoo.updates.turns import chains, valued

NUMBERS = {("a_0", 0): "1", ("b_1", 0): "2", ("a_0", 1): "3", ("b_1", 1): "4"}


@pytest.fixture
def adder():
    """a_0 writes 1, b_1 2, a_0 3, b_1 4; then a time limit ends it and both are paid 1 more."""

    def write(request, i):
        return NUMBERS[request.agent, int(request.observation.split()[1])]

    (episode,) = episodes(lambda: Adder(2), FakePolicy(write), [0])
    return episode


def test_each_agent_is_paid_between_its_own_turns(adder):
    a, b = chains([adder], ["a_0", "b_1"])
    assert [turn.reward for turn in a.turns] == [1.0, 3.0 + 1.0]
    assert [turn.reward for turn in b.turns] == [2.0, 4.0 + 1.0]
    assert a.cut_off
    assert b.cut_off
    assert a.final == "a_0 2 1.0 2.0 3.0 4.0"
    assert b.final == "b_1 2 1.0 2.0 3.0 4.0"


def test_gae_over_an_agents_own_turns_and_beyond_a_time_limit(adder):
    a, b = chains([adder], ["a_0", "b_1"])
    settings = {"gamma": 0.9, "lam": 0.5, "per_token": False}
    values = [torch.tensor([0.5]), torch.tensor([1.0])]
    first, second = valued(a, values, 2.0, **settings)
    # second: 4 + 0.9 * 2 - 1; first: (1 + 0.9 * 1 - 0.5) + 0.9 * 0.5 * 4.8
    assert second.advantages.tolist() == pytest.approx([4.8])
    assert first.advantages.tolist() == pytest.approx([1.4 + 0.45 * 4.8])
    assert second.targets.tolist() == pytest.approx([4.8 + 1.0])
    assert first.targets.tolist() == pytest.approx([3.56 + 0.5])
    values = [torch.tensor([0.2]), torch.tensor([0.4])]
    first, second = valued(b, values, 1.0, **settings)
    # second: 5 + 0.9 * 1 - 0.4; first: (2 + 0.9 * 0.4 - 0.2) + 0.45 * 5.5
    assert second.advantages.tolist() == pytest.approx([5.5])
    assert first.advantages.tolist() == pytest.approx([2.16 + 0.45 * 5.5])
    # where the task itself had ended, nothing would follow: 5 - 0.4
    assert valued(b, values, 0.0, **settings)[1].advantages.tolist() == pytest.approx([4.6])


def test_one_step_ahead_is_the_temporal_difference(adder):
    a, _ = chains([adder], ["a_0", "b_1"])
    values = [torch.tensor([0.5]), torch.tensor([1.0])]
    first, second = valued(a, values, 2.0, gamma=1.0, lam=0.0, per_token=False)
    assert first.advantages.tolist() == pytest.approx([1 + 1.0 - 0.5])
    assert second.advantages.tolist() == pytest.approx([4 + 2.0 - 1.0])


def test_tokens_carry_a_turns_reward_at_its_end(adder):
    a, _ = chains([adder], ["a_0", "b_1"])
    values = [torch.tensor([0.0, 1.0]), torch.tensor([2.0])]
    first, second = valued(a, values, 3.0, gamma=0.5, lam=1.0, per_token=True)
    # last token: 4 + 0.5 * 3 - 2 = 3.5; before it, across the turn: (1 + 0.5 * 2 - 1) + 0.5 * 3.5
    assert second.advantages.tolist() == [[pytest.approx(3.5)]]
    # and within the turn, with no discount: (0 + 1 - 0) + 2.75
    assert first.advantages.tolist() == [[pytest.approx(3.75), pytest.approx(2.75)]]
    assert first.targets.tolist() == pytest.approx([3.75 + 0.0, 2.75 + 1.0])


def test_an_end_of_the_task_is_no_time_limit():
    (episode,) = episodes(Parity, FakePolicy(lambda request, i: "a"), [0])
    (chain,) = chains([episode], ["writer_0"])
    assert not chain.cut_off
    assert episode.cut_off == ()


def test_what_no_model_wrote_pays_the_answer_before():
    def write(request, i):
        return NUMBERS[request.agent, int(request.observation.split()[1])]

    class Silent(FakePolicy):
        """Its second answer is a failed call."""

        def respond(self, requests, k=1, *, greedy=False):
            answers = super().respond(requests, k, greedy=greedy)
            if len(self.calls) > 1:
                return [[Completion(text=c.text) for c in row] for row in answers]
            return answers

    policies = {"a_0": Silent(write), "b_1": FakePolicy(write)}
    (episode,) = episodes(lambda: Adder(2), policies, [0])
    a, b = chains([episode], ["a_0", "b_1"])
    assert [turn.reward for turn in a.turns] == [1.0 + 4.0]
    assert len(b.turns) == 2


def test_the_global_state_is_recorded_where_it_is_asked_for():
    env = Adder(1)
    env.reset(seed=0)
    seats = dict.fromkeys(["a_0", "b_1"], FakePolicy(lambda request, i: "1"))
    (episode,) = run([play_episode(env, 0, with_state=True)], seats)
    assert [d.state for d in episode.decisions] == [
        "[a_0]\na_0 0 \n\n[b_1]\nb_1 0 ",
        "[a_0]\na_0 0 1.0\n\n[b_1]\nb_1 0 1.0",
    ]
    assert episode.final_state == "[a_0]\na_0 1 1.0 1.0\n\n[b_1]\nb_1 1 1.0 1.0"
