"""Calls that are begun and never finished keep nobody else waiting."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import grpc
import pytest
from env_servers import TOKEN, hosted, registered
from grpc_health.v1 import health_pb2, health_pb2_grpc
from toy_envs import Adder
from waiting import until

from llmzoo.serve import admission
from llmzoo.serve.calls import EnvironmentsStub
from llmzoo.serve.channel import connect, parse_address
from llmzoo.serve.environments import EnvironmentsConfig, EnvironmentsService
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.hosting import ServeConfig, start_server

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
    channel = grpc.insecure_channel(parse_address(address).target, options)
    grpc.channel_ready_future(channel).result(10)
    begin = channel.stream_unary(method)
    calls = [begin.future(never(), metadata=metadata) for _ in range(count)]
    try:
        yield calls
    finally:
        over.set()
        channel.close()


def is_well(address):
    """A health check on a new connection is answered, long before an unfinished call would end."""
    with grpc.insecure_channel(
        parse_address(address).target, [("grpc.use_local_subchannel_pool", 1)]
    ) as channel:
        check = health_pb2_grpc.HealthStub(channel).Check
        reply = check(health_pb2.HealthCheckRequest(), timeout=0.8 * admission.READ_TIMEOUT_S)
    return reply.status == health_pb2.HealthCheckResponse.SERVING


def listed(address):
    stub = EnvironmentsStub(connect(parse_address(address)))
    timeout = 0.8 * admission.READ_TIMEOUT_S
    return len(stub.ListEnvironments(pb.ListRequest(), timeout=timeout).environments)


@pytest.fixture(scope="module")
def server():
    with hosted(envs=["sudoku_v0"]) as running:
        yield running


@pytest.mark.slow
@pytest.mark.parametrize("method", [LIST, CHECK, "/llmzoo.v1.Environments/StepBatch", "/no/Method"])
def test_calls_without_the_token_that_are_never_finished(server, method):
    with unfinished(server.running.address, method, 300) as calls:
        if method != CHECK:  # each is refused at once, though nothing of it was read
            expected = {grpc.StatusCode.UNAUTHENTICATED}
            assert {call.exception(timeout=60).code() for call in calls} == expected
        assert is_well(server.running.address)
        assert listed(server.running.address) == 1


@pytest.mark.slow
@pytest.mark.parametrize("token", [TOKEN, None])
def test_calls_with_the_token_that_are_never_finished(token, monkeypatch):
    """Of 300 the server keeps the 256 newest, whose time to send a message is not over."""
    monkeypatch.setenv("LLMZOO_TOKEN", TOKEN)
    config = ServeConfig(port=0, token=token)
    with (
        start_server(
            config, [EnvironmentsService(EnvironmentsConfig(envs=["sudoku_v0"]))]
        ) as running,
        unfinished(running.address, LIST, 300, RIGHT if token else ()) as calls,
    ):
        assert until(lambda: sum(call.done() for call in calls) == 300 - 256, seconds=25)
        ended = [call.exception().code() for call in calls if call.done()]
        assert set(ended) == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        assert is_well(running.address)
        assert listed(running.address) == 1


def test_a_call_has_a_time_in_which_its_message_comes(server, monkeypatch):
    monkeypatch.setattr(admission, "READ_TIMEOUT_S", 0.1)
    with unfinished(server.running.address, LIST, 3, RIGHT) as calls:
        codes = [call.exception(timeout=60).code() for call in calls]
        assert codes == [grpc.StatusCode.DEADLINE_EXCEEDED] * 3


def test_a_health_check_is_answered_while_every_thread_works():
    began, go_on = threading.Semaphore(0), threading.Event()

    class Slow(EnvironmentsService):
        def ListEnvironments(self, request, context):
            began.release()
            go_on.wait(60)
            return super().ListEnvironments(request, context)

    service = Slow(EnvironmentsConfig(envs=["sudoku_v0"]))
    with start_server(ServeConfig(port=0, threads=2), [service]) as running:
        stub = EnvironmentsStub(connect(parse_address(running.address)))
        calls = [stub.ListEnvironments.future(pb.ListRequest(), timeout=60) for _ in range(5)]
        for _ in range(2):
            assert began.acquire(timeout=30)
        assert is_well(running.address)
        assert not began.acquire(timeout=0.1)  # two threads, two calls
        go_on.set()
        assert {len(call.result().environments) for call in calls} == {1}


def test_a_health_check_of_many_megabytes_is_not_read(server):
    options = [("grpc.max_send_message_length", -1)]
    with grpc.insecure_channel(parse_address(server.running.address).target, options) as channel:
        request = health_pb2.HealthCheckRequest(service="x" * 16 * 2**20)
        with pytest.raises(grpc.RpcError) as caught:
            health_pb2_grpc.HealthStub(channel).Check(request, timeout=60)
    assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "takes no more than" in caught.value.details()
    assert is_well(server.running.address)


def test_a_health_check_is_answered_while_steps_compute():
    began, over = threading.Semaphore(0), threading.Event()

    class Computing(Adder):
        def apply(self, state, actions):
            began.release()
            while not over.is_set():
                pass
            return super().apply(state, actions)

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
        try:
            for _ in steps:
                assert began.acquire(timeout=30)
            assert all(is_well(server.running.address) for _ in range(3))
            assert not any(step.done() for step in steps)
        finally:
            over.set()
        for step in steps:
            assert step.result(60).view.agents
