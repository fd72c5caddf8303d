"""A judge, a tool or an endpoint that fails: nothing is learned from the episode, and it is counted."""

from __future__ import annotations

import math
from dataclasses import dataclass

import pytest

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ServiceError
from llmzoo.policies.base import Policy
from llmzoo.records import Batch, Completion, Group, wire
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import run_rollouts
from llmzoo.rollout.trees import joint_tree
from llmzoo.rollout.turn_trees import agent_turn_tree
from llmzoo.training import faults, metrics


class Judged(TextEnv):
    """Pays an answer its number; the judge fails for "down"."""

    metadata = {**TextEnv.metadata, "delayed_reward_agents": []}

    def __init__(self, turns: int = 1):
        super().__init__(["a"], max_turns=turns)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return "number"

    def apply(self, state, actions):
        (text,) = actions.values()
        if text == "down":
            raise ServiceError("the judge is down")
        return state, Outcome(team=float(text))


@dataclass
class Written(Policy):
    """Answers with these texts, in turn; "lost" is a failed call."""

    texts: tuple[str, ...]

    def respond(self, requests, group_size=1, *, greedy=False, **_):
        return [
            [self._said(self.texts[k % len(self.texts)]) for k in range(group_size)]
            for _ in requests
        ]

    @staticmethod
    def _said(text):
        if text == "lost":
            return Completion(text="0", failure="status 503")
        return Completion(text=text, ids=(1,), logprobs=(0.0,))


def played(rollout_of, *texts, turns=1):
    env = Judged(turns)
    env.reset(seed=0)
    (batch,) = run_rollouts([rollout_of(env)], {"a": Written(texts)}, keys=[0])
    return batch


def joint(env):
    return joint_tree(env, 0, group_size=3, trained=["a"])


def by_turns(env):
    return agent_turn_tree(env, 0, group_size=3, trained=["a"], select="random")


def test_a_failed_service_ends_the_episode_with_its_reason_and_no_reward():
    env = Judged(turns=3)
    env.reset(seed=0)
    env.step("down")
    assert env.terminations == {"a": True}
    assert env.rewards == {"a": 0.0}
    assert env.infos["a"]["failure"] == "the judge is down"
    assert env.infos["a"]["success"] is False
    env.reset(seed=1)
    assert "failure" not in env.infos["a"]


@pytest.mark.parametrize("tree", [joint, by_turns])
@pytest.mark.parametrize("bad", ["down", "lost"])
def test_trees_learn_from_the_answers_that_were_judged(tree, bad):
    batch = played(tree, "1", bad, "2")
    (group,) = batch.groups
    assert [c.text for c in group.completions] == ["1", "2"]
    assert group.returns == (1.0, 2.0)  # no 0 for the answer that nobody judged


@pytest.mark.parametrize("tree", [joint, by_turns])
def test_a_group_of_failures_is_left_out(tree):
    batch = played(tree, "down")
    assert batch.groups == batch.endings == ()
    assert set(batch.failures) == {"the judge is down"}


def test_a_failure_later_on_spoils_the_answers_before_it():
    env = Judged(turns=2)
    env.reset(seed=0)
    policy = Written(("1", "2", "3"))
    policy.respond = lambda requests, group_size=1, **_: [
        [Written._said(text) for text in (("1", "2", "3") if group_size > 1 else ("down",))]
        for _ in requests
    ]
    (batch,) = run_rollouts(
        [joint_tree(env, 0, group_size=3, trained=["a"])], {"a": policy}, keys=[0]
    )
    # one child is expanded with readable answers, the two others play on with one that fails
    assert [len(group.completions) for group in batch.groups if group.turn == 0] == [1]
    assert len(batch.failures) == 2


def test_plain_episodes_say_why_and_are_left_out():
    env = Judged()
    env.reset(seed=0)
    (episode,) = run_rollouts([episode_rollout(env, 0)], {"a": Written(("down",))}, keys=[0])
    assert episode.failure == "the judge is down"
    assert Batch.from_episode(episode) == Batch(failures=("the judge is down",))


def test_failures_are_counted_and_travel_between_processes():
    batch = Batch.concatenate([played(joint, "1", "down", "2"), played(joint, "1")])
    row = metrics.batch_metrics(batch, ["a"])
    assert row["episodes_failed"] == 1
    assert row["return"] == {"a": pytest.approx((1 + 2 + 3 * 1) / 5)}
    assert wire.load(wire.dump(batch)).failures == ("the judge is down",)


def test_a_run_in_which_all_fails_stops_with_the_reason():
    batch = played(joint, "down")
    with pytest.raises(
        ServiceError, match=r"iteration 4: all 3 episodes failed.*the judge is down"
    ):
        faults.check_batch(batch, {}, {}, step=4)


def test_a_group_keeps_what_is_known():
    said = tuple(Completion(text=text) for text in "abc")
    group = Group(
        agent="a", turn=0, key=(), prompt_ids=(), completions=said, returns=(1.0, math.nan, 3.0)
    )
    assert group.without_unknown_returns().returns == (1.0, 3.0)
    assert group.select([0]).without_unknown_returns() == group.select([0])
    assert group.select([1]).without_unknown_returns() is None
