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

slow = pytest.mark.slow

GAME_FORMS = [
    *(
        {"num_agents": agents, "prompt": prompt}
        for agents in (1, 2)
        for prompt in ("full", "terse")
    ),
    *({"view": "split", "prompt": prompt} for prompt in ("full", "terse")),
]
CELL_FORMS = [{"num_agents": agents, "prompt": "cells"} for agents in (1, 2)]
WALKS = ("plan_path_v0", "sokoban_v0")
GAMES = list(llmzoo.list_envs("games"))
BUILDING = list(llmzoo.list_envs("building"))
DUELS = list(llmzoo.list_envs("duels"))
# two experts cannot both win; tests/envs/duels measures them
SIDES = [id for id in DUELS if id != "tiny_hanabi_v0"]
# what a seat's episode is worth at most
BEST = dict.fromkeys(GAMES, 2.0) | {  # team 1 + local 1
    "debate_v0": 1.0,
    **dict.fromkeys(("coop_functions_v0", "humaneval_v0", "coop_humaneval_v0", "mbpp_v0"), 1.0),
    **dict.fromkeys(("classeval_v0", "bug_fix_v0"), 1.0),
    **dict.fromkeys(("contests_v0", "apps_v0", "code_contests_v0", "livecodebench_v0"), 2.0),
    "math_v0": 2.0,
    **dict.fromkeys(("gsm8k_v0", "math500_v0", "olympiadbench_v0", "aime24_v0", "aime25_v0"), 2.0),
    **{"tool_use_v0": 1.0, "bfcl_v0": 2.0, "bfcl_multi_turn_v0": 1.0, "telecom_v0": 1.0},
    "airline_v0": 1.0,
    "calendar_v0": 1.5,  # team 1 + local 0.5
    "travel_v0": 1.3,  # team 1 + local 0.3
    **dict.fromkeys(BUILDING, 1.0),
    "tiny_hanabi_v0": 1.0,
    **dict.fromkeys(("signal_v0", "relay_v0"), 1.1),  # team 1 + local 0.1
}
FEW = {"signal_v0": 350}  # distinct test tasks of the default form, where they are fewer than 500


def forms(id: str) -> list[dict[str, Any]]:
    """The arguments with which an environment is tested."""
    if id in GAMES:
        return [*GAME_FORMS, *CELL_FORMS] if id in WALKS else GAME_FORMS
    if id == "debate_v0":
        together = {"reward": "cooperative"}
        sides = [{"per_side": 2}, {"judge_seat": True}, {"num_agents": 1}]
        return [{"reward": "zero-sum"}, together, *({**together, **form} for form in sides)]
    source = llmzoo.spec(id).offline
    if id == "coop_functions_v0":
        return [{}, {"num_agents": 1, "prompt": "terse"}, {"num_agents": 3, "max_turns": 2}]
    if id == "math_v0":
        return [
            {},
            {"num_agents": 1, "prompt": "terse"},
            {"reasoners": 2, "aggregator": True, "max_turns": 2},
            *(
                {"view": "split", "family": "word_problems", "prompt": prompt}
                for prompt in ("full", "terse")
            ),
        ]
    if id in ("bug_fix_v0", "contests_v0"):
        return [{}, {"num_agents": 1}, {"view": "split"}]
    if id == "calendar_v0":
        hard = {"level": "hard", "num_agents": 3, "rounds": 2}
        return [{}, {"num_agents": 1, "prompt": "terse"}, hard, {"source": "sample"}]
    if id == "travel_v0":
        hard = {"level": "hard", "rounds": 2}
        return [{}, {"num_agents": 1, "prompt": "terse"}, hard, {"source": "sample"}]
    if id == "signal_v0":
        return [{}, {"num_agents": 1, "prompt": "terse"}, {"vocab_size": 2, "max_len": 4}]
    if id == "propose_v0":
        countdown = {"kind": "countdown", "prompt": "terse", "difficulty": "pairs"}
        return [{}, {"num_agents": 1, "prompt": "terse"}, countdown]
    if id == "relay_v0":
        return [{}, {"num_agents": 1, "prompt": "terse"}, {"num_agents": 5, "length": 1}]
    if id in BUILDING:
        return [{}, {"num_agents": 1, "prompt": "terse"}, {"level": "hard"}]
    if id == "liars_dice_v0":
        return [{}, {"prompt": "terse", "faces": 2}]
    if id in DUELS:
        return [{}, {"prompt": "terse"}]
    return [source, {"num_agents": 1, **source}]


# `make test` tries the first form of each environment, `make test-all` all of them
FORMS = [
    pytest.param(
        id,
        kwargs,
        id="-".join([id, *map(str, kwargs.values())]),
        marks=() if number == 0 else slow,
    )
    for id in llmzoo.list_envs()
    for number, kwargs in enumerate(forms(id))
]

every_form = pytest.mark.parametrize(("id", "kwargs"), FORMS)
every_game = pytest.mark.parametrize("id", GAMES)


def amateur(env, agent):
    """A sloppy player's answer, the same whenever the agent reads the same."""
    return env.unwrapped.amateur(agent, random.Random(env.observe(agent)))


def runs_code(id, kwargs):
    """Whether a step of the environment runs programs, which takes its time."""
    return bool(llmzoo.make(id, **kwargs).unwrapped.metadata.get("slow_step"))


def test_suite_is_registered():
    assert set(BEST) <= set(llmzoo.list_envs())
    assert {"sudoku_v0", "sokoban_v0", "plan_path_v0"} <= set(GAMES)


@pytest.mark.parametrize("id", llmzoo.list_envs())
def test_a_module_exports_what_pettingzoos_modules_do(id):
    spec = llmzoo.spec(id)
    module = importlib.import_module(spec.entry_point.partition(":")[0])
    assert isinstance(module.env(**spec.offline), pettingzoo.AECEnv)
    assert isinstance(module.parallel_env(**spec.offline), pettingzoo.ParallelEnv)
    assert type(module.raw_env(**spec.offline)) is type(module.env(**spec.offline).unwrapped)


@every_form
def test_pettingzoos_own_tests(id, kwargs):
    testing.check_env(partial(llmzoo.make, id, **kwargs), cycles=50)
    testing.check_env(
        partial(llmzoo.make, id, **kwargs),
        cycles=50,
        parallel_fn=partial(llmzoo.parallel, id, **kwargs),
    )


@every_form
def test_text_spaces(id, kwargs):
    testing.check_text_spaces(partial(llmzoo.make, id, **kwargs))


@every_form
@pytest.mark.parametrize("act", [None, amateur], ids=["noise", "amateur"])
@pytest.mark.samples(20)
def test_seeds_rewards_forks_and_lengths(id, kwargs, act):
    make = partial(llmzoo.make, id, **kwargs)
    few = runs_code(id, kwargs)  # a sloppy player's programs run into time limits
    testing.check_seeds(make, seeds=range(2 if few else 5), act=act)
    testing.check_rewards(make, episodes=4 if few else 20, act=act)
    testing.check_observations_do_not_grow(make, act=act)
    for seed in range(1 if few else 3):
        testing.check_fork(make, seed=seed, act=act)


@every_form
def test_what_metadata_says_of_rewards(id, kwargs):
    few = runs_code(id, kwargs)
    testing.check_credit(partial(llmzoo.make, id, **kwargs), episodes=3 if few else 10, act=amateur)


@every_form
def test_attempts_are_what_metadata_says(id, kwargs):
    testing.check_attempts(partial(llmzoo.make, id, **kwargs), act=amateur)


@every_form
@pytest.mark.samples(6)
def test_every_seat_has_groups_that_differ(id, kwargs):
    """For an amateur's answers, under at_grpo's tree and under the joint tree."""
    # programs of a sloppy player run into time limits, so fewer rounds and answers where they run
    few = {"group_size": 3} if runs_code(id, kwargs) else {"group_size": 4}
    rounds = {"max_turns": 2} if runs_code(id, kwargs) else {}
    testing.check_groups(partial(llmzoo.make, id, **{**kwargs, **rounds}), **few)


@every_form
@pytest.mark.parametrize("n", [300, pytest.param(2_000, marks=slow)])
@pytest.mark.samples(8)
def test_hostile_text(id, kwargs, n):
    testing.check_hostile_text(
        partial(llmzoo.make, id, **kwargs), testing.hostile_texts(n, seed=n), max_step_s=0.2
    )


@every_form
def test_an_empty_answer_is_malformed_from_every_seat(id, kwargs):
    """It is what a model's unclosed thought becomes."""
    for seat in llmzoo.make(id, **kwargs).possible_agents:
        env = llmzoo.make(id, **kwargs)
        env.reset(seed=0)
        while env.agent_selection != seat:
            env.step(env.unwrapped.expert(env.agent_selection))
        env.step("")
        while env.unwrapped.simultaneous and env.agent_selection != env.possible_agents[0]:
            env.step(env.unwrapped.expert(env.agent_selection))
        assert env.infos[seat]["error"]


@pytest.mark.parametrize(("id", "kwargs"), [f for f in FORMS if f.values[0] not in SIDES])
@pytest.mark.parametrize("n", [100, pytest.param(500, marks=slow)])
def test_oracle_earns_the_most_there_is(id, kwargs, n):
    make = partial(llmzoo.make, id, split="test", **kwargs)
    env = make()
    env.reset(seed=0)
    there = env.infos[env.agent_selection]["tasks"] or FEW.get(id, n)
    most = min(n, there, 10) if runs_code(id, kwargs) and n < 500 else min(n, there)
    # two experts who play for each other's loss gain nothing; what a text can earn has no one value
    best = 0.0 if kwargs.get("reward") == "zero-sum" else BEST.get(id)
    if (
        id in (*GAMES, "contests_v0") and kwargs.get("view") == "split"
    ):  # the team's reward is all there is
        best = 1.0
    if kwargs.get("judge_seat"):  # who judges two experts has no lead to tell, and earns nothing
        best = None
    testing.check_oracle(make, range(most), best=best)


@every_form
def test_splits_are_disjoint(id, kwargs):
    testing.check_splits(partial(llmzoo.make, id, **kwargs), 300)


@every_game
@pytest.mark.parametrize("n", [300, pytest.param(2_000, marks=slow)])
def test_distinct_solvable_tasks(id, n):
    make = partial(llmzoo.make, id, split="train", num_agents=1)
    assert len(set(testing.task_ids(make(), n))) == n
    testing.check_oracle(make, range(n), best=2.0)


@every_game
def test_numbered_tasks_are_the_same_in_another_environment(id):
    first = testing.task_ids(llmzoo.make(id, prompt="terse"), 20)
    assert testing.task_ids(llmzoo.make(id, num_agents=1), 20) == first


@pytest.mark.parametrize(
    ("id", "first"),
    [
        ("sudoku_v0", ["6a8eba6dea86e248", "d99ad74d4512806d"]),
        ("plan_path_v0", ["c83354b5c279a5c6", "efb78a585a468ca5"]),
    ],
)
def test_numbered_tasks_are_the_same_on_every_machine(id, first):
    """A generator that draws otherwise makes results incomparable: it needs a new version."""
    assert testing.task_ids(llmzoo.make(id, split="test"), 2) == first


@every_game
def test_infos_name_source_split_and_number(id):
    env = llmzoo.make(id, split="test")
    env.reset(seed=0)
    for agent in env.agents:
        info = env.infos[agent]
        assert (info["source"], info["split"], info["tasks"]) == ("generator", "test", None)
        assert len(info["task_id"]) == 16


@every_game
def test_pettingzoo_makes_it_by_its_own_id(id):
    name = f"llmzoo/{id.removesuffix('_v0')}-v0"
    aec = pettingzoo.make("aec", name, num_agents=1)
    aec.reset(seed=0)
    assert aec.agents == ["planner_0"]
    parallel = pettingzoo.make("parallel", name)
    observations, _ = parallel.reset(seed=0)
    assert sorted(observations) == ["planner_1", "proposer_0"]


@every_game
@pytest.mark.parametrize("agents", [1, 2])
def test_parallel_and_aec_form_pay_the_same(id, agents):
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
            text = amateur(aec, agent)
            aec.step(text)
            _, rewards, terminations, truncations, infos = parallel.step({agent: text})
            assert dict(rewards) == aec.rewards
            assert (terminations, truncations) == (aec.terminations, aec.truncations)
        assert parallel.agents == []


@every_game
def test_render(id, capsys):
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


@pytest.mark.parametrize("id", llmzoo.list_envs())
def test_pettingzoos_render_test(id):
    kwargs = llmzoo.spec(id).offline
    modes = llmzoo.make(id, **kwargs).metadata["render_modes"]
    drawn = [*GAMES, *BUILDING, "tic_tac_toe_v0", "connect_four_v0"]
    assert modes == ["ansi", "human", "rgb_array"][: 3 if id in drawn else 2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        render_test(partial(llmzoo.make, id, **kwargs))
    with pytest.raises(ConfigError, match=f"{id.rpartition('_')[0]}.* has no render_mode 'video'"):
        llmzoo.make(id, render_mode="video", **kwargs)


@every_game
def test_state_holds_what_every_seat_reads(id):
    env = llmzoo.make(id)
    env.reset(seed=0)
    state = env.state()
    assert all(env.observe(agent) in state for agent in env.agents)
