"""Calls that are begun and never finished keep nobody else waiting."""

from __future__ import annotations

import threading
import time
from contextlib import contextmanager

import grpc
import pytest
from env_servers import TOKEN, hosted, registered, until
from grpc_health.v1 import health_pb2, health_pb2_grpc
from toy_envs import Adder

from llmzoo.serve import door
from llmzoo.serve.channel import connect, parse
from llmzoo.serve.environments import Environments, EnvironmentsConfig
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.generated.environments_pb2_grpc import EnvironmentsStub
from llmzoo.serve.hosting import ServeConfig, host

RIGHT = (("authorization", f"Bearer {TOKEN}"),)
LIST = "/llmzoo.v1.Environments/ListEnvironments"
CHECK = "/grpc.health.v1.Health/Check"


@contextmanager
def unfinished(address, method, count, metadata=()):
    """Calls whose message never comes, on a connection of their own."""
    over = threading.Event()

    def never():
        over.wait()
        yield b""

    options = [("grpc.use_local_subchannel_pool", 1)]
    channel = grpc.insecure_channel(parse(address).target, options)
    grpc.channel_ready_future(channel).result(10)
    begin = channel.stream_unary(method)
    calls = [begin.future(never(), metadata=metadata) for _ in range(count)]
    try:
        yield calls
    finally:
        over.set()
        channel.close()


def checked(address):
    """How long a health check on a new connection takes, in seconds."""
    began = time.monotonic()
    with grpc.insecure_channel(
        parse(address).target, [("grpc.use_local_subchannel_pool", 1)]
    ) as channel:
        health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=5)
    return time.monotonic() - began


def listed(address):
    stub = EnvironmentsStub(connect(parse(address)))
    return len(stub.ListEnvironments(pb.ListRequest(), timeout=5).environments)


@pytest.mark.parametrize("method", [LIST, CHECK, "/llmzoo.v1.Environments/StepBatch", "/no/Method"])
@pytest.mark.samples(1)
def test_calls_without_the_token_that_are_never_finished(method):
    with (
        hosted(envs=["sudoku_v0"]) as server,
        unfinished(server.running.address, method, 600) as calls,
    ):
        if method != CHECK:  # each is refused at once, though nothing of it was read
            expected = {grpc.StatusCode.UNAUTHENTICATED}
            assert {call.exception(timeout=10).code() for call in calls} == expected
        assert checked(server.running.address) < 1
        assert listed(server.running.address) == 1


def test_calls_with_the_token_that_are_never_finished():
    """Of 600 the server keeps the 256 newest, whose time to send a message is not over."""
    with (
        hosted(envs=["sudoku_v0"]) as server,
        unfinished(server.running.address, LIST, 600, RIGHT) as calls,
    ):
        assert until(lambda: sum(call.done() for call in calls) == 600 - 256, seconds=25)
        ended = [call.exception().code() for call in calls if call.done()]
        assert set(ended) == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert checked(server.running.address) < 1
        assert listed(server.running.address) == 1


def test_a_call_has_a_time_in_which_its_message_comes(monkeypatch):
    monkeypatch.setattr(door, "READING_S", 0.5)
    with (
        hosted(envs=["sudoku_v0"]) as server,
        unfinished(server.running.address, LIST, 3, RIGHT) as calls,
    ):
        codes = [call.exception(timeout=20).code() for call in calls]
        assert codes == [grpc.StatusCode.DEADLINE_EXCEEDED] * 3


def test_a_server_without_a_token_is_no_different():
    with (
        host(
            ServeConfig(port=0), [Environments(EnvironmentsConfig(envs=["sudoku_v0"]))]
        ) as running,
        unfinished(running.address, LIST, 600),
    ):
        time.sleep(0.3)
        assert checked(running.address) < 1
        assert listed(running.address) == 1


def test_a_health_check_is_answered_while_every_thread_works():
    began, go_on = threading.Semaphore(0), threading.Event()

    class Slow(Environments):
        def ListEnvironments(self, request, context):
            began.release()
            go_on.wait(20)
            return super().ListEnvironments(request, context)

    service = Slow(EnvironmentsConfig(envs=["sudoku_v0"]))
    with host(ServeConfig(port=0, threads=2), [service]) as running:
        stub = EnvironmentsStub(connect(parse(running.address)))
        calls = [stub.ListEnvironments.future(pb.ListRequest(), timeout=20) for _ in range(5)]
        for _ in range(2):
            assert began.acquire(timeout=10)
        assert checked(running.address) < 1
        assert not began.acquire(timeout=0.2)  # two threads, two calls
        go_on.set()
        assert {len(call.result().environments) for call in calls} == {1}


def test_a_health_check_of_64_mb_is_not_read():
    with hosted(envs=["sudoku_v0"]) as server:
        stub = health_pb2_grpc.HealthStub(
            grpc.insecure_channel(
                parse(server.running.address).target, [("grpc.max_send_message_length", -1)]
            )
        )
        with pytest.raises(grpc.RpcError) as caught:
            stub.Check(health_pb2.HealthCheckRequest(service="x" * 60 * 2**20), timeout=20)
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert "takes no more than" in caught.value.details()
        assert until(lambda: checked(server.running.address) < 1)


@pytest.mark.slow
def test_a_health_check_is_answered_while_steps_compute():
    class Computing(Adder):
        def play(self, agent, text):
            end = time.monotonic() + 3
            while time.monotonic() < end:
                pass
            return super().play(agent, text)

    with registered(it_v0=Computing), hosted(envs=["it_v0"]) as server:
        item = pb.Item(reset=pb.Reset(spec=pb.Spec(env="it_v0")))
        sessions = [bytes([n]) * 16 for n in range(3)]
        for session in sessions:
            item.session = session
            server.stub.Reset(item)
        step = pb.Step(texts=["1"])
        steps = [
            server.stub.Step.future(pb.Item(session=session, step=step)) for session in sessions
        ]
        time.sleep(0.5)
        assert max(checked(server.running.address) for _ in range(3)) < 1
        assert not any(step.done() for step in steps)
        for step in steps:
            assert step.result(60).view.number
