"""One thing has the same name in every command, and lists are written alike."""

from __future__ import annotations

import json

import pytest

from llmzoo.cli.bench import VARIED_SETTINGS, BenchOptions
from llmzoo.cli.collect import CollectOptions
from llmzoo.cli.eval import EvalOptions
from llmzoo.cli.options import check_types, parse_names, parse_options
from llmzoo.cli.serve_envs import ServeEnvsOptions
from llmzoo.cli.train import TrainOptions
from llmzoo.errors import ConfigError
from llmzoo.training import FitConfig


def test_the_environment_first_or_by_name():
    for options in (EvalOptions, CollectOptions):
        first = parse_options("x", ["sudoku_v0", "--out", "x"], options)
        assert first == parse_options("x", ["--env", "sudoku_v0", "--out", "x"], options)
    first = parse_options("train", ["sudoku_v0", "--env.max_turns", "2"], TrainOptions, FitConfig)
    assert first == {"env": "sudoku_v0", "env_args": {"max_turns": 2}}


@pytest.mark.parametrize(
    ("argv", "given"),
    [
        ("--env a_v0 --learner grpo --seed 1", {"envs": "a_v0", "learners": "grpo", "seeds": 1}),
        ("--env.size 4 --tasks 3", {"env_args": {"size": 4}, "eval_tasks": 3}),
        ("--learner.kl 0.1 --tasks all", {"learner_args": {"kl": 0.1}, "eval_tasks": "all"}),
        ("--split all", {"eval_split": "all"}),
    ],
)
def test_the_name_in_another_command_will_do(argv, given):
    assert (
        parse_options("bench", argv.split(), BenchOptions, FitConfig, without=VARIED_SETTINGS)
        == given
    )


def test_names_of_training_in_evaluation_and_of_one_where_there_are_several():
    given = parse_options("eval", ["--eval_tasks", "5", "--eval-split", "train"], EvalOptions)
    assert given == {"tasks": 5, "split": "train"}
    given = parse_options("serve envs", ["--env", "a_v0,b_v0"], ServeEnvsOptions)
    assert given == {"envs": "a_v0,b_v0"}


@pytest.mark.parametrize("text", ["a,b", "[a,b]", "[a, b]"])
def test_a_list_with_and_without_brackets(text):
    assert parse_names(text) == ["a", "b"]
    for argv in (["--trackers", text], [f"--trackers={text}"]):
        assert parse_options("train", argv, TrainOptions, FitConfig) == {"trackers": ("a", "b")}
    assert parse_names(parse_options("bench", ["--envs", text], BenchOptions)["envs"]) == ["a", "b"]
    hints = {"rewards": tuple[str, ...], "stop": tuple[str, ...]}
    assert check_types(hints, {"rewards": "a,b"}, "option") == {"rewards": ("a", "b")}
    with pytest.raises(ConfigError, match="list of texts"):
        check_types(hints, {"stop": "a,b"}, "option")  # a comma may be a part of the text


def test_an_empty_list():
    assert parse_options("train", ["--trackers", "[]"], TrainOptions, FitConfig) == {"trackers": ()}


def test_all_tasks_of_a_generator_are_refused_alike(llmzoo, tmp_path):
    for argv in (
        ["eval", "sudoku_v0", "--policy", "expert", "--tasks", "all"],
        ["collect", "sudoku_v0", "--tasks", "all", "--out", tmp_path / "x.jsonl"],
        ["train", "sudoku_v0", "--tasks", "all", "--out", tmp_path / "run"],
        ["check", "tasks", "sudoku_v0", "--tasks", "all"],
    ):
        said = llmzoo(*argv)
        assert said.code == 2
        assert "needs a finite number of tasks, but sudoku_v0 has an unlimited number" in said.err
    assert [*tmp_path.iterdir()] == []


def test_all_tasks_of_a_split_are_played(llmzoo):
    argv = ["eval", "mbpp_v0", "--source", "sample", "--policy", "random", "--split", "all"]
    result = json.loads(llmzoo(*argv, "--tasks", "all", "--json").out)
    assert result["tasks"] == result["split_tasks"] == 21


@pytest.mark.parametrize("command", ["train", "eval", "serve tiny"])
def test_a_wrong_device_is_an_error(llmzoo, command):
    said = llmzoo(*command.split(), "--device", "gpu")
    assert (said.code, said.out) == (2, "")
    assert "device must be cpu, cuda, cuda:NUMBER or mps, got 'gpu'" in said.err
