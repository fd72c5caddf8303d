"""How options are read."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
import yaml

from llmzoo.cli.options import (
    CommandOptions,
    check_types,
    describe_type,
    parse_names,
    parse_options,
)
from llmzoo.envs import hub as hub_sets
from llmzoo.envs import sources
from llmzoo.errors import ConfigError, UnknownNameError


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What is set.

    Args:
        env: an id.
        steps: how many.
    """

    env: str = "sudoku_v0"
    env_args: Mapping[str, Any] = field(default_factory=dict)
    eval_tasks: int = 3
    rate: float | None = None


@dataclass(frozen=True, kw_only=True)
class Flags(CommandOptions):
    """What is switched."""

    json: bool = False
    out: str | None = None


def given(*argv: str) -> dict[str, Any]:
    return parse_options("test", argv, Flags, Settings)


def test_only_what_was_given():
    assert given() == {}
    assert given("--eval_tasks", "4", "--rate=1e-3") == {"eval_tasks": 4, "rate": 0.001}


def test_dashes_are_as_good_as_underscores_in_names_and_stay_in_values():
    assert given("--eval-tasks", "4", "--out=a-b") == {"eval_tasks": 4, "out": "a-b"}


def test_a_bool_needs_no_value():
    assert given("--json") == {"json": True}
    assert given("--json", "false") == {"json": False}
    assert given("--json", "--out", "x") == {"json": True, "out": "x"}


def test_a_switch_of_a_family_needs_no_value_either():
    assert given("--env.walls", "--json") == {"env_args": {"walls": True}, "json": True}
    assert given("--env.walls") == {"env_args": {"walls": True}}
    assert given("--env.depth", "-1") == {"env_args": {"depth": -1}}


def test_a_mapping_in_parts(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("env_args: {world: {size: 4, holes: true}}\n")
    result = given("--config", str(path), "--env.world.size", "9", "--env.world.rate", "1e-4")
    assert result["env_args"] == {"world": {"size": 9, "holes": True, "rate": 1e-4}}


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (int | None, "a whole number"),
        (float, "a number"),
        (bool, "true or false"),
        (Literal["a", 2], "one of a, 2"),
        (Literal["a"] | str, "a or a text"),
        (tuple[str, ...], "a list of texts, such as [a, b]"),
        (list[dict[str, Any]], "a list of mappings"),
        (list[int], "a list"),
        (list, "a list"),
        (Mapping[str, Any], "a mapping of names to values"),
    ],
)
def test_types_in_words(hint, words):
    assert describe_type(hint) == words


def test_environment_arguments_stand_beside_the_environment():
    result = given("--env", "x_v0", "--env.size", "4", "--env.prompt=terse", "--env.walls=[1, 2.5]")
    assert result == {"env": "x_v0", "env_args": {"size": 4, "prompt": "terse", "walls": [1, 2.5]}}


def test_a_file_and_the_line_are_merged_and_the_later_wins(tmp_path):
    path = tmp_path / "some.yaml"
    path.write_text("env: x_v0\nenv_args: {size: 4, clues: 6}\neval_tasks: 9\njson: true\n")
    result = given("--config", str(path), "--env.size", "9", "--eval-tasks", "1")
    assert result == {
        "env": "x_v0",
        "env_args": {"size": 9, "clues": 6},
        "eval_tasks": 1,
        "json": True,
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("eval_taks: 9\n", "unknown key of .*some.yaml, 'eval_taks'. Did you mean 'eval_tasks'?"),
        ("eval_tasks: many\n", "--eval_tasks must be a whole number, got many"),
        ("env: [x\n", "is not YAML"),
        ("just text\n", "must hold a mapping"),
        ("", "must hold a mapping"),
    ],
)
def test_a_file_that_cannot_be_meant(tmp_path, text, message):
    path = tmp_path / "some.yaml"
    path.write_text(text)
    with pytest.raises((ConfigError, UnknownNameError), match=message):
        given("--config", str(path))


def test_print_config_writes_a_file_that_can_be_read_again(tmp_path, capsys):
    with pytest.raises(SystemExit):
        given("--env.size", "9", "--eval_tasks", "7", "--print-config")
    path = tmp_path / "printed.yaml"
    path.write_text(capsys.readouterr().out)
    result = given("--config", str(path))
    assert result["env_args"] == {"size": 9}
    assert result["eval_tasks"] == 7


def test_fields_left_out_are_unknown():
    with pytest.raises(UnknownNameError, match="--rate"):
        parse_options("test", ["--rate", "1"], Flags, Settings, without={"rate"})


def test_no_abbreviations():
    with pytest.raises(UnknownNameError, match="--eval_tasks"):
        given("--eval", "3")


def test_typed():
    hints = {"size": int, "prompt": Literal["full", "terse"], "rate": float | None}
    assert check_types(hints, {"size": 4, "prompt": "terse"}, "argument") == {
        "size": 4,
        "prompt": "terse",
    }
    assert check_types(hints, {"rate": 1}, "argument") == {"rate": 1.0}
    with pytest.raises(ConfigError, match="argument 'size' must be a whole number, got 'x'"):
        check_types(hints, {"size": "x"}, "argument")
    with pytest.raises(ConfigError, match="must be one of full, terse, got 'long'"):
        check_types(hints, {"prompt": "long"}, "argument")
    with pytest.raises(UnknownNameError, match="Did you mean 'size'"):
        check_types(hints, {"sise": 4}, "argument")


def test_names():
    assert parse_names("a, b,c") == ["a", "b", "c"]
    assert parse_names(["a", "b"]) == ["a", "b"]
    assert parse_names(3) == ["3"]
    assert parse_names([0, 1]) == ["0", "1"]


def test_a_source_that_was_asked_for_is_the_only_one_that_is_tried(llmzoo, monkeypatch):
    """The command looks at an environment's arguments before it makes one; that asks no network."""
    asked = []
    monkeypatch.setattr(sources, "_loaded", {})
    monkeypatch.setattr(hub_sets, "load_records", lambda *args: asked.append(args) or iter(()))
    said = llmzoo("play", "mbpp_v0", "--policy", "expert", "--source", "sample")
    assert said.code == 0
    assert asked == []


@pytest.mark.parametrize(
    ("option", "here"),
    [
        ("--lr", "--learner.learning_rate"),
        ("--learning-rate", "--learner.learning_rate"),
        ("--batch_size", "--episodes_per_step"),
        ("--max_turns", "--env.max_turns"),
        ("--rank", "--lora.r"),
        ("--num_generations", "--learner.group_size"),
        ("--max_steps", "--steps"),
    ],
)
def test_names_of_other_tools_lead_to_ours(option, here):
    from llmzoo.cli.train import TrainOptions
    from llmzoo.training import FitConfig

    with pytest.raises(ConfigError, match=f"Did you mean '{here}'"):
        parse_options("train", [option, "3"], TrainOptions, FitConfig)


def test_print_config_prints_every_default(capsys):
    from llmzoo.cli.train import TrainOptions
    from llmzoo.training import FitConfig

    with pytest.raises(SystemExit):
        parse_options("train", ["--steps", "3", "--print_config"], TrainOptions, FitConfig)
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["steps"] == 3
    assert printed["episodes_per_step"] == 16
    assert {field.name for field in dataclasses.fields(FitConfig)} <= printed.keys()
