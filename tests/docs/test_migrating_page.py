"""The tables of docs/migrating.md name settings, learners and environments that exist."""

from __future__ import annotations

import inspect
import re
from dataclasses import fields

from pages import ROOT
from peft import LoraConfig

import llmzoo
from llmzoo.learners import learner_class
from llmzoo.training.config import FitConfig

PAGE = (ROOT / "docs" / "migrating.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGE.splitlines()
    if re.match(r"\| (?!---|\|)", line) and line.count("|") == 4
]
HERE = [token for row in ROWS for token in re.findall(r"`([^`]+)`", row[1])]
OURS = {field.name for field in fields(FitConfig)}


def test_the_tables_are_read():
    assert len(ROWS) > 50


def test_options_of_learners_exist():
    named = {t.removeprefix("learner_args.") for t in HERE if re.fullmatch(r"learner_args\.\w+", t)}
    known = {
        field.name
        for name in llmzoo.list_learners()
        for field in fields(learner_class(name).Config)
    }
    assert named
    assert named <= known


def test_other_settings_exist():
    agent = {"policy", "frozen", "learning_rate", "temperature"}
    lora = set(inspect.signature(LoraConfig).parameters)
    env = set(inspect.signature(type(llmzoo.make("sudoku_v0").unwrapped)).parameters)
    for token in HERE:
        match token.split("."):
            case ["agent_args", name]:
                assert name in agent, token
            case ["lora_args", name]:
                assert name in lora, token
            case ["env_args", name]:
                assert name in env, token
    bare = {t for t in HERE if re.fullmatch(r"[a-z]\w*", t)}
    words = {"maac", "iac", "mareinforce", "marloo", "madpo", "lora", "separate", "dpo", "sft"}
    words |= {"grpo", "turns", "policies", "group_max", "null", "llmzoo", "from_reward_function"}
    words |= {"coder_0", "tester_1", "fit"}
    assert bare - words - set(llmzoo.list_envs()) <= OURS
    for name, value in (t.split(": ") for t in HERE if ": " in t):
        assert name in OURS, name
        assert name != "learner" or value in llmzoo.list_learners(), value
