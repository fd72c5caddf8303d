"""Every configuration in configs/ says how many tasks its splits have, as the environment counts them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

import llmzoo

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "configs").rglob("*.yaml"))
GAME = "a game of two players has no tasks to hold out; train and test have other seeds"
SHARES = "a hash of the content makes about one in five a test task"


def sizes(env: str, **env_args):
    """The number of tasks in train and in test; None where they are generated without end."""
    counted = []
    for split in ("train", "test"):
        made = llmzoo.make(env, **{**env_args, "split": split})
        made.reset(seed=0)
        counted.append(made.infos[made.agent_selection]["tasks"])
    return tuple(counted)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_each_configuration_says_how_many_tasks_there_are(file):
    (told,) = re.findall(r"^# Tasks: (.*)$", file.read_text(), re.MULTILINE)
    config = yaml.safe_load(file.read_text())
    env, env_args = config["env"], config.get("env_args", {})
    if env_args.get("source") == "hub":  # the environment's page has the number
        page = ROOT / "docs" / "environments" / f"{env.rpartition('_v')[0]}.md"
        (number,) = re.findall(
            r"^\| tasks \| the (\d+) problems of ", page.read_text(), re.MULTILINE
        )
        assert told == f"{number} problems on the hub; {SHARES}"
        return
    if llmzoo.spec(env).family == "duels":
        assert told == GAME
        return
    train, test = sizes(env, **env_args)
    counted = (
        f"generated without end; {SHARES}" if test is None else f"{train} in train, {test} in test"
    )
    assert told == counted
