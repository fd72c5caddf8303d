"""What a client may ask for is bounded, and refused before it takes time or memory."""

from __future__ import annotations

import threading
import time
from contextlib import suppress

import grpc
import pytest
import tiny_models
from env_servers import hosted, registered
from policy_servers import LONG, Gated, asks, client, served, texts
from toy_envs import Adder
from waiting import until

from llmzoo.envs.tasks import GeneratedTasks
from llmzoo.errors import ConfigError
from llmzoo.policies.settings import Sampling
from llmzoo.serve.channel import connect, parse_address
from llmzoo.serve.generated import policies_pb2 as pb
from llmzoo.serve.generated.policies_pb2_grpc import PoliciesStub
from llmzoo.serve.policies import PolicyLimits

# Environments


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


# Policies


def refusal(running, **fields):
    request = pb.GenerateRequest(**{"k": 1, "asks": [pb.Ask(observation="x")], **fields})
    with pytest.raises(grpc.RpcError) as caught:
        list(PoliciesStub(connect(parse_address(running.address))).Generate(request, timeout=LONG))
    return caught.value.code(), caught.value.details()


@pytest.fixture(scope="module")
def tiny():
    """A server of a small model with random weights."""
    with served(tiny_models.policy()) as (running, _):
        yield running


SAMPLING = {"temperature": 1.0, "top_p": 1.0, "max_new_tokens": 9}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"temperature": 1e-308}, "temperature is 0.0001 to 100, got 1e-308"),
        ({"temperature": 9e-5}, "temperature is 0.0001 to 100"),
        ({"temperature": float("inf")}, "temperature is 0.0001 to 100, got inf"),
        ({"temperature": 1e308}, "temperature is 0.0001 to 100"),
        ({"top_p": float("nan")}, "top_p must be in [1e-06, 1]"),
        ({"top_p": 5e-324}, "top_p must be in [1e-06, 1]"),
        ({"top_k": 2**31}, "top_k must be at least 0 and below 2**31"),
        ({"max_new_tokens": 0}, "max_new_tokens is 1 to"),
        ({"stop": ["a"] * 65}, "at most 64 strings"),
        ({"stop": ["a" * 1001]}, "of 1 to 1000 characters"),
        ({"stop": [""]}, "of 1 to 1000 characters"),
    ],
)
def test_settings_of_sampling_are_bounded(tiny, settings, said):
    code, details = refusal(tiny, sampling={**SAMPLING, **settings})
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert said in details


@pytest.mark.parametrize(
    "settings", [{"temperature": 1e-4}, {"temperature": 100.0}, {"top_p": 1e-6}]
)
def test_settings_at_the_bounds_give_finite_probabilities(tiny, settings):
    far = client(tiny, sampling=Sampling(max_new_tokens=9, **settings))
    for answer in far.respond(asks("up", "left"), 3)[0]:
        assert answer.ids
        assert all(-1e9 < logprob <= 0 for logprob in answer.logprobs)


def test_a_prompt_that_is_too_long_is_never_tokenised():
    model = Gated()
    with served(model, prompt_characters=1000, call_characters=2500) as (running, _):
        code, said = refusal(running, asks=[pb.Ask(observation="x" * 1001)])
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert "at most 1000 characters here" in said
        code, said = refusal(running, asks=[pb.Ask(observation="x" * 900)] * 3)
        assert code is grpc.StatusCode.INVALID_ARGUMENT
        assert "and those of a call 2500, got 900 and 2700" in said
        assert model.calls == []


def test_a_client_divides_by_characters_and_answers_what_is_too_long_with_nothing():
    model = tiny_models.FakePolicy(lambda request, i: request.observation[:1])
    with served(model, prompt_characters=1000, call_characters=2500) as (running, _):
        far = client(running)
        observations = ["a" * 900, "b" * 1001, "c" * 1000, "d" * 900, "e"]
        with pytest.warns(UserWarning, match="a prompt of 1001 characters was refused"):
            answers = far.respond(asks(*observations), 2)
        assert texts(answers) == [["a", "a"], ["", ""], ["c", "c"], ["d", "d"], ["e", "e"]]
        assert [answer.refused for row in answers for answer in row] == [
            *(False, False, True, True),
            *(False,) * 6,
        ]
        assert [requests for requests, *_ in model.calls] == [2, 2]


def test_calls_are_not_answered_together_beyond_the_characters_of_one():
    model = Gated()
    with served(model, prompt_characters=1000, call_characters=1500) as (running, service):
        stub = PoliciesStub(connect(parse_address(running.address)))
        sent = []
        for number, length in enumerate((1, 800, 800, 700)):
            asked = [pb.Ask(observation="x" * length)]
            sent.append(stub.Generate(pb.GenerateRequest(k=1, asks=asked), timeout=LONG))
            if number == 0:
                model.has_begun()
            else:
                assert until(lambda: service.waiting == number)  # noqa: B023, it is awaited here
        model.open(4)
        assert [len(list(stream)) for stream in sent] == [1, 1, 1, 1]
    lengths = [list(map(len, observations)) for observations, *_ in model.calls]
    assert lengths == [[1], [800, 700], [800]]  # 1600 are more than 1500


def test_limits_that_cannot_be_kept():
    with pytest.raises(ConfigError, match="prompt_characters cannot be above call_characters"):
        PolicyLimits(prompt_characters=2, call_characters=1)
    with pytest.raises(ConfigError, match="at least 1"):
        PolicyLimits(prompt_characters=0)
