"""The page shows the effective settings: given ones, and the defaults of a run and of its learner."""

from __future__ import annotations

import json

import pytest
from made_runs import learning, make

from llmzoo.report.run_settings import effective_settings, non_default_settings, settings_table
from llmzoo.report.runs import load_run


def test_settings_that_are_not_the_defaults():
    rates = "by model: 1e-6, LoRA 1e-4; below 10M parameters 2e-4, LoRA 2e-3"
    config = {
        "env": "sudoku_v0",
        "env_args": {"max_turns": 2, "size": 4},  # the size is the environment's default
        "learner": "magrpo",
        "learner_args": {"group_size": 8, "gamma": 1.0, "learning_rate": 1e-5},
        "model": "tiny",
        "max_new_tokens": 32,
        "steps": 7,
        "mine": 1,
    }
    assert non_default_settings(config) == [
        ("env_args.max_turns", 2, 4),
        ("learner", "magrpo", "at_grpo"),
        ("learner_args.group_size", 8, 4),
        ("learner_args.learning_rate", 1e-5, rates),
        ("max_new_tokens", 32, 64),  # of the embedded model
        ("steps", 7, 100),
        ("mine", 1, None),
    ]


def test_a_default_rate_is_that_of_the_learner():
    rates = {}
    for learner in ("dpo", "sft"):
        config = {"learner": learner, "learner_args": {"learning_rate": 3e-3}}
        ((_, _, rates[learner]),) = [row for row in non_default_settings(config) if row[1] == 3e-3]
    assert "LoRA 1e-5;" in rates["dpo"]
    assert "by model: 2e-5, LoRA 2e-4;" in rates["sft"]


def test_a_null_that_stands_for_a_default_is_one():
    config = {
        "learner": "magrpo",
        "learner_args": {"learning_rate": None},
        "model": "tiny",
        "max_new_tokens": None,
    }
    assert non_default_settings(config) == [("learner", "magrpo", "at_grpo")]


def test_a_run_that_was_not_given_an_option_has_its_default(tmp_path):
    made = [make(tmp_path / "a"), make(tmp_path / "b", learner_args={"group_size": 8})]
    made.append(make(tmp_path / "c", learner_args={}))
    first, second, third = (load_run(folder, folder.name) for folder in made)
    rows = {row["name"]: row["values"] for row in settings_table([first, second, third])["rows"]}
    assert rows == {"learner_args.group_size": ["4", "8", "4"]}
    assert settings_table([first, third])["rows"] == []  # both had 4


def test_code_of_others_is_not_imported():
    config = {"learner": "no_such_module:Learner", "learner_args": {"x": 1}, "env": "nor_this:env"}
    assert ("learner_args.x", 1, None) in non_default_settings(config)


def test_the_table_of_differences(tmp_path):
    runs = [load_run(make(tmp_path / str(n), seed=n), str(n)) for n in (0, 1)]
    assert settings_table(runs) == {
        "columns": ["0", "1"],
        "rows": [{"name": "seed", "values": ["0", "1"]}],
    }


def test_all_settings_are_those_that_the_run_used(tmp_path):
    rows = [{**row, "learning_rate": 0.0002} for row in learning(3)]
    used = effective_settings(load_run(make(tmp_path / "a", rows), "a"))
    assert used["learner_args"]["group_size"] == 4  # given
    assert used["learner_args"]["gamma"] == 1.0  # a default
    assert used["learner_args"]["learning_rate"] == 0.0002  # as logged
    assert used["max_new_tokens"] == 64
    json.dumps(used)


@pytest.mark.parametrize("env", ["nowhere_v0", "evil_module:env", "grpc://127.0.0.1:1/sudoku_v0"])
def test_what_a_run_folder_names_is_not_run(env, tmp_path, monkeypatch):
    (tmp_path / "evil_module.py").write_text("raise SystemExit('run')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    given = non_default_settings({"env": env, "env_args": {"size": 4}})
    assert ("env_args.size", 4, None) in given
