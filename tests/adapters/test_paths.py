"""A user's learner and environment, in files outside the package, through the real command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from llmzoo.cli import main
from llmzoo.cli.arguments import add_cwd_to_path, make_run_name

LEARNER = '''
from dataclasses import dataclass

import torch

from llmzoo.learners.groups import JointConfig, JointLearner


@dataclass(frozen=True, slots=True, kw_only=True)
class BestOnlyConfig(JointConfig):
    share: float = 1.0  # advantage of the best answer


class BestOnly(JointLearner):
    """Credit: the best answer gets it all."""

    Config = BestOnlyConfig

    def credit(self, group):
        returns = torch.tensor(group.returns)
        return self.config.share * (returns == returns.max()).float()


class NoLearner:
    pass
'''
ENV = '''
from llmzoo.envs.base import Outcome, TextEnv


class Echo(TextEnv):
    """Paid for the letter that it was shown."""

    def __init__(self, *, split="train", letters="ab", **kwargs):
        super().__init__(["speaker_0"], max_turns=1, **kwargs)
        self.letters = letters

    def reset_task(self, rng, task):
        return rng.choice(self.letters)

    def observation(self, state, agent):
        return f"Say {state}"

    def apply(self, state, actions):
        (text,) = actions.values()
        right = text.strip().startswith(state)
        return state, Outcome(team=float(right), done=True, success=right)

    def expert(self, agent):
        return self.episode


def numbers(split="train"):
    import pettingzoo

    return pettingzoo.make("aec", "classic/rps-v2")


def no_split():
    return Echo()


def no_env(split="train"):
    return "an environment"


A_NUMBER = 3
'''


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "paths_learner.py").write_text(LEARNER)
    (tmp_path / "paths_env.py").write_text(ENV)
    (tmp_path / "paths_needs.py").write_text("import no_such_package")
    # lies about under the name of a package that training imports
    (tmp_path / "safetensors.py").write_text("raise SystemExit('this is not safetensors')")
    return tmp_path


@pytest.fixture
def here(folder, monkeypatch):
    """This process works in the folder; what it imports from there is forgotten after the test."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield folder
    for name in ("paths_env", "paths_learner", "paths_needs"):
        sys.modules.pop(name, None)


def llmzoo(folder, *argv):
    """The installed command, in a process of its own, started in ``folder``."""
    program = Path(sys.executable).with_name("llmzoo")
    return subprocess.run(
        [str(program), *map(str, argv)],
        cwd=folder,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1"},
        timeout=300,
    )


SMALL = ["--episodes_per_step", "2", "--eval_tasks", "2", "--max_new_tokens", "4"]


@pytest.fixture
def call(here, capsys):
    """``call("eval", ...)`` gives what the command prints in this process, which must succeed."""

    def call(*argv):
        capsys.readouterr()
        code = main([str(part) for part in argv])
        said = capsys.readouterr()
        assert code == 0, said.err
        return said.out

    return call


@pytest.mark.slow
def test_train_eval_and_resume_with_both(folder, small_model, call):
    """In a process of its own, where the trap under the name of safetensors could be imported."""
    both = ["--env", "paths_env:Echo", "--learner", "paths_learner:BestOnly"]
    options = ["--env.letters", "abc", "--learner.share", 0.5, "--steps", 1, "--json", "--quiet"]
    said = llmzoo(folder, "train", *both, "--model", small_model, *SMALL, *options)
    assert said.returncode == 0, said.stderr
    report = json.loads(said.stdout.splitlines()[-1])
    assert (report["run"], report["steps"]) == ("runs/paths_env.Echo-paths_learner.BestOnly-0", 1)
    run = folder / report["run"]
    config = json.loads((run / "config.json").read_text())
    assert (config["env"], config["learner"]) == ("paths_env:Echo", "paths_learner:BestOnly")
    assert config["env_args"] == {"letters": "abc"}
    assert config["learner_args"] == {"share": 0.5}
    assert report["after"]["env"] == "paths_env:Echo"

    said = call("train", "--resume", run, *both, "--steps", 2, "--json", "--quiet")
    assert json.loads(said.splitlines()[-1])["steps"] == 2
    said = call("eval", "--env", "paths_env:Echo", "--policy", run, "--tasks", 3, "--json")
    assert json.loads(said)["tasks"] == 3


@pytest.mark.slow
def test_bench_names_its_runs(folder, small_model, call):
    argv = ["--envs", "paths_env:Echo", "--learners", "magrpo,paths_learner:BestOnly", "--seeds", 0]
    call("bench", *argv, "--model", small_model, *SMALL, "--steps", 1, "--out", "bench")
    assert {run.name for run in (folder / "bench" / "runs").iterdir()} == {
        "paths_env.Echo-magrpo-0",
        "paths_env.Echo-paths_learner.BestOnly-0",
    }
    rows = json.loads((folder / "bench" / "results.json").read_text())
    assert {row["learner"] for row in rows} == {"magrpo", "paths_learner:BestOnly"}


def test_eval_and_play(call):
    argv = ["--env", "paths_env:Echo", "--policy", "expert"]
    assert json.loads(call("eval", *argv, "--tasks", 5, "--json"))["success"] == 1.0
    assert "speaker_0 answers" in call("play", *argv)


def test_the_last_line_is_json_although_pygame_greets(folder):
    argv = ["--env", "llmzoo.adapters.classic:connect_four", "--policy", "noisy_expert"]
    said = llmzoo(folder, "eval", *argv, "--tasks", 3, "--env.success", "player_1", "--json")
    assert said.returncode == 0, said.stderr
    assert json.loads(said.stdout)["tasks"] == 3


@pytest.mark.parametrize(
    ("env", "reason"),
    [
        ("paths_envs:Echo", "no module named 'paths_envs', neither installed nor in the folder"),
        ("paths_env:Ecko", "Did you mean 'Echo'?"),
        ("paths_env.py:Echo", "write it as for an import, such as paths_env:Echo"),
        ("./paths_env.py:Echo", "write it as for an import, such as paths_env:Echo"),
        ("paths_env:", "such as package.module:name"),
        ("paths_env:Echo.x", "such as package.module:name"),
        ("paths_needs:x", "paths_needs imports 'no_such_package', which is not installed"),
        ("paths_env:A_NUMBER", "paths_env:A_NUMBER makes no environment: it is 3"),
        ("paths_env:no_split", "one of them is split"),
        ("paths_env:no_env", "gave str, not an environment of PettingZoo"),
        ("paths_env:numbers", "discrete_to_text"),
    ],
)
def test_paths_that_lead_to_no_environment(here, env, reason, capsys):
    assert main(["eval", "--env", env, "--policy", "random", "--tasks", "2"]) == 2
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize(
    ("learner", "reason"),
    [
        ("paths_learners:BestOnly", "no module named 'paths_learners'"),
        ("paths_learner:BestOny", "Did you mean 'BestOnly'?"),
        ("paths_learner:NoLearner", "is not a learner: it does not define Config and plan"),
        ("paths_learner:dataclass", "is not a learner: it does not define Config"),
    ],
)
def test_paths_that_lead_to_no_learner(here, learner, reason, capsys):
    assert main(["train", "--learner", learner]) == 2
    assert reason in capsys.readouterr().err
    assert not (here / "runs").exists()


def test_a_learner_that_needs_an_argument_which_the_environment_lacks(here, capsys):
    assert main(["train", "--learner", "grpo", "--env", "paths_env:Echo"]) == 2
    said = capsys.readouterr().err
    assert "learner 'grpo' needs an environment with num_agents=1" in said


def test_the_working_directory_is_searched_only_for_a_path(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [p for p in sys.path if p not in ("", str(folder))])
    before = list(sys.path)
    add_cwd_to_path("sudoku_v0")
    assert sys.path == before
    add_cwd_to_path("paths_env:Echo")
    add_cwd_to_path("paths_learner:BestOnly")
    assert sys.path == [*before, str(folder)]  # at the end: what is installed comes first


def test_run_names_are_file_names():
    assert make_run_name("sudoku_v0", "grpo", 3) == "sudoku_v0-grpo-3"
    assert make_run_name("a.b:c", "d:E", 0) == "a.b.c-d.E-0"
