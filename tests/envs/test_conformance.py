"""Every registered environment keeps the promises of the design, in each of its main forms."""

from __future__ import annotations

import importlib
import random
import warnings
from functools import partial
from typing import Any

import pettingzoo
import pytest
from pettingzoo.test.render_test import render_test

import llmzoo
from llmzoo import testing
from llmzoo.errors import ConfigError, FallbackWarning

GAMES = list(llmzoo.list_envs("games"))
BUILDING = list(llmzoo.list_envs("building"))
DUELS = list(llmzoo.list_envs("duels"))

ALONE = {"num_agents": 1, "prompt": "terse"}
COOPERATIVE = {"reward": "cooperative"}
# forms beside the default one: each has prompts, agents or rewards of its own. Environments that differ
# from another one in their tasks alone have none.
OTHER_FORMS: dict[str, list[dict[str, Any]]] = {
    **{id: [ALONE, {"view": "split", "prompt": "terse"}] for id in GAMES},
    **{id: [ALONE, {"level": "hard"}] for id in BUILDING},
    **{id: [{"prompt": "terse"}] for id in DUELS},
    "liars_dice_v0": [{"prompt": "terse", "faces": 2}],
    "debate_v0": [
        {**COOPERATIVE, "per_side": 2},
        {**COOPERATIVE, "judge_agent": True},
        {**COOPERATIVE, "num_agents": 1},
    ],
    "coop_functions_v0": [ALONE, {"num_agents": 3, "max_turns": 2}],
    "math_v0": [
        ALONE,
        {"reasoners": 2, "aggregator": True, "max_turns": 2},
        {"view": "split", "family": "word_problems", "prompt": "terse"},
    ],
    **{id: [{"num_agents": 1}, {"view": "split"}] for id in ("bug_fix_v0", "contests_v0")},
    "calendar_v0": [
        ALONE,
        {"level": "hard", "num_agents": 3, "rounds": 2},
        {"source": "sample"},
    ],
    "travel_v0": [ALONE, {"level": "hard", "rounds": 2}, {"source": "sample"}],
    "signal_v0": [ALONE, {"vocab_size": 2, "max_len": 4}],
    "propose_v0": [ALONE, {"kind": "countdown", "prompt": "terse", "difficulty": "pairs"}],
    "relay_v0": [ALONE, {"num_agents": 5, "length": 1}],
    "hidden_profile_v0": [
        ALONE,
        {"num_agents": 8, "rounds": 1},
        {"num_agents": 2, "facts": "all", "prompt": "terse"},
    ],
    "mafia_v0": [
        ALONE,
        {"num_agents": 1, "players": 8},
        {"num_agents": 8, "prompt": "terse"},
        {"num_agents": 5, "detective": False},
    ],
    "philosophers_v0": [ALONE, {"num_agents": 8, "prompt": "terse"}, {"message_chars": 60}],
    "commons_v0": [
        ALONE,
        {"num_agents": 8, "prompt": "terse"},
        {"message_chars": 60},
        {"reward": "selfish"},
    ],
    "delegate_v0": [ALONE, {"num_agents": 1, "reading": "all"}, {"max_workers": 2, "rows": 40}],
    **{
        id: [{"num_agents": 1}]
        for id in (
            *("airline_v0", "bfcl_v0", "bfcl_multi_turn_v0", "telecom_v0", "tool_use_v0"),
            *("arxiv_v0", "story_v0", "tldr_v0", "humaneval_v0", "classeval_v0", "gsm8k_v0"),
        )
    },
}
for walk in ("plan_path_v0", "sokoban_v0"):
    OTHER_FORMS[walk] = [*OTHER_FORMS[walk], {"prompt": "cells"}]

# what an agent earns in an episode at most; where it is not here, the most differs from task to task
BEST = dict.fromkeys(GAMES, 2.0) | {  # team 1 + local 1
    **dict.fromkeys(BUILDING, 1.0),
    **dict.fromkeys(("coop_functions_v0", "humaneval_v0", "coop_humaneval_v0", "mbpp_v0"), 1.0),
    **dict.fromkeys(("classeval_v0", "bug_fix_v0"), 1.0),
    **dict.fromkeys(("contests_v0", "apps_v0", "code_contests_v0", "livecodebench_v0"), 2.0),
    **dict.fromkeys(("gsm8k_v0", "math500_v0", "olympiadbench_v0", "aime24_v0", "aime25_v0"), 2.0),
    **{"math_v0": 2.0, "debate_v0": 1.0, "tiny_hanabi_v0": 1.0, "airline_v0": 1.0},
    **{"tool_use_v0": 1.0, "bfcl_v0": 2.0, "bfcl_multi_turn_v0": 1.0, "telecom_v0": 1.0},
    "calendar_v0": 1.5,  # team 1 + local 0.5
    "travel_v0": 1.3,  # team 1 + local 0.3
    **dict.fromkeys(("signal_v0", "relay_v0"), 1.1),  # team 1 + local 0.1
    **dict.fromkeys(("philosophers_v0", "commons_v0", "hidden_profile_v0"), 1.0),
}


def best(id: str, kwargs: dict[str, Any]) -> float | None:
    if kwargs.get("judge_agent"):  # the judge of two experts has no lead to find, and earns nothing
        return None
    if id == "debate_v0" and kwargs.get("reward", "zero-sum") == "zero-sum":
        return 0.0  # two experts who play against each other
    if kwargs.get("reward") == "selfish":  # a harvest is not always a multiple of the fishers
        return None
    if kwargs.get("view") == "split" and id in (*GAMES, "contests_v0"):
        return 1.0  # the team's reward alone
    return BEST.get(id)


# `make test` takes the default form of one environment of each kind, `make test-all` every form of all
QUICK = (
    *("sudoku_v0", "plan_path_v0", "house_build_v0", "coop_humaneval_v0", "bug_fix_v0"),
    *("contests_v0", "math_v0", "debate_v0", "signal_v0", "calendar_v0", "tldr_v0"),
    *("tool_use_v0", "bfcl_v0", "kuhn_poker_v0", "tic_tac_toe_v0", "relay_v0"),
    *("hidden_profile_v0", "mafia_v0"),
    *("philosophers_v0", "commons_v0"),
    *("delegate_v0",),
)
FORMS = [
    pytest.param(
        id,
        {**llmzoo.spec(id).offline, **form},
        id="-".join([id, *map(str, form.values())]),
        marks=() if id in QUICK and not form else pytest.mark.slow,
    )
    for id in llmzoo.list_envs()
    for form in ({}, *OTHER_FORMS.get(id, []))
]

every_form = pytest.mark.parametrize(("id", "kwargs"), FORMS)
every_id = pytest.mark.parametrize("id", llmzoo.list_envs())
every_game = pytest.mark.parametrize("id", GAMES)


@pytest.fixture(autouse=True)
def a_quick_expert_of_connect_four(monkeypatch):
    monkeypatch.setattr("llmzoo.envs.duels.connect_four.DEPTH", 1)


def noisy_expert(env, agent):
    """A sloppy player's completion, the same whenever the agent reads the same."""
    return env.unwrapped.noisy_expert(agent, random.Random(env.observe(agent)))


def step_expert(env):
    agent = env.agent_selection
    env.step(None if env.terminations[agent] else env.unwrapped.expert(agent))


def play_to_turn(env, agent):
    """Play with experts up to the first turn of an agent, in the first seed in which it has one."""
    for seed in range(20):
        env.reset(seed=seed)
        while env.agents and env.agent_selection != agent:
            step_expert(env)
        if env.agents and not env.terminations[agent]:
            return
    raise AssertionError(f"{agent} leaves before it acts")


def runs_code(id, kwargs):
    """Whether a step of the environment runs programs; those of a noisy expert run into time limits."""
    return bool(llmzoo.make(id, **kwargs).unwrapped.metadata.get("slow_step"))


def test_the_list_of_forms_is_up_to_date():
    assert {*BEST, *OTHER_FORMS} <= set(llmzoo.list_envs())
    assert {"sudoku_v0", "sokoban_v0", "plan_path_v0"} <= set(GAMES)


@every_id
def test_module_and_pictures(id):
    spec = llmzoo.spec(id)
    module = importlib.import_module(spec.entry_point.partition(":")[0])
    env = module.env(**spec.offline)
    assert isinstance(env, pettingzoo.AECEnv)
    assert isinstance(module.parallel_env(**spec.offline), pettingzoo.ParallelEnv)
    assert type(module.raw_env(**spec.offline)) is type(env.unwrapped)
    drawn = [*GAMES, *BUILDING, "tic_tac_toe_v0", "connect_four_v0"]
    modes = ["ansi", "human", "rgb_array"][: 3 if id in drawn else 2]
    assert env.metadata["render_modes"] == modes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        render_test(partial(llmzoo.make, id, **spec.offline))
    with pytest.raises(ConfigError, match=f"{id.rpartition('_')[0]}.* has no render_mode 'video'"):
        llmzoo.make(id, render_mode="video", **spec.offline)


@every_form
def test_interface(id, kwargs):
    make = partial(llmzoo.make, id, **kwargs)
    testing.check_env(make, cycles=20, parallel_fn=partial(llmzoo.parallel, id, **kwargs))
    testing.check_text_spaces(make)
    env = make()
    for agent in env.possible_agents:
        # an empty completion, which is what a model's unclosed thought becomes, is malformed
        play_to_turn(env, agent)
        together = env.unwrapped.agents_to_act()
        env.step("")
        for _ in together[1:]:
            step_expert(env)
        assert env.infos[agent]["error"]


@every_form
def test_episodes(id, kwargs):
    make = partial(llmzoo.make, id, **kwargs)
    few = runs_code(id, kwargs)
    for act in (None, noisy_expert):
        testing.check_seeds(make, seeds=range(1 if few else 2), act=act)
        testing.check_rewards(make, episodes=3 if few else 8, act=act)
        testing.check_observations_do_not_grow(make, episodes=2 if few else 4, act=act)
        testing.check_fork(make, act=act)
    testing.check_credit(make, episodes=3 if few else 8, act=noisy_expert)
    if make().metadata.get("attempts"):
        testing.check_attempts(make, act=noisy_expert)


@every_form
def test_tasks(id, kwargs):
    """Train and test are disjoint, and experts earn the most there is."""
    make = partial(llmzoo.make, id, **kwargs)
    testing.check_splits(make, 100)
    if id in (*DUELS, "mafia_v0") and id != "tiny_hanabi_v0":
        return  # one of two sides loses, also by chance; tests/envs/duels and tests/envs/crowd measure experts
    few = runs_code(id, kwargs)
    most = 5 if few else 20 if kwargs.get("level") == "hard" else 60
    tasks = len(testing.task_ids(make(split="test"), most))
    testing.check_expert(partial(make, split="test"), range(tasks), best=best(id, kwargs))


@every_form
def test_hostile_text(id, kwargs):
    seed = random.Random(f"{id} {kwargs}").randrange(2**32)  # every form gets other texts
    testing.check_hostile_text(
        partial(llmzoo.make, id, **kwargs), testing.hostile_texts(100, seed=seed), max_step_s=0.2
    )


@every_form
def test_every_agent_has_groups_that_differ(id, kwargs):
    """For a noisy expert's completions, under at_grpo's tree and under the joint tree."""
    few = runs_code(id, kwargs)
    rounds = {"max_turns": 2} if few else {}
    if id in llmzoo.list_envs("coding"):
        rounds["time_limit"] = 0.5  # some programs of a noisy expert never end
    testing.check_groups(
        partial(llmzoo.make, id, **{**kwargs, **rounds}),
        seeds=range(24 if id == "mafia_v0" else 8),  # a single vote seldom decides
        group_size=3 if few else 4,
    )


@every_game
def test_tasks_of_games(id):
    train = partial(llmzoo.make, id, split="train", num_agents=1)
    first = testing.task_ids(train(), 300)
    assert len(set(first)) == 300
    testing.check_expert(train, range(300), best=2.0)
    # the same numbers have the same tasks in another environment
    assert testing.task_ids(llmzoo.make(id, prompt="terse"), 20) == first[:20]


@pytest.mark.parametrize(
    ("id", "first"),
    [
        ("sudoku_v0", ["6a8eba6dea86e248", "d99ad74d4512806d"]),
        ("plan_path_v0", ["c83354b5c279a5c6", "efb78a585a468ca5"]),
    ],
)
def test_numbered_tasks_are_the_same_on_every_machine(id, first):
    """A generator that samples otherwise makes results incomparable: it needs a new version."""
    assert testing.task_ids(llmzoo.make(id, split="test"), 2) == first


@every_game
def test_a_game_is_made_in_both_forms_and_drawn(id, capsys):
    name = f"llmzoo/{id.removesuffix('_v0')}-v0"
    aec = pettingzoo.make("aec", name, num_agents=1)
    aec.reset(seed=0)
    assert aec.agents == ["planner_0"]
    parallel = pettingzoo.make("parallel", name)
    observations, _ = parallel.reset(seed=0)
    assert sorted(observations) == ["planner_1", "proposer_0"]

    env = llmzoo.make(id, split="test")
    env.reset(seed=0)
    state = env.state()
    for agent in env.agents:
        assert env.observe(agent) in state
        info = env.infos[agent]
        assert (info["source"], info["split"], info["tasks"]) == ("generator", "test", None)
        assert len(info["task_id"]) == 16

    env = llmzoo.make(id, render_mode="ansi", num_agents=1)
    env.reset(seed=0)
    board = env.render()
    assert board in env.observe("planner_0")
    env = llmzoo.make(id, render_mode="human", num_agents=1)
    env.reset(seed=0)
    assert capsys.readouterr().out == board + "\n"
    assert env.render() is None
    assert capsys.readouterr().out == board + "\n"
    env = llmzoo.make(id, render_mode="rgb_array", num_agents=1)
    env.reset(seed=0)
    picture = env.render()
    assert picture.dtype == "uint8"
    assert picture.shape[2] == 3


@every_game
@pytest.mark.parametrize("agents", [1, 2])
def test_parallel_and_aec_form_have_the_same_rewards(id, agents):
    aec = llmzoo.make(id, num_agents=agents)
    parallel = llmzoo.parallel(id, num_agents=agents)
    for seed in range(5):
        aec.reset(seed=seed)
        _, infos = parallel.reset(seed=seed)
        while aec.agents:
            agent = aec.agent_selection
            if aec.terminations[agent] or aec.truncations[agent]:
                aec.step(None)
                continue
            assert infos[agent]["active_agent"] == agent
            text = noisy_expert(aec, agent)
            aec.step(text)
            _, rewards, terminations, truncations, infos = parallel.step({agent: text})
            assert dict(rewards) == aec.rewards
            assert (terminations, truncations) == (aec.terminations, aec.truncations)
        assert parallel.agents == []
