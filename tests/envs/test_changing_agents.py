"""Agents that leave and join during an episode, in both forms, in rollouts and in trees."""

from __future__ import annotations

import pytest
from tiny_models import FakePolicy

from llmzoo import testing
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.parallel_forms import to_parallel
from llmzoo.rollout import agent_turn_tree, joint_tree, play_episodes, run_rollouts
from llmzoo.rollout.stepping import latest_infos

AGENTS = ["a_0", "b_1", "c_2", "d_3"]


class Auction(TextEnv):
    """Every round the lowest bid leaves; ``d_3`` comes in after the first round. The last agent is paid 1.

    The state: the bids of each round.
    """

    metadata = {**TextEnv.metadata, "name": "auction_v0", "delayed_reward_agents": AGENTS}

    def __init__(self, simultaneous=True, max_turns=9):
        super().__init__(list(AGENTS), simultaneous=simultaneous, max_turns=max_turns)
        self.starting_agents = AGENTS[:3]

    def reset_task(self, rng, task):
        return ((),)

    def observation(self, state, agent):
        return f"{agent}: {len(state)} {' '.join(f'{a}={n}' for a, n in state[-1])}"

    def apply(self, state, actions):
        bids = (*state[-1], *((agent, self._bid(text)) for agent, text in actions.items()))
        if len(bids) < len(self.agents):
            return (*state[:-1], bids), Outcome()
        lowest = min(bids, key=lambda bid: bid[1])[0]
        joined = ("d_3",) if len(state) == 1 else ()
        (*_, winner) = rest = [a for a in self.agents if a != lowest]
        won = len(rest) == 1 and not joined
        local = {winner: {"won": 1.0}} if won else {}
        return (*state, ()), Outcome(local=local, agents=(*rest, *joined), done=won, success=won)

    @staticmethod
    def _bid(text):
        return int(text) if text.isascii() and text.isdigit() and len(text) < 9 else 0


class Turns(Auction):
    def __init__(self):
        super().__init__(simultaneous=False)


BIDS = {"a_0": "3", "b_1": "1", "c_2": "4", "d_3": "2"}


def walk(env):
    """Who acts, and with what reward each agent leaves."""
    acted, left = [], {}
    for agent in env.agent_iter():
        _, reward, terminated, truncated, info = env.last()
        if terminated or truncated:
            left[agent] = (reward, info.get("success"))
            env.step(None)
        else:
            acted.append(agent)
            env.step(BIDS[agent])
    return acted, left


@pytest.mark.parametrize("form", [Auction, Turns])
def test_the_lowest_leaves_and_another_comes_in(form):
    env = form()
    env.reset(seed=0)
    assert env.agents == ["a_0", "b_1", "c_2"]
    acted, left = walk(env)
    # b leaves, d comes in; d leaves; a leaves, c is paid
    assert acted == ["a_0", "b_1", "c_2", "a_0", "c_2", "d_3", "a_0", "c_2"]
    assert left == {
        "b_1": (0.0, False),
        "d_3": (0.0, False),
        "a_0": (0.0, True),
        "c_2": (1.0, True),
    }
    assert env.agents == []
    assert env.turn == 2  # complete rounds; the last one ended the episode


@pytest.mark.parametrize("form", [Auction, Turns])
def test_pettingzoos_tests_seeds_forks_and_hostile_text(form):
    testing.check_env(form, cycles=20)
    testing.check_seeds(form)
    testing.check_rewards(form)
    testing.check_fork(form)
    testing.check_hostile_text(form, testing.hostile_texts(30))


def test_the_parallel_form_has_the_agents_of_the_moment():
    env = to_parallel(Auction())
    env.reset(seed=0)
    seen = [list(env.agents)]
    while env.agents:
        _, rewards, terminations, _, _ = env.step({agent: BIDS[agent] for agent in env.agents})
        seen.append(list(env.agents))
    assert seen == [["a_0", "b_1", "c_2"], ["a_0", "c_2", "d_3"], ["a_0", "c_2"], []]
    assert (rewards["c_2"], terminations["c_2"]) == (1.0, True)


@pytest.mark.parametrize("form", [Auction, Turns])
def test_a_fork_goes_on_with_the_agents_that_are_left(form):
    env = form()
    env.reset(seed=0)
    for _ in range(3):
        env.step(BIDS[env.agent_selection])
    assert (env.agent_selection, env.terminations["b_1"]) == ("b_1", True)
    fork = env.fork()
    assert walk(fork) == walk(env)


def test_infos_of_agents_that_have_left():
    env = Auction()
    env.reset(seed=0)
    for _ in range(3):
        env.step(BIDS[env.agent_selection])
    fork = env.fork()
    left = env.infos["b_1"]
    env.step(None)
    assert "b_1" not in env.infos
    assert env.last_infos == {"b_1": left}
    assert latest_infos(env) == {**env.infos, "b_1": left}
    assert fork.last_infos == {}
    env.reset(seed=0)
    assert env.last_infos == {}


@pytest.mark.parametrize("form", [Auction, Turns])
def test_episodes_and_trees_play_it(form):
    policy = FakePolicy(lambda request, i: str(int(BIDS[request.agent]) * 10 + max(i, 0)))
    (episode,) = play_episodes(form, dict.fromkeys(AGENTS, policy), [0])
    assert episode.totals == {"a_0": 0.0, "b_1": 0.0, "c_2": 1.0, "d_3": 0.0}
    assert episode.success
    for tree in (joint_tree, agent_turn_tree):
        env = form()
        env.reset(seed=0)
        rollout = tree(env, 0, group_size=2, trained=AGENTS)
        (batch,) = run_rollouts([rollout], dict.fromkeys(AGENTS, policy))
        turns = {
            agent: sorted(g.turn for g in batch.groups if g.agent == agent) for agent in AGENTS
        }
        assert turns == {"a_0": [0, 1, 2], "b_1": [0], "c_2": [0, 1, 2], "d_3": [0]}
        last = next(g for g in batch.groups if g.agent == "c_2" and g.turn == 2)
        assert last.returns == (1.0, 1.0)
