"""What a client may ask for is bounded, and refused before it takes time or memory."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import grpc
import pytest
from env_servers import hosted, registered
from toy_envs import Adder

from llmzoo.envs.tasks import GeneratedTasks
from llmzoo.errors import ConfigError

LONG = 60.0  # seconds that nothing here takes


@pytest.fixture(scope="module")
def server():
    envs = ["sudoku_v0", "sokoban_v0", "contests_v0", "math_v0", "tool_use_v0", "coop_functions_v0"]
    with hosted(envs=envs, step_s=30.0) as running:
        yield running


@pytest.mark.parametrize(
    ("id", "arguments"),
    [
        ("math_v0", {"num_agents": 2_000_000}),
        ("math_v0", {"num_agents": 65}),
        ("sokoban_v0", {"width": 10**6}),
        ("sokoban_v0", {"walls": float("nan")}),
        ("sokoban_v0", {"walls": float("inf")}),
        ("sudoku_v0", {"max_turns": 1001}),
        ("sudoku_v0", {"max_turns": -1001}),
        ("sudoku_v0", {"max_turns": 10**5000}),
        ("contests_v0", {"time_limit": 1e6}),
        ("contests_v0", {"time_limit": 30.5}),  # a step has 30 s
        ("coop_functions_v0", {"time_limit": 31}),
        ("sudoku_v0", {"team_weight": 1e300}),
    ],
)
def test_numbers_of_arguments_are_bounded(server, id, arguments):
    began = time.process_time()
    with pytest.raises(
        ConfigError, match=r"for a client, who may .* of which this is at most .*--allow"
    ):
        server.make(id, **arguments)
    assert time.process_time() - began < 2


def test_numbers_within_the_bounds_are_taken(server):
    assert server.make("sudoku_v0", max_turns=1000).unwrapped.possible_agents
    assert len(server.make("math_v0", num_agents=2).possible_agents) == 2
    assert server.make("contests_v0", time_limit=30, source="sample").possible_agents


def test_an_operator_may_lift_a_bound():
    with hosted(envs=["sudoku_v0"], allow=["max_turns"]) as server:
        assert server.make("sudoku_v0", max_turns=5000).possible_agents


@pytest.mark.parametrize(
    "how",
    [
        {"options": {"task": 10**9}},
        {"options": {"task": 10**400}},
        {"options": {"task": -(10**9)}},
        {"options": {"task": float("nan")}},
        {"options": {"task": "a" * 201}},
        {"options": {"task": "../../etc/passwd"}},
        {"seed": 2**257},
    ],
)
def test_numbers_of_a_reset_are_bounded(server, how):
    env = server.make("sudoku_v0")
    began = time.process_time()
    env.reset(**{"seed": 1, **how})
    with pytest.raises(ConfigError, match=r"for a client|a seed is an integer of at most 256 bits"):
        env.last()
    assert time.process_time() - began < 2


def test_a_task_that_there_is_not_is_no_fault_of_the_server(server):
    from llmzoo.serve.generated import environments_pb2

    item = environments_pb2.Item(session=bytes(16))
    item.reset.spec.env = "contests_v0"
    item.reset.options.map.entries.add(key="task").value.integer = 99_999
    with pytest.raises(grpc.RpcError) as caught:
        server.stub.Reset(item)
    assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "task 99999 does not exist" in caught.value.details()


def test_nobody_waits_for_the_thousands_of_tasks_that_another_asks_for():
    far, over = threading.Event(), threading.Event()

    def slow(rng):
        far.set()
        if over.wait(0.001):
            raise InterruptedError
        return rng.random()

    def ask():
        with suppress(InterruptedError):
            thousands[10_000]

    thousands = GeneratedTasks(slow, str, split="all", name="slow")
    quick = GeneratedTasks(lambda rng: rng.random(), str, split="all", name="quick")
    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert far.wait(LONG)
    assert 0 <= quick[2] < 1
    assert asking.is_alive()
    over.set()
    asking.join(LONG)


def test_a_session_whose_first_reset_failed_says_so(server):
    env = server.make("sudoku_v0")
    env.reset(options={"task": 10**9})
    with pytest.raises(ConfigError, match="for a client"):
        env.last()
    with pytest.raises(AttributeError, match="no episode yet: reset it"):
        env.last()
    env.reset(seed=1)
    assert env.last()[0]


def test_an_agent_with_a_name_that_is_a_path_is_not_hosted():
    class Climbing(Adder):
        def __init__(self):
            super().__init__()
            self.possible_agents = ["../../a", "b"]

    with (
        registered(it_v0=Climbing),
        hosted(envs=["it_v0"]) as server,
        pytest.raises(
            ConfigError,
            match=r"has an agent '\.\./\.\./a', which is sent to clients, and a name has 1 to 64",
        ),
    ):
        server.make("it_v0")
