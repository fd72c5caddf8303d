"""Programs, in this process and in others, for many episodes: nothing raises, and nothing is left."""

from __future__ import annotations

import gc
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from test_program_env import RELAY, VOTE, play

import llmzoo
from llmzoo.envs.forking import fork
from llmzoo.testing import check_hostile_text, hostile_texts

pytestmark = pytest.mark.slow
EPISODES = 1000
COMMANDS = 60
CALLER = """
import json, os, urllib.request
body = {"model": "a", "messages": [{"role": "user", "content": "?"}]}
request = urllib.request.Request(
    os.environ["OPENAI_BASE_URL"] + "/chat/completions",
    json.dumps(body).encode(),
    {"Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]},
)
print(len(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]))
"""


@pytest.mark.parametrize("env_fn", [RELAY, VOTE], ids=["relay", "vote"])
def test_hostile_completions(env_fn):
    check_hostile_text(env_fn, hostile_texts(2_000))


class Held:
    """What this process holds."""

    def __init__(self, folder: Path):
        gc.collect()
        children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
        self.counts = {
            "threads": threading.active_count(),
            "processes": len(children),
            "descriptors": len(os.listdir("/proc/self/fd")),
            "files": len(list(folder.iterdir())),
        }
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        self.megabytes = pages * os.sysconf("SC_PAGESIZE") / 2**20


def after(folder: Path, before: Held) -> Held:
    """What is held once the threads of dropped episodes have noticed."""
    ends = time.monotonic() + 60
    while (held := Held(folder)).counts != before.counts and time.monotonic() < ends:
        time.sleep(0.1)
    return held


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where temporary files go."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def run_out(env, seed, rng):
    """Play an episode to its end, leave it in the middle, or leave two copies of it."""
    env.reset(seed=seed)
    how = rng.randrange(3)
    if how == 0:
        play(env, lambda observation, agent: "x" * rng.randrange(200))
    elif how == 1:
        env.step("x")
    else:
        fork(env).step("y")
        fork(env)


@pytest.mark.parametrize("env_fn", [RELAY, VOTE], ids=["relay", "vote"])
def test_a_thousand_episodes_leave_nothing(env_fn, folder):
    def many(count):
        env, rng = env_fn(), random.Random(0)
        for seed in range(count):
            run_out(env, seed, rng)
        env.close()

    many(100)
    before = Held(folder)
    many(EPISODES)
    held = after(folder, before)
    assert held.counts == before.counts
    assert held.megabytes < before.megabytes + 20


def test_many_commands_leave_nothing(folder):
    pytest.importorskip("uvicorn")

    def many(count):
        env = llmzoo.from_command(
            [sys.executable, "-S", "-c", CALLER], agents=["a_0"], tasks=["one"], split="all"
        )
        for seed in range(count):
            env.reset(seed=seed)
            if seed % 5:  # the others are dropped
                env.step("x" * (seed % 7))
                assert env.rewards["a_0"] == seed % 7
        env.close()

    many(10)
    before = Held(folder)
    many(COMMANDS)
    held = after(folder, before)
    assert held.counts == before.counts
    assert held.megabytes < before.megabytes + 10
