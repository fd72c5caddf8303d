"""Rollouts, training and evaluation on remote environments: the same decisions, in few calls."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import replace
from functools import partial

import pytest
from env_servers import hosted, registered
from quick_cases import slow_but
from toy_envs import Adder, Matcher
from waiting import until

import llmzoo
from llmzoo.engine.base import iteration_seeds
from llmzoo.envs.base import FastOrderEnforcingWrapper
from llmzoo.envs.forking import fork
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.records import Completion
from llmzoo.rollout import agent_turn_tree, joint_tree, play_episodes
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import rollout_keys, run_rollouts
from llmzoo.rollout.stepping import (
    RolloutClock,
    StepRequest,
    get_remote_host,
    step_each,
    step_joint_action,
)
from llmzoo.training import fit

SEEDS = [7, 3, 7, 11, 5]


@pytest.fixture(scope="module")
def server():
    toys = {"adder_v0": InTurns, "matcher_v0": Together, "slow_v0": Slow}
    with registered(**toys), hosted(players=True, workers=4) as running:
        yield running


class InTurns(Adder):
    def __init__(self, max_turns: int = 2):
        super().__init__(max_turns=max_turns)


class Together(Matcher):
    def __init__(self, max_turns: int = 2):
        super().__init__(max_turns=max_turns)


class Slow(Together):
    """Its steps are worth a thread. With a ``barrier``, they wait there for each other."""

    metadata = {**Matcher.metadata, "slow_step": True}
    barrier: threading.Barrier | None = None
    lock = threading.Lock()
    now = most = 0

    def apply(self, state, actions):
        with self.lock:
            Slow.now += 1
            Slow.most = max(Slow.most, Slow.now)
        if self.barrier is None:
            time.sleep(0.004)
        else:
            self.barrier.wait(30)
        with self.lock:
            Slow.now -= 1
        return super().apply(state, actions)


class Keyed:
    """Answers with digits made of the request's noise; notes what it was asked."""

    name, prompt_style = "keyed", None

    def __init__(self):
        self.asked = []

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        self.asked.append([(r.agent, r.observation, r.noise) for r in requests])
        return [
            [
                Completion(text=str((r.noise // 7 ** (i + 2)) % 5), ids=(i,))
                for i in range(group_size)
            ]
            for r in requests
        ]


class EarlyKeyed(Keyed):
    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        answers = super().respond(requests, group_size, greedy=greedy)
        for index in reversed(range(len(answers))):
            if on_complete is not None:
                on_complete(index, answers[index])
        return answers


BOTH = ["a_0", "b_1"]
ROLLOUTS = {
    "episodes": partial(episode_rollout, with_state=True),
    "agent_turn_tree": partial(agent_turn_tree, group_size=3, trained=BOTH, select="sample"),
    "one_trained": partial(agent_turn_tree, group_size=3, trained=["b_1"]),
    "joint_tree": partial(joint_tree, group_size=2, trained=BOTH, expand=1, with_greedy=True),
    "cross": partial(joint_tree, group_size=2, trained=BOTH, mode="cross", expand=None),
}


def play(make, line, seeds=SEEDS, player=None, **how):
    player = player or Keyed()
    envs = [make() for _ in seeds]
    for env, seed in zip(envs, seeds, strict=True):
        env.reset(seed=seed)
    lines = [line(env, seed) for env, seed in zip(envs, seeds, strict=True)]
    agents = dict.fromkeys(envs[0].possible_agents, player)
    return run_rollouts(lines, agents, keys=rollout_keys(seeds), **how), player.asked


@pytest.mark.parametrize(
    ("rollout", "id"),
    slow_but(
        [("episodes", "adder_v0"), ("agent_turn_tree", "matcher_v0"), ("joint_tree", "slow_v0")],
        [
            *((rollout, "adder_v0") for rollout in ROLLOUTS),
            *((rollout, "matcher_v0") for rollout in ROLLOUTS if rollout != "episodes"),
            *(("episodes", "slow_v0"), ("joint_tree", "slow_v0")),
        ],
    ),
)
def test_the_same_decisions_as_here_however_it_is_played(server, rollout, id):
    line = ROLLOUTS[rollout]
    here, asked_here = play(partial(llmzoo.make, id), line)
    there, asked = play(partial(server.make, id), line)
    assert there == here
    assert asked == asked_here  # in the same calls of the policy, too
    for how in (
        {"early": True, "player": EarlyKeyed()},
        {"cohorts": 2},
        {"cohorts": 3, "early": True, "workers": 1},
    ):
        there, _ = play(partial(server.make, id), line, **how)
        assert there == here, how


# Calls


def test_a_round_of_64_episodes_is_one_call(server):
    seeds = list(range(64))
    made = partial(server.make, "adder_v0", max_turns=3)
    with server.calls() as calls:
        played, asked = play(made, episode_rollout, seeds)
    assert len(asked) == 6  # three rounds of two agents in turn
    assert calls == [64] * 7  # one for all resets
    assert sum(len(episode.decisions) for episode in played) == 6 * 64


def test_rounds_of_simultaneous_agents_too(server):
    with server.calls() as calls:
        play(partial(server.make, "matcher_v0", max_turns=3), episode_rollout, list(range(64)))
    assert calls == [64] * 4


@pytest.mark.parametrize(
    ("id", "line", "most"),
    [
        # K forks and K steps of each environment, for either agent; and for the continuations of
        # the first one's answers
        ("adder_v0", "agent_turn_tree", [64, 384, 384, 384]),
        # each agent's answers are tried beside the first of the other, then the chosen are made
        ("matcher_v0", "agent_turn_tree", [64, 384, 384, 128]),
        ("matcher_v0", "joint_tree", [64, 384]),  # two joint answers and a greedy one
        ("matcher_v0", "cross", [64, 512]),
    ],
)
def test_a_turn_of_a_tree_is_one_call_with_its_forks(server, id, line, most):
    made = partial(server.make, id, max_turns=1)
    with server.calls() as calls:
        play(made, ROLLOUTS[line], list(range(64)))
    assert calls == most


def test_cohorts_have_a_call_each_which_is_made_while_the_other_is_answered(server):
    class Watching(Keyed):
        """Answers only once the steps of the other cohort have been asked for."""

        def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
            # the resets, and the steps after each earlier answer
            assert until(lambda: len(calls) == 1 + len(self.asked))
            return super().respond(requests, group_size, greedy=greedy)

    made = partial(server.make, "matcher_v0", max_turns=2)
    with server.calls() as calls:
        play(made, episode_rollout, list(range(8)), Watching(), cohorts=2)
    assert calls == [8, 4, 4, 4, 4]


def test_slow_steps_of_a_call_are_made_side_by_side(server, monkeypatch):
    """Four at a time, as many as the server's workers: no step ends before three others began."""
    monkeypatch.setattr(Slow, "barrier", threading.Barrier(4))
    monkeypatch.setattr(Slow, "most", 0)
    with server.calls() as calls:
        play(partial(server.make, "slow_v0", max_turns=1), episode_rollout, list(range(12)))
    assert calls == [12, 12]
    assert Slow.most == 4


def test_the_clock_counts_steps_that_were_made_elsewhere(server):
    clock = RolloutClock()
    play(partial(server.make, "slow_v0"), episode_rollout, clock=clock)
    assert clock.steps == 2 * 2 * len(SEEDS)
    assert clock.step_seconds > 0.008


def test_experts_of_all_environments_are_asked_in_one_call(server):
    with server.calls() as calls:
        there = llmzoo.evaluate(server.at("sokoban_v0"), "expert", tasks=64)
    here = llmzoo.evaluate("sokoban_v0", "expert", tasks=64)
    assert replace(there, env="", seconds=0) == replace(here, env="", seconds=0)
    assert there.success == 1.0
    # a reset to count tasks, all resets; then for each of two turns the experts and the steps
    assert calls == [1, 64, 64, 64, 64, 64]


def test_a_central_critics_states_are_read_in_one_call(server):
    line = partial(episode_rollout, with_state=True)
    with server.calls() as calls:
        play(partial(server.make, "adder_v0", max_turns=1), line, list(range(32)))
    # resets; for each of two turns the states before, the steps, and the states after, which are
    # those before the next turn
    assert calls == [32, 32, 32, 32, 32, 32]


def test_two_servers_have_a_call_each(server):
    with hosted(envs=["matcher_v0"]) as other:
        made = iter([server, other, other, server])
        with server.calls() as first, other.calls() as second:
            there, _ = play(lambda: next(made).make("matcher_v0"), episode_rollout, [1, 2, 3, 4])
        assert first == second == [2, 2, 2]
    here, _ = play(partial(llmzoo.make, "matcher_v0"), episode_rollout, [1, 2, 3, 4])
    assert there == here


def test_what_changes_steps_keeps_them_here(server):
    class Louder(FastOrderEnforcingWrapper):
        def step(self, action):
            super().step(None if action is None else f"{action}0")

    env = server.make("adder_v0")
    assert get_remote_host(StepRequest(env, ("1",))) is env.unwrapped.host
    assert get_remote_host(StepRequest(env.unwrapped, ("1",), step_each)) is env.unwrapped.host
    assert get_remote_host(StepRequest(env, ("1",), lambda env, texts: None)) is None
    assert get_remote_host(StepRequest(Louder(env), ("1",), step_joint_action)) is None
    assert get_remote_host(StepRequest(llmzoo.make("adder_v0"), ("1",))) is None
    here, _ = play(lambda: Louder(llmzoo.make("adder_v0")), episode_rollout)
    there, _ = play(lambda: Louder(server.make("adder_v0")), episode_rollout)
    assert there == here
    plain, _ = play(partial(llmzoo.make, "adder_v0"), episode_rollout)
    assert plain != here


def test_an_act_that_fails_ends_the_run_and_the_others_have_been_made(server):
    envs = [server.make("adder_v0") for _ in range(3)]
    for env in envs:
        env.reset(seed=1)
    acts = [StepRequest(env, (text,)) for env, text in zip(envs, ("1", "one", "2"), strict=True)]
    with pytest.raises(ValueError, match="could not convert string to float: 'one'"):
        envs[0].unwrapped.host.step_all(acts)
    assert [env.agent_selection for env in envs] == ["b_1", "a_0", "b_1"]
    bad = ScriptedPolicy(lambda request: "one" if request.seed == 3 else "1")
    with pytest.raises(ValueError, match="could not convert"):
        play_episodes(partial(server.make, "adder_v0"), bad, SEEDS)


def test_a_fork_is_made_before_its_original_goes_on(server):
    env = server.make("adder_v0")
    env.reset(seed=1)
    env.step("1")
    early = fork(env)
    env.step("2")
    late = fork(env)
    with server.calls() as calls:
        seen = [e.observe("a_0").split()[2:] for e in (env, early, late)]
    assert seen == [["1.0", "2.0"], ["1.0"], ["1.0", "2.0"]]
    # the last step with its fork; what each fork of a noted step has come to; and what an agent of
    # the early one reads whose turn it is not
    assert calls == [2, 1, 1, 1]


# Training and evaluation


def rows(folder):
    """What a run has measured, but for times and addresses."""
    lines = (folder / "metrics.jsonl").read_text().splitlines()
    times = ("seconds", "per_second", "_share", "env", "time")
    return [
        {k: v for k, v in json.loads(line).items() if not any(part in k for part in times)}
        for line in lines
    ]


@pytest.mark.slow
def test_at_grpo_learns_the_same_from_afar(server, tmp_path):
    """The embedded model, two iterations: every loss, reward and weight."""
    settings = {"steps": 2, "episodes_per_step": 2, "eval_tasks": 4, "seed": 3, "quiet": True}
    settings["env_args"] = {"max_turns": 1}
    made = {}
    for name, env in (("here", "sudoku_v0"), ("there", server.at("sudoku_v0"))):
        made[name] = fit("at_grpo", env, out=tmp_path / name, **settings)
    assert rows(tmp_path / "there") == rows(tmp_path / "here")
    newest = "checkpoints/step_000002/policy/model.safetensors"
    assert (tmp_path / "there" / newest).read_bytes() == (tmp_path / "here" / newest).read_bytes()
    for part in ("success", "mean_return", "tokens", "greedy"):
        assert made["there"].after[part] == made["here"].after[part]
    assert iteration_seeds(3, 0, models=1, envs=2).seeds  # the seeds are those of the run


@pytest.mark.slow
def test_demonstrations_of_the_scripted_expert_come_from_afar(server, tmp_path):
    settings = {"steps": 1, "episodes_per_step": 2, "eval_tasks": 2, "seed": 1, "quiet": True}
    settings |= {"learner_args": {"source": "expert"}, "env_args": {"max_turns": 1}}
    for name, env in (("here", "sudoku_v0"), ("there", server.at("sudoku_v0"))):
        fit("sft", env, out=tmp_path / name, **settings)
    assert rows(tmp_path / "there") == rows(tmp_path / "here")


@pytest.mark.parametrize(
    ("id", "policy"),
    [
        *(("plan_path_v0", "random"), ("coop_functions_v0", "noisy_expert")),
        pytest.param("plan_path_v0", "tiny", marks=pytest.mark.slow),
    ],
)
def test_evaluations_are_the_same(server, id, policy):
    results = [
        llmzoo.evaluate(env, policy, tasks=4, seed=2, env_args={"max_turns": 2})
        for env in (id, server.at(id))
    ]
    here, there = (replace(one, env="", seconds=0.0) for one in results)
    assert there == here
