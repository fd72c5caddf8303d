"""Our environments behind rLLM's interface.

rLLM is on no package index, so this does not run inside it. ``BaseEnv`` below stands in for the
class of rllm-org/rllm, file ``rllm/environments/base/base_env.py``: the same members, abstract where
they are. ``played`` calls an environment in the order in which ``AgentExecutionEngine`` does (file
``rllm/engine/agent_execution_engine.py``, commit 0360a2546449c56f3b7b5bead58c5f87ccd55bc3).
"""

from __future__ import annotations

import importlib
import runpy
import sys
import types
from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor

import pytest
from pages import ROOT
from toy_envs import Adder

import llmzoo
from llmzoo import registry
from llmzoo.adapters import rllm
from llmzoo.adapters.rllm import RllmEnv, make_rows
from llmzoo.errors import ConfigError, UnknownNameError
from llmzoo.policies import load
from llmzoo.rollout.episodes import play_episodes


class BaseEnv(ABC):
    @property
    def idx(self):
        return None

    @abstractmethod
    def reset(self): ...

    @abstractmethod
    def step(self, action): ...

    def close(self):
        return

    @staticmethod
    @abstractmethod
    def from_dict(info): ...

    @property
    def supports_parallel_step(self):
        return False

    @staticmethod
    def is_multithread_safe():
        return True


@pytest.fixture(autouse=True)
def toys(monkeypatch):
    monkeypatch.setattr(registry, "_specs", dict(registry._specs))
    registry._specs["adder_v0"] = registry.EnvSpec(
        id="adder_v0", entry_point=lambda split="train", **given: Adder(**given)
    )


def played(row, answers, max_steps=20):
    """An episode as rLLM's engine drives it: rewards of the steps, observations, the last info."""
    env = RllmEnv.from_dict(row)
    env.idx = 3
    observation, info = env.reset()
    info["max_steps"] = max_steps  # the engine writes into what it is given
    seen, rewards = [observation], []
    for answer in answers:
        observation, reward, done, info = env.step(answer)
        info["max_steps"] = max_steps
        seen.append(observation)
        rewards.append(reward)
        if done:
            break
    env.close()
    return rewards, seen, info


def test_it_has_every_member_of_the_interface():
    public = {name for name in vars(BaseEnv) if not name.startswith("_")}
    env = RllmEnv("adder_v0", agent="b_1", others=lambda text: "1")
    assert public <= set(dir(env))
    assert env.idx is None
    assert not env.supports_parallel_step
    assert RllmEnv.is_multithread_safe()
    for name in ("from_dict", "is_multithread_safe"):
        assert isinstance(vars(RllmEnv)[name], staticmethod)


def test_where_rllm_is_installed_it_is_one_of_its_environments(monkeypatch):
    for name in ("rllm", "rllm.environments", "rllm.environments.base"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    base = types.ModuleType("rllm.environments.base.base_env")
    base.BaseEnv = BaseEnv
    monkeypatch.setitem(sys.modules, base.__name__, base)
    spec = importlib.util.find_spec("llmzoo.adapters.rllm")
    again = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(again)
    assert issubclass(again.RllmEnv, BaseEnv)
    assert isinstance(again.RllmEnv("adder_v0", agent="a_0", others=lambda text: "1"), BaseEnv)


def test_a_step_pays_everything_up_to_the_agents_next_turn():
    """a_0 writes 1 and 5, b_1 2 and 4: a_0 is paid 1, then 5 and the team's (1 + 2 + 5 + 4) / 10."""
    answers = iter("24")
    env = RllmEnv("adder_v0", agent="a_0", others=lambda text: next(answers), args={"max_turns": 2})
    assert env.reset()[0] == "a_0 0 "
    assert env.step("1")[:3] == ("a_0 1 1.0 2.0", 1.0, False)
    _, reward, done, info = env.step("5")
    assert (reward, done) == (pytest.approx(6.2), True)
    assert info["reward_components"] == pytest.approx({"number": 5.0, "team": 1.2})
    assert (info["truncated"], info["success"]) == (True, True)


def test_thoughts_are_no_part_of_an_answer():
    env = RllmEnv("adder_v0", agent="a_0", others=lambda text: "2", args={"max_turns": 1})
    env.reset()
    # a_0's own 5, and the team's (5 + 2) / 10
    assert env.step("<think>1</think>5")[1] == pytest.approx(5.7)


def test_expert_answers_solve_the_rows_and_nonsense_does_not():
    table = make_rows("sudoku_v0", 4, agent="planner_1", others="expert", split="test", seed=10)
    assert [(row["task"], row["seed"]) for row in table] == [(0, 10), (1, 11), (2, 12), (3, 13)]
    assert len({row["uid"] for row in table}) == 4
    plays = play_episodes(
        lambda: llmzoo.make("sudoku_v0", split="test"),
        load("expert"),
        [row["seed"] for row in table],
        tasks=[row["task"] for row in table],
    )
    for row, play in zip(table, plays, strict=True):
        mine = play.decisions_of("planner_1")
        rewards, seen, info = played(row, [d.completion.text for d in mine])
        assert seen[: len(mine)] == [d.observation for d in mine]
        assert sum(rewards) == pytest.approx(play.totals["planner_1"])
        assert info["success"] is True
        rewards, _, info = played(row, ["nonsense"] * 20)
        assert (sum(rewards), info["success"]) == (0.0, False)
        assert info["error"].startswith("malformed")


def test_a_group_of_a_row_meets_the_same_chance_in_threads_side_by_side():
    (row,) = make_rows("sudoku_v0", 1, agent="planner_1", others="noisy_expert", seed=5)
    with ThreadPoolExecutor(8) as threads:
        episodes = list(threads.map(lambda _: played(row, ["nonsense"] * 20), range(16)))
    assert all(one == episodes[0] for one in episodes)
    other = played({**row, "seed": 6}, ["nonsense"] * 20)
    assert other[1] != episodes[0][1]


def test_policies_by_name_are_loaded_once_for_all_environments(monkeypatch):
    loaded = []
    fill_other_agents = rllm.fill_other_agents
    monkeypatch.setattr(
        rllm, "fill_other_agents", lambda *a: loaded.append(a) or fill_other_agents(*a)
    )
    rllm._load_policies.cache_clear()
    for row in make_rows("sudoku_v0", 3, agent="planner_1", others="expert"):
        RllmEnv.from_dict(row)
        RllmEnv.from_dict({**row, "others": {"proposer_0": "expert"}})
    assert len(loaded) == 1


def test_rows_end_where_the_split_does():
    assert len(make_rows("debate_v0", 1000, agent="pro_0", others="noisy_expert")) == 61


def test_columns_of_the_dataset_that_are_not_ours_are_passed_over():
    row = {**make_rows("sudoku_v0", 1, agent="planner_1", others="expert")[0], "data_source": "x"}
    assert RllmEnv.from_dict(row).reset()[0].startswith("You are the planner")


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(ConfigError, match="env_id"):
        RllmEnv.from_dict({"seed": 1})
    with pytest.raises(UnknownNameError, match="Did you mean 'planner_1'"):
        RllmEnv("sudoku_v0", agent="planner", others="expert")
    with pytest.raises(ConfigError, match="nobody plays proposer_0"):
        RllmEnv("sudoku_v0", agent="planner_1")
    with pytest.raises(ConfigError, match="at least 1"):
        make_rows("sudoku_v0", 0, agent="planner_1")


@pytest.mark.slow
def test_the_example_runs(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rllm_env.py"])
    runpy.run_path(str(ROOT / "examples/adapters/rllm_env.py"), run_name="__main__")
    assert "success" in capsys.readouterr().out
