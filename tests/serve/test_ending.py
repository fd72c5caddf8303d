"""A server that is told to end does, whatever its calls are doing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest

import llmzoo
from llmzoo.serve.channel import RemoteError, connect, parse
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.generated.environments_pb2_grpc import EnvironmentsStub

TESTS = Path(__file__).resolve().parents[1]


@contextmanager
def serving(*options, **variables):
    """A server in a process of its own, and its address; leftovers are killed."""
    process = subprocess.Popen(
        [sys.executable, "-m", "llmzoo", "serve", "--port", "0", "--json", *options],
        env={**os.environ, "PYTHONPATH": f"{TESTS}:{os.environ.get('PYTHONPATH', '')}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process, json.loads(process.stdout.readline())["address"]
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def tokens(tmp_path, monkeypatch):
    """The folder of the tokens that servers leave."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
    return tmp_path / "llmzoo" / "tokens"


def seconds_to_end(process, signals):
    began = time.monotonic()
    for number in signals:
        process.send_signal(number)
        time.sleep(0.2)
    process.wait(40)
    return time.monotonic() - began


def step(env):
    """A step that does not come back before the server ends."""
    env.step("1")
    with pytest.raises(RemoteError):
        env.last()


@pytest.mark.parametrize(
    ("signals", "least", "most"),
    [
        ([signal.SIGTERM], 4.5, 15),  # calls have five seconds
        ([signal.SIGINT], 4.5, 15),
        ([signal.SIGTERM] * 2, 0, 3),  # and none the second time
        ([signal.SIGINT, signal.SIGTERM], 0, 3),
    ],
)
@pytest.mark.parametrize("env", ["hanging:sleeps", "hanging:computes"])
@pytest.mark.samples(1)
def test_a_server_ends_in_the_middle_of_steps(env, signals, least, most, tokens):
    with serving("--envs", env) as (process, address), ThreadPoolExecutor() as pool:
        envs = [llmzoo.make(f"{address}/{env}") for _ in range(3)]
        for one in envs:
            one.reset(seed=1)
            assert one.agent_selection == "a_0"
        steps = [pool.submit(step, one) for one in envs]
        time.sleep(0.5)
        assert least <= seconds_to_end(process, signals) < most
        for one in steps:
            one.result(10)
        assert list(tokens.iterdir()) == []


@pytest.mark.slow
def test_a_server_ends_in_the_middle_of_making_an_environment(tokens):
    with serving("--envs", "hanging:made_slowly") as (process, address):
        stub = EnvironmentsStub(connect(parse(address)))
        call = stub.Describe.future(pb.Spec(env="hanging:made_slowly"), timeout=60)
        time.sleep(0.5)
        assert seconds_to_end(process, [signal.SIGTERM]) < 15
        assert call.exception(10).code() in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.CANCELLED,
        )
        assert list(tokens.iterdir()) == []


def test_a_server_with_nothing_to_do_ends_at_once(tokens):
    with serving("--envs", "sudoku_v0") as (process, _):
        assert seconds_to_end(process, [signal.SIGTERM]) < 3
        assert process.returncode == 0
        assert "the server has ended" in process.stderr.read()
