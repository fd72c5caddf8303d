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
from inspect import signature
from pathlib import Path

import grpc
import pytest
from waiting import until

import llmzoo
from llmzoo.serve.calls import EnvironmentsStub
from llmzoo.serve.channel import RemoteError, connect, parse_address
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.hosting import GRACE_S, RunningServer

TESTS = Path(__file__).resolve().parents[1]
# the watchdog that kills a process which does not end is not waited for
SERVE = """
import sys
from llmzoo.cli import main, server_lifecycle
from llmzoo.serve.hosting import RunningServer
RunningServer.stop.__defaults__ = (float(sys.argv[1]),)
server_lifecycle.SHUTDOWN_S = server_lifecycle.HURRIED_SHUTDOWN_S = 120.0
sys.exit(main(["serve", "envs", "--port", "0", "--json", *sys.argv[2:]]))
"""


@pytest.fixture
def tokens(no_token_of_mine, tmp_path, monkeypatch):
    """The folder of the tokens that servers leave."""
    monkeypatch.setenv("HANGING", str(tmp_path / "hanging"))
    return tmp_path / "llmzoo" / "tokens"


@contextmanager
def serving(envs, grace_s):
    """A server in a process of its own, and its address; leftovers are killed."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, str(grace_s), "--envs", envs],
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


def hanging():
    """How many steps hang."""
    file = Path(os.environ["HANGING"])
    return file.stat().st_size if file.exists() else 0


def step(env):
    """A step that does not come back before the server ends."""
    env.step("1")
    with pytest.raises(RemoteError):
        env.last()


def has_ended_well(process, tokens):
    code, printed = process.wait(60), process.stderr.read()
    assert code == 0, printed
    assert "the server has ended" in printed
    assert list(tokens.iterdir()) == []


def test_a_signal_that_another_thread_receives_ends_the_wait():
    """The system may give a signal to any thread; a main thread that waited without an end slept on."""
    program = """
import signal, threading, time
from llmzoo.cli.server_lifecycle import install_shutdown_handler, wait_for_shutdown
def send():
    time.sleep(0.1)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
ended = install_shutdown_handler(lambda: None)
threading.Thread(target=send).start()
wait_for_shutdown(ended)
"""
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0


@pytest.mark.parametrize(
    ("env", "signals"),
    [
        ("hanging:sleeps", [signal.SIGTERM]),
        ("hanging:computes", [signal.SIGINT, signal.SIGTERM]),
        pytest.param("hanging:computes", [signal.SIGINT], marks=pytest.mark.slow),
        pytest.param("hanging:sleeps", [signal.SIGTERM, signal.SIGTERM], marks=pytest.mark.slow),
    ],
)
def test_a_server_ends_in_the_middle_of_steps(env, signals, tokens):
    """Calls have some time at the first signal, and none at the second."""
    grace_s = 600 if len(signals) == 2 else 1
    with serving(env, grace_s) as (process, address), ThreadPoolExecutor() as pool:
        envs = [llmzoo.make(f"{address}/{env}") for _ in range(3)]
        for one in envs:
            one.reset(seed=1)
            assert one.agent_selection == "a_0"
        steps = [pool.submit(step, one) for one in envs]
        assert until(lambda: hanging() > 0)
        began = time.monotonic()
        for number in signals:
            assert process.poll() is None
            process.send_signal(number)
            time.sleep(0.1)  # two at once may be one
        has_ended_well(process, tokens)
        if len(signals) == 1:
            assert time.monotonic() - began > 0.9 * grace_s
        for one in steps:
            one.result(60)


def test_how_long_calls_have():
    assert signature(RunningServer.stop).parameters["grace_s"].default == GRACE_S == 5


@pytest.mark.slow
def test_a_server_ends_in_the_middle_of_making_an_environment(tokens):
    with serving("hanging:made_slowly", 0.1) as (process, address):
        stub = EnvironmentsStub(connect(parse_address(address)))
        call = stub.Describe.future(pb.Spec(env="hanging:made_slowly"), timeout=60)
        assert until(hanging)
        process.send_signal(signal.SIGTERM)
        has_ended_well(process, tokens)
        assert call.exception(60).code() in (
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.CANCELLED,
        )


@pytest.mark.slow
def test_a_server_with_nothing_to_do_ends_at_once(tokens):
    with serving("sudoku_v0", 600) as (process, _):
        process.send_signal(signal.SIGTERM)
        has_ended_well(process, tokens)
