"""Many single agents at once: step for step what each does alone."""

from __future__ import annotations

import random
import runpy
import sys
from functools import partial

import gymnasium
import numpy as np
import pytest
from agent_envs import Prepaid
from discrete_envs import Pile
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import DictInfoToList, RecordEpisodeStatistics
from pages import ROOT
from quick_cases import slow_but
from toy_envs import Adder, Matcher

import llmzoo.adapters.gymnasium  # noqa: F401  # registers
from llmzoo import registry
from llmzoo.adapters import discrete_to_text
from llmzoo.adapters.single_agent import single_agent
from llmzoo.adapters.vector import batch_infos, vector
from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.errors import ConfigError
from llmzoo.policies import load
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.testing import hostile_texts

EXAMPLES = ROOT / "examples" / "adapters"
N = 3
MODES = [mode.value for mode in AutoresetMode]


def of_suite(env_id):
    return partial(registry.make, env_id, **registry.spec(env_id).offline)


def pile():
    return discrete_to_text(Pile(), split="all")


ENVIRONMENTS = {
    "sudoku planner": (of_suite("sudoku_v0"), "planner_1", "noisy_expert"),
    "sokoban proposer": (of_suite("sokoban_v0"), "proposer_0", "random"),
    "functions main": (of_suite("coop_functions_v0"), "main_1", "noisy_expert"),
    "math reasoner": (of_suite("math_v0"), "reasoner_0", "noisy_expert"),
    "debate": (of_suite("debate_v0"), "con_1", "noisy_expert"),
    "pile, who may die early": (pile, "b_1", "noisy_expert"),
    "adder": (partial(Adder, 3), "b_1", lambda text: str(len(text))),
    "paid before its turn": (Prepaid, "b_1", lambda text: "4"),
    "over before its turn": (partial(Prepaid, end=True), "b_1", lambda text: "4"),
    "matcher": (partial(Matcher, 2), "a_0", lambda text: str(len(text))),
}
NUMBERS_ONLY = ("adder", "matcher")


def answers(name, seed):
    """Right-looking, wrong and hostile answers."""
    rng = random.Random(seed)
    hostile = list(hostile_texts(60, seed))
    while True:
        if name in NUMBERS_ONLY:
            yield str(rng.randrange(9))
        elif rng.random() < 0.5:
            yield rng.choice(["Move: 1", "Move: 3", "UDLR", "1234\n3412\n2143\n4321", "\\boxed{4}"])
        else:
            yield rng.choice(hostile)


class Echo(TextEnv):
    """In turns: everybody reads all that was said."""

    metadata = {**TextEnv.metadata, "name": "echo_v0"}

    def __init__(self):
        super().__init__(["a_0", "b_1"], max_turns=9)

    def reset_task(self, rng, task):
        return ()

    def observation(self, state, agent):
        return "|".join(state)

    def apply(self, state, actions):
        return (*state, *actions.values()), Outcome()


class _Infos(gymnasium.vector.VectorEnv):
    """Only a number of environments, for Gymnasium's own way back from the vector form."""

    def __init__(self, num_envs):
        self.num_envs = num_envs


# every environment, every mode with agents that end apart, that are simultaneous and that may never act
@pytest.mark.parametrize(
    ("name", "mode"),
    [
        *((name, mode) for name in ("matcher", "over before its turn") for mode in MODES),
        *slow_but([("adder", "NextStep")], (("adder", mode) for mode in MODES)),
        ("pile, who may die early", "NextStep"),
        ("pile, who may die early", "SameStep"),
        ("paid before its turn", "Disabled"),
        ("sudoku planner", "NextStep"),
        ("sokoban proposer", "SameStep"),
        ("functions main", "Disabled"),
        ("math reasoner", "NextStep"),
        ("debate", "SameStep"),
    ],
)
def test_equal_to_single_agents_step_for_step(name, mode):
    """Ragged ends, hostile text, every way to begin again: observations, rewards, ends and infos."""
    make, agent, others = ENVIRONMENTS[name]
    together = vector(make, N, agent=agent, others=others, autoreset_mode=mode)
    alone = [single_agent(make, agent=agent, others=others) for _ in range(N)]
    assert together.metadata["autoreset_mode"] is AutoresetMode(mode)
    observations, infos = together.reset(seed=11)
    for i, env in enumerate(alone):
        observation, info = env.reset(seed=11 + i)
        assert observations[i] == observation
        assert_same_info(infos, i, info)
    given = [answers(name, i) for i in range(N)]
    over = [False] * N
    ends = 0
    for _ in range(12):
        if mode == "Disabled" and any(over):
            mask = np.array(over)
            _, infos = together.reset(options={"reset_mask": mask})
            for i, env in enumerate(alone):
                if over[i]:
                    assert_same_info(infos, i, env.reset()[1])
                else:
                    assert_same_info(infos, i, {})
            over = [False] * N
        actions = [next(texts) for texts in given]
        observations, rewards, terminations, truncations, infos = together.step(actions)
        for i, env in enumerate(alone):
            if mode == "NextStep" and over[i]:
                observation, info = env.reset()
                assert (rewards[i], terminations[i], truncations[i]) == (0.0, False, False)
                over[i] = False
            else:
                observation, reward, terminated, truncated, info = env.step(actions[i])
                assert (rewards[i], terminations[i], truncations[i]) == (
                    reward,
                    terminated,
                    truncated,
                )
                over[i] = terminated or truncated
                ends += over[i]
                if mode == "SameStep" and over[i]:
                    assert infos["final_obs"][i] == observation
                    assert infos["_final_obs"][i]
                    assert infos["_final_info"][i]
                    assert_same_info(infos["final_info"], i, info)
                    observation, info = env.reset()
                    over[i] = False
                elif mode == "SameStep" and "_final_obs" in infos:
                    assert not infos["_final_obs"][i]
            assert observations[i] == observation
            assert_same_info(infos, i, info)
    assert ends > 0


def assert_same_info(infos, i, info):
    """Environment ``i``'s part of the vector form is ``info``, and it has nothing more."""
    for key, value in info.items():
        assert infos[f"_{key}"][i], key
        if isinstance(value, dict):
            assert_same_info(infos[key], i, value)
        else:
            assert infos[key][i] == value, key
    for key in infos:
        if key.startswith("_") and key.removeprefix("_") in infos:
            expected = key.removeprefix("_") in info or key in ("_final_obs", "_final_info")
            assert not infos[key][i] or expected, key


@pytest.mark.parametrize("mode", MODES[:2])
def test_equal_to_gymnasiums_own_vector_environment(mode):
    """SyncVectorEnv is the other witness: the same episodes, infos included where it keeps them."""
    make, agent, others = ENVIRONMENTS["sudoku planner"]
    ours = vector(make, N, agent=agent, others=others, autoreset_mode=mode)
    theirs = SyncVectorEnv(
        [partial(single_agent, make, agent=agent, others=others)] * N, autoreset_mode=mode
    )
    assert ours.reset(seed=4)[0] == theirs.reset(seed=4)[0]
    texts = answers("sudoku", 1)
    for _ in range(10):
        actions = tuple(next(texts) for _ in range(N))
        mine, other = ours.step(actions), theirs.step(actions)
        assert mine[0] == other[0]
        for part in (1, 2, 3):
            assert mine[part].dtype == other[part].dtype
            assert np.array_equal(mine[part], other[part])
        assert data_equivalence(mine[4], other[4])


# text as text


def test_long_texts_and_all_of_unicode_come_back_whole():
    """Nothing is cut to the width of a neighbour, zero bytes and half surrogates included."""

    texts = ["", "ends in zero\x00", "漢字🙂\ud800" * 5_000]
    envs = vector(Echo, 3, agent="a_0", others=lambda text: "ok")
    envs.reset(seed=0)
    for actions in (tuple(texts), list(texts), np.array(texts, dtype=object)):
        observations = envs.step(actions)[0]
        assert isinstance(observations, tuple)
        assert [o.split("|")[-2] for o in observations] == texts
    assert envs.observation_space.contains(observations)
    assert envs.action_space.contains(tuple(texts))


def test_random_actions_of_the_batched_space():
    envs = vector("sudoku_v0", 2, agent="planner_1", others="noisy_expert")
    envs.reset(seed=1)
    envs.action_space.seed(1)
    for _ in range(5):
        actions = envs.action_space.sample()
        assert envs.step(actions)[1].shape == (2,)


# the others' answers


def test_one_call_for_all_who_wait():
    calls = []
    policy = ScriptedPolicy(lambda request: "1", "counted")
    answer = policy.respond

    def counted(requests, group_size=1, *, greedy=False, on_complete=None):
        calls.append(len(requests))
        return answer(requests, group_size, greedy=greedy)

    policy.respond = counted
    envs = vector(partial(Adder, 2), 5, agent="b_1", others=policy)
    envs.reset(seed=0)
    envs.step(["1"] * 5)
    envs.step(["1"] * 5)
    envs.step([None] * 5)  # the next episodes
    assert calls == [5, 5, 5]


@pytest.mark.slow
def test_a_model_answers_together_as_alone():
    """Its chance hangs on each episode's seed and turn, not on who else asks in the same call."""
    make = partial(registry.make, "sudoku_v0", prompt="terse", max_turns=2)
    policy = load("tiny")
    envs = vector(make, N, agent="planner_1", others=policy)
    alone = [single_agent(make, agent="planner_1", others=policy) for _ in range(N)]
    observations = envs.reset(seed=21)[0]
    assert list(observations) == [env.reset(seed=21 + i)[0] for i, env in enumerate(alone)]
    for _ in range(5):
        observations = envs.step(["x"] * N)[0]
        for i, env in enumerate(alone):
            try:
                observation = env.step("x")[0]
            except ResetNeeded:
                observation = env.reset()[0]
            assert observations[i] == observation


def test_environments_on_one_seed_play_one_task():
    """A group of answers to one task: seeds may repeat, and then the others' chance does too."""
    envs = vector("sudoku_v0", 3, agent="planner_1", others="random")
    observations, infos = envs.reset(seed=[8, 8, 9])
    assert observations[0] == observations[1] != observations[2]
    assert infos["task_id"][0] == infos["task_id"][1] != infos["task_id"][2]


# partial resets


def test_a_partial_reset_leaves_the_others_where_they_are():
    options = {"reset_mask": np.array([True, False, True])}
    envs = vector(partial(Adder, 2), 3, agent="a_0", others=lambda text: "1")
    envs.reset(seed=0)
    before = envs.step(["7", "7", "7"])[0]
    observations, infos = envs.reset(seed=[1, None, 2], options=options)
    assert observations == ("a_0 0 ", before[1], "a_0 0 ")
    assert infos["_error"].tolist() == [True, False, True]
    assert list(options) == ["reset_mask"]  # theirs is not emptied
    _, rewards, _, truncations, _ = envs.step(["1", "1", "1"])
    assert truncations.tolist() == [False, True, False]
    assert rewards.tolist() == [1.0, pytest.approx(1 + 1.0), 1.0]


def test_a_partial_reset_takes_the_environments_options_too():
    envs = vector("sudoku_v0", 2, agent="planner_1", others="expert")
    envs.reset(seed=0)
    options = {"reset_mask": np.array([False, True]), "task": 3}
    _, infos = envs.reset(options=options)
    known = single_agent("sudoku_v0", agent="planner_1", others="expert")
    assert infos["task_id"][1] == known.reset(options={"task": 3})[1]["task_id"]


@pytest.mark.parametrize(
    ("mask", "error", "says"),
    [
        ([True, False], TypeError, "numpy array of bool"),
        (np.array([1, 0]), TypeError, "numpy array of bool"),
        (np.array([True]), ValueError, r"shape \(1,\), not \(2,\)"),
        (np.array([False, False]), ValueError, "chooses no environment"),
    ],
)
def test_masks_that_do_not_fit(mask, error, says):
    envs = vector(Adder, 2, agent="a_0", others=lambda text: "1")
    with pytest.raises(error, match=says):
        envs.reset(options={"reset_mask": mask})


# what is refused


def test_steps_that_cannot_be_made():
    envs = vector(Adder, 2, agent="a_0", others=lambda text: "1", autoreset_mode="Disabled")
    with pytest.raises(ResetNeeded, match="0, 1 are over or have not begun"):
        envs.step(["1", "1"])
    envs.reset(seed=0, options={"reset_mask": np.array([False, True])})
    with pytest.raises(ResetNeeded, match="environments 0 are"):
        envs.step(["1", "1"])
    envs.reset(seed=0)
    with pytest.raises(ValueError, match="1 actions for 2"):
        envs.step(["1"])
    envs.step(["1", "1"])
    with pytest.raises(ResetNeeded, match="0, 1 are over"):
        envs.step(["1", "1"])


def test_settings_that_mean_nothing():
    with pytest.raises(ConfigError, match="autoreset_mode must be one of NextStep"):
        vector(Adder, 2, agent="a_0", others="random", autoreset_mode="next")
    with pytest.raises(ConfigError, match="num_envs"):
        vector(Adder, 0, agent="a_0", others="random")
    with pytest.raises(ConfigError, match="one environment"):
        vector(Adder(), 2, agent="a_0", others="random")
    with pytest.raises(ValueError, match="3 seeds for 2"):
        vector(Adder, 2, agent="a_0", others="random").reset(seed=[1, 2, 3])


# Gymnasium's tools around it


def test_make_vec_and_a_wrapper_of_gymnasiums():
    envs = gymnasium.make_vec(
        "llmzoo/sudoku-v0", num_envs=2, agent="planner_1", others="expert", max_turns=2
    )
    counted = RecordEpisodeStatistics(envs)
    counted.reset(seed=3)
    expert = single_agent("sudoku_v0", agent="planner_1", others="expert", max_turns=2)
    expert.reset(seed=3)
    solution = expert.agent.env.unwrapped.expert("planner_1")
    _, rewards, terminations, _, infos = counted.step([solution, "hello"])
    assert terminations.tolist() == [True, False]
    assert infos["success"].tolist() == [True, False]
    assert infos["_success"].tolist() == [True, False]
    assert infos["episode"]["r"][0] == rewards[0] > 0
    assert infos["episode"]["l"][0] == 1
    envs.close()


def test_infos_find_their_way_back():
    """Gymnasium's DictInfoToList gives every environment its own again."""
    infos = [
        {"error": None, "parts": {"team": 1.0}, "n": 1, "ok": True},
        {"error": "longer than the first", "parts": {}, "n": 2**70},
        {"parts": {"team": 0.25, "own": 2}, "ok": False, "n": 3},
    ]
    together = batch_infos(infos)
    assert together["_ok"].tolist() == [True, False, True]
    assert (together["ok"].dtype, together["n"].dtype) == (np.bool_, object)
    assert DictInfoToList(_Infos(3))._convert_info_to_list(together) == infos


@pytest.mark.parametrize(
    ("values", "dtype", "column"),
    [
        ([1, 0.5, None], np.float64, [1.0, 0.5, 0.0]),  # not cut to the first one's int
        ([1, 2, None], np.int64, [1, 2, 0]),
        ([True, False, None], np.bool_, [True, False, False]),
        ([True, 2, None], object, [True, 2, None]),
        (["a", "漢字", None], object, ["a", "漢字", None]),
        ([np.array([1, 2]), np.array([3, 4]), None], np.int64, [[1, 2], [3, 4], [0, 0]]),
        ([{"a": 1}, 3, None], object, [{"a": 1}, 3, None]),
    ],
)
def test_numbers_keep_their_values(values, dtype, column):
    infos = [{} if value is None else {"x": value} for value in values]
    together = batch_infos(infos)
    assert together["x"].dtype == dtype
    assert together["x"].tolist() == column
    assert together["_x"].tolist() == [True, True, False]


@pytest.mark.slow
def test_the_example(capsys, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["vector.py", "--episodes", "8"])
    runpy.run_path(str(EXAMPLES / "vector.py"), run_name="__main__")
    assert "episodes solved by tiny" in capsys.readouterr().out
