"""Numbers of play, worked out by hand."""

from __future__ import annotations

import pytest
from tiny_models import FakePolicy, policy
from toy_envs import Adder, Matcher

from llmzoo.engine.local import LocalEngine
from llmzoo.learners.actor_critic import IPPO
from llmzoo.learners.magrpo import MAGRPO
from llmzoo.models.sampling import Sampling
from llmzoo.records import Batch, Completion, Decision, Episode, EpisodeOutcome, Group
from llmzoo.rollout.scheduler import run_rollouts
from llmzoo.rollout.stepping import RolloutClock
from llmzoo.rollout.turn_trees import agent_turn_tree
from llmzoo.training import metrics


def completion(tokens: int, truncated: bool = False) -> Completion:
    return Completion(
        text="x" * tokens,
        ids=tuple(range(tokens)),
        logprobs=(-1.0,) * tokens,
        truncated=truncated,
    )


def info(error: str | None = None, success: bool | None = None, **parts: float) -> dict:
    result: dict = {"reward_components": parts, "error": error}
    return result if success is None else {**result, "success": success}


def group(agent: str, turn: int, returns: tuple, lengths: tuple, infos: tuple = ()) -> Group:
    return Group(
        agent=agent,
        turn=turn,
        key=(7, turn, agent),
        prompt_ids=(1,),
        completions=tuple(completion(n, truncated=n >= 8) for n in lengths),
        returns=returns,
        infos=infos,
    )


ENDINGS = (
    EpisodeOutcome(seed=7, success=True, totals={"a": 2.0, "b": 1.0}, decisions=2),
    EpisodeOutcome(seed=8, success=False, totals={"a": 0.0, "b": 0.5}, decisions=2),
)


def test_groups_by_hand():
    batch = Batch(
        groups=(
            group(
                "a",
                0,
                (1.0, 0.0, 0.0, 1.0),  # mean 0.5, every one 0.5 away from it
                (2, 4, 6, 8),
                (
                    info(team=1.0, form=0.5),
                    info("no plan", team=0.0),
                    info("no plan", form=0.5),
                    info(success=True, team=1.0, form=1.0),
                ),
            ),
            group("a", 9, (3.0, 3.0), (8, 8), (info(success=False), info(success=True))),
            group("b", 1, (0.25, 0.75), (1, 3)),  # nothing is known of its answers
        ),
        endings=ENDINGS,
    )
    result = metrics.batch_metrics(batch, ["a", "b"])
    agents = result.pop("agents")
    assert result == {
        "success": 0.5,
        "return": {"a": 1.0, "b": 0.75},
        "episodes_failed": 0,
        "groups": 3,
        "completions": 8,
        "completion_tokens": 40 / 8,  # 20 + 16 + 4
        "truncated": 3 / 8,
        "refused": 0,
    }
    turns = agents["a"].pop("turns")
    assert agents["a"] == {
        "return": 8 / 6,  # 2 + 6
        "return_std": 0.25,  # 0.5 and 0
        "flat_groups": 0.5,
        "reward": pytest.approx(4.0 / 6),  # 1.5 + 0 + 0.5 + 2 + 0 + 0
        "reward_components": {"form": pytest.approx(2.0 / 6), "team": pytest.approx(2.0 / 6)},
        "success": 2 / 6,
        "invalid": 2 / 6,
        "completions": 6,
        "completion_tokens": 6.0,
        "truncated": 0.5,
        "refused": 0,
    }
    assert turns == {
        "0": {
            "return": 0.5,
            "return_std": 0.5,
            "flat_groups": 0.0,
            "reward": 1.0,
            "reward_components": {"form": 0.5, "team": 0.5},
            "success": 0.25,
            "invalid": 0.5,
            "completions": 4,
            "completion_tokens": 5.0,
            "truncated": 0.25,
            "refused": 0,
        },
        "later": {
            "return": 3.0,
            "return_std": 0.0,
            "flat_groups": 1.0,
            "reward": 0.0,
            "reward_components": {},
            "success": 0.5,
            "invalid": 0.0,
            "completions": 2,
            "completion_tokens": 8.0,
            "truncated": 1.0,
            "refused": 0,
        },
    }
    of_b = {
        "return": 0.5,
        "return_std": 0.25,
        "flat_groups": 0.0,
        "completions": 2,
        "completion_tokens": 2.0,
        "truncated": 0.0,
        "refused": 0,
    }
    assert agents["b"] == {**of_b, "turns": {"1": of_b}}


def test_turns_from_the_eighth_on_share_their_numbers():
    groups = tuple(group("a", turn, (float(turn),), (1,)) for turn in range(11))
    result = metrics.batch_metrics(Batch(groups=groups), ["a"])["agents"]["a"]["turns"]
    assert list(result) == [*map(str, range(8)), "later"]
    assert result["7"]["return"] == 7.0
    assert result["later"]["return"] == 9.0  # of 8, 9 and 10
    assert result["later"]["completions"] == 3


def test_a_group_of_one_has_no_spread():
    result = metrics.batch_metrics(Batch(groups=(group("a", 0, (1.0,), (1,)),)), ["a"])["agents"][
        "a"
    ]
    assert "return_std" not in result
    assert "flat_groups" not in result


def episode() -> Episode:
    """``a`` acts, ``b`` acts, ``a`` again; ``a`` is paid 1 and then 2, ``b`` 4."""

    def decision(agent, turn, tokens, reward, known):
        return Decision(
            agent=agent,
            turn=turn,
            observation="?",
            completion=completion(tokens, truncated=tokens >= 8),
            reward=reward,
            info=known,
        )

    return Episode(
        env_id="",
        seed=7,
        decisions=(
            decision("a", 0, 3, 1.0, info(team=1.0)),
            decision("b", 0, 8, 4.0, info(team=4.0)),
            decision("a", 1, 5, 2.0, info("late", success=True, team=1.5, form=0.5)),
        ),
        terminated=True,
        truncated=False,
        success=True,
        totals={"a": 3.0, "b": 4.0},
    )


def test_episodes_by_hand_and_only_of_those_that_learn():
    result = metrics.batch_metrics(Batch(episodes=(episode(),), endings=ENDINGS), ["a"])
    agents = result.pop("agents")
    assert result == {
        "success": 0.5,
        "return": {"a": 1.0, "b": 0.75},
        "episodes_failed": 0,
        "groups": 0,
        "completions": 2,
        "completion_tokens": 4.0,
        "truncated": 0.0,
        "refused": 0,
    }
    assert list(agents) == ["a"]
    assert list(agents["a"]["turns"]) == ["0", "1"]
    assert agents["a"]["return"] == 2.5  # 1 + 2 from its first answer on, 2 from its second
    assert agents["a"]["turns"]["0"]["return"] == 3.0
    assert agents["a"]["reward"] == 1.5
    assert agents["a"]["reward_components"] == {"form": 0.25, "team": 1.25}
    assert agents["a"]["success"] == agents["a"]["invalid"] == 0.5


def test_nothing_played_gives_zeros():
    assert metrics.batch_metrics(Batch(), ["a"]) == {
        "success": 0.0,
        "return": {},
        "episodes_failed": 0,
        "groups": 0,
        "completions": 0,
        "completion_tokens": 0.0,
        "truncated": 0.0,
        "refused": 0,
        "agents": {},
    }


def test_parts_of_a_played_tree_sum_to_the_reward():
    """Every answer of ``a`` writes 1, 2 or 3; ``b`` closes the round, and a tenth is the team's."""
    env = Adder()
    env.reset(seed=0)
    writer = FakePolicy(lambda request, i: str(i + 1))
    line = agent_turn_tree(env, 0, group_size=3, trained=["a_0", "b_1"])
    (batch,) = run_rollouts([line], {"a_0": writer, "b_1": writer})
    agents = metrics.batch_metrics(batch, ["a_0", "b_1"])["agents"]
    # a's best answer, 3, goes on; with it b's answers make sums of 4, 5 and 6
    assert agents["a_0"]["reward_components"] == {"number": 2.0}
    assert agents["b_1"]["reward_components"] == {"number": 2.0, "team": pytest.approx(0.5)}
    assert agents["b_1"]["reward"] == agents["b_1"]["return"] == pytest.approx(2.5)
    assert agents["a_0"]["success"] == 0.0  # its answers end nothing
    assert agents["b_1"]["success"] == 1.0  # all three sums reach 3


def engine(learner, group_size: int = 1) -> LocalEngine:
    player = policy(sampling=Sampling(max_new_tokens=2))
    agents = dict.fromkeys(("a_0", "b_1"), player)
    return LocalEngine(learner, {"policy": player}, agents, total_steps=1)


class Lenient(Matcher):
    """Takes any text: its length is the number."""

    def apply(self, state, actions):
        return super().apply(state, {agent: str(len(text)) for agent, text in actions.items()})


def test_both_kinds_of_rollout_have_the_same_names():
    tree, plain = engine(MAGRPO(MAGRPO.Config(group_size=3))), engine(IPPO())
    names = []
    for played in (tree, plain):
        batch = played.collect(Lenient, [1, 2])
        result = metrics.batch_metrics(batch, played.trained_agents)
        agent = result["agents"]["a_0"]
        names.append((set(result), set(agent), set(agent["turns"]["0"])))
    spread = {"return_std", "flat_groups"}
    assert names[0] == (names[1][0], names[1][1] | spread, names[1][2] | spread)


def test_environment_steps_are_counted_in_trees_and_in_episodes():
    def steps(played):
        played.collect(Lenient, [1, 2])
        given = {"tokens": 0, "rollout_seconds": 1.0, "update_seconds": 1.0}
        return metrics.timing_metrics(played.clock, **given)["env_steps"]

    # one round of two agents from two seeds; a tree tries three pairs of answers
    tree = engine(MAGRPO(MAGRPO.Config(group_size=3)))
    assert steps(tree) == 2 * 3 * 2
    assert steps(tree) == 2 * 3 * 2  # of each batch again
    assert steps(engine(IPPO())) == 2 * 2


def test_the_clock_tells_policies_from_environments(monkeypatch):
    now = [0.0]
    monkeypatch.setattr("llmzoo.rollout.stepping.time.monotonic", lambda: now[0])

    class Slow(Adder):
        def apply(self, state, actions):
            now[0] += 10.0
            return super().apply(state, actions)

    def think(request, i):
        now[0] += 1.0
        return str(i)

    env = Slow()
    env.reset(seed=0)
    clock = RolloutClock()
    thinker = FakePolicy(think)
    line = agent_turn_tree(env, 0, group_size=4, trained=["a_0"])
    run_rollouts([line], {"a_0": thinker, "b_1": thinker}, clock=clock)
    # a gives 4 answers, b one after each of them and one more that is carried out; all are stepped
    assert clock == RolloutClock(sampling_seconds=9.0, step_seconds=90.0, answers=9, steps=9)
    assert now[0] == 9.0 + 90.0


def test_time_by_hand():
    result = metrics.timing_metrics(
        RolloutClock(sampling_seconds=3.0, answers=5, steps=8),
        tokens=80,
        rollout_seconds=4.0,
        update_seconds=6.0,
    )
    assert result == {
        "tokens": 80,
        "env_steps": 8,
        "rollout_seconds": 4.0,
        "sampling_seconds": 3.0,
        "stepping_seconds": 1.0,
        "update_seconds": 6.0,
        "tokens_per_second": 8.0,
        "env_steps_per_second": 0.8,
    }
