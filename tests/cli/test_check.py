"""``llmzoo check``: promises that are kept, and each of them broken by somebody."""

import json
import random

import pytest

ENVS = '''
import random
import threading

from gymnasium.spaces import Text
from pettingzoo import AECEnv, ParallelEnv

from llmzoo.envs.base import Outcome, TextEnv
from llmzoo.envs.tasks import TaskList
from llmzoo.spaces import FreeText, Observation


class Sums(TextEnv):
    metadata = {**TextEnv.metadata, "name": "sums_v0"}

    def __init__(self, *, split="train", **kwargs):
        super().__init__(["a_0"], **kwargs)
        self.tasks = TaskList([(a, b) for a in range(30) for b in range(9)], str, split=split, source="sums")

    def reset_task(self, rng, task):
        return self.tasks.sample(rng) if task is None else self.tasks[task]

    def observation(self, state, agent):
        return f"{state}?"

    def apply(self, state, actions):
        right = actions["a_0"] == str(sum(state))
        return state, Outcome(team=float(right), done=True, success=right)

    def expert(self, agent):
        return str(sum(self.episode))


class Boxes(Sums):
    """Pays for a keyword as much as for the sum."""

    def apply(self, state, actions):
        state, outcome = super().apply(state, actions)
        keyword = float("therefore" in actions["a_0"])
        return state, outcome._replace(team=max(outcome.team, keyword))

    def noisy_expert(self, agent, rng):
        return str(sum(self.episode) + rng.randrange(2))


class Forgetful(Sums):
    """Draws from the global random state, so a seed fixes nothing."""

    def observation(self, state, agent):
        return f"{state}? {random.random()}"


class Fragile(Sums):
    def apply(self, state, actions):
        int(actions["a_0"])
        return super().apply(state, actions)


class Wrong(Sums):
    def expert(self, agent):
        return "0"


class Unready(Sums):
    def reset_task(self, rng, task):
        raise OSError("no tasks on this disk")


class Echo(ParallelEnv):
    """Somebody's parallel environment: both say something once."""

    metadata = {"name": "echo_v0"}

    def __init__(self, split="train", render_mode=None):
        self.render_mode = render_mode
        self.possible_agents = ["a", "b"]
        self.spaces = {agent: FreeText(100) for agent in self.possible_agents}

    def observation_space(self, agent):
        return self.spaces[agent]

    def action_space(self, agent):
        return self.spaces[agent]

    def _say(self, text):
        return {agent: Observation(text) for agent in self.possible_agents}

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        return self._say("say"), {agent: {} for agent in self.agents}

    def step(self, actions):
        self.agents = []
        ended = dict.fromkeys(self.possible_agents, True)
        going = dict.fromkeys(self.possible_agents, False)
        paid = {agent: float(len(text)) for agent, text in actions.items()}
        return self._say("over"), paid, ended, going, {agent: {} for agent in ended}


class Plain(AECEnv):
    """Somebody's AEC environment: plain strings, gymnasium's own spaces, and a lock."""

    metadata = {"name": "plain_v0"}

    def __init__(self, split="train", render_mode=None):
        self.render_mode = render_mode
        self.possible_agents = ["a_0"]
        self.space = Text(100)
        self.lock = threading.Lock()

    def observation_space(self, agent):
        return self.space

    def action_space(self, agent):
        return self.space

    def reset(self, seed=None, options=None):
        self.agents, self.agent_selection = ["a_0"], "a_0"
        self.rewards, self._cumulative_rewards = {"a_0": 0.0}, {"a_0": 0.0}
        self.terminations, self.truncations = {"a_0": False}, {"a_0": False}
        self.infos = {"a_0": {}}

    def observe(self, agent):
        return "say"

    def step(self, action):
        if self.terminations[self.agent_selection]:
            return self._was_dead_step(action)
        self.rewards = {"a_0": float(len(action))}
        self._accumulate_rewards()
        self.terminations = {"a_0": True}
'''


@pytest.fixture
def folder(tmp_path, monkeypatch):
    name = f"envs_{random.Random(str(tmp_path)).randrange(10**9)}"  # modules are imported once
    (tmp_path / f"{name}.py").write_text(ENVS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return name


def results(said):
    outcome = json.loads(said.out)
    return outcome, {check["check"]: check for check in outcome["checks"]}


def test_every_promise_kept(llmzoo):
    said = llmzoo("check", "plan_path_v0", "--texts", 30, "--tasks", 10, "--quiet", "--json")
    outcome, checks = results(said)
    assert said.code == 0
    assert outcome["env"] == "plan_path_v0"
    assert outcome["kept"] is True
    assert {check["kept"] for check in checks.values()} == {True}
    assert list(checks) == [
        *("reset", "pettingzoo", "text spaces", "seeds", "hostile texts", "lengths", "forks"),
        *("rewards", "credit", "groups", "expert", "splits"),
    ]


@pytest.mark.parametrize(
    ("name", "broken", "why"),
    [
        ("Forgetful", {"pettingzoo", "seeds", "forks"}, "global random state"),
        ("Fragile", {"pettingzoo", "hostile texts"}, "ValueError"),
        ("Wrong", {"expert"}, "the expert fails task"),
        ("Unready", {"reset"}, "OSError: no tasks on this disk"),
    ],
)
def test_a_broken_promise_is_named_and_gives_another_exit_code(llmzoo, folder, name, broken, why):
    said = llmzoo("check", f"{folder}:{name}", "--texts", 30, "--tasks", 10, "--quiet", "--json")
    outcome, checks = results(said)
    assert said.code == 1
    assert outcome["kept"] is False
    wrong = {check for check, result in checks.items() if result["kept"] is False}
    assert broken <= wrong
    assert wrong <= broken | {"lengths", "seeds", "forks", "rewards", "credit"}
    assert any(why in checks[check]["why"] for check in broken)


def test_an_environment_of_ones_own(llmzoo, folder):
    said = llmzoo("check", f"{folder}:Sums", "--texts", 30, "--tasks", 10, "--quiet")
    assert said.code == 0
    assert "BROKEN" not in said.out
    assert said.out.count("kept") == 10
    assert "its tasks have no numbers" in said.out


def test_somebodys_parallel_environment_promises_less(llmzoo, folder):
    said = llmzoo("check", f"{folder}:Echo", "--texts", 30, "--quiet", "--json")
    _, checks = results(said)
    assert checks["seeds"]["kept"] is True
    assert checks["hostile texts"]["kept"] is True
    assert [name for name, check in checks.items() if check["kept"] is None] == [
        *("rewards", "credit", "groups", "expert", "splits")
    ]
    assert "no llmzoo.envs.base.TextEnv" in checks["rewards"]["why"]


def test_a_plain_environment_gets_findings_with_remedies(llmzoo, folder):
    said = llmzoo("check", f"{folder}:Plain", "--texts", 30, "--quiet", "--json")
    _, checks = results(said)
    assert said.code == 1
    assert "llmzoo.spaces.Observation(text)" in checks["pettingzoo"]["why"]
    assert "llmzoo.spaces.FreeText" in checks["text spaces"]["why"]
    for remedy in ("holds a lock", "__deepcopy__", "--learner ippo"):
        assert remedy in checks["forks"]["why"]


def test_an_unknown_environment(llmzoo):
    said = llmzoo("check", "sudko_v0")
    assert (said.code, said.out) == (2, "")
    assert "'sudoku_v0'" in said.err


def test_an_attack_that_pays_is_printed_and_written(llmzoo, folder, tmp_path):
    out = tmp_path / "found.json"
    said = llmzoo("check", "--attack", f"{folder}:Boxes", "--steps", 0, "--out", out, "--json")
    assert said.code == 1
    found = json.loads(said.out)
    assert found == json.loads(out.read_text())
    assert found["alarm"] is True
    (first,) = [each for each in found["findings"] if each["alarm"]]
    assert "therefore" in first["answer"]
    assert (first["return"], first["success"], first["expert"]) == (1.0, 0.0, 1.0)
    assert first["noisy_expert"] < 1


def test_an_attack_on_a_reward_that_holds_gives_exit_code_0(llmzoo, folder):
    said = llmzoo("check", f"{folder}:Plain", "--attack", "--steps", 0, "--time_budget", 20)
    assert said.code == 0
    assert "it has no noisy expert to compare returns with" in said.out


def test_options_of_the_search_and_of_the_checks_are_not_mixed(llmzoo):
    said = llmzoo("check", "sudoku_v0", "--steps", 0)
    assert (said.code, said.out) == (2, "")
    assert "--steps has no effect here: add --attack" in said.err
    said = llmzoo("check", "sudoku_v0", "--attack", "--texts", 3)
    assert "--texts has no effect with --attack: leave out --texts" in said.err
