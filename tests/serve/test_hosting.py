"""Who may call a server, and what is said to those who may not."""

from __future__ import annotations

import threading
import time
from concurrent import futures

import grpc
import pytest
from env_servers import TOKEN, hosted, listed
from grpc_health.v1 import health_pb2, health_pb2_grpc
from waiting import until

import llmzoo
from llmzoo.endpoints import read_token
from llmzoo.errors import ConfigError
from llmzoo.serve import channel, tokens
from llmzoo.serve.calls import EnvironmentsStub
from llmzoo.serve.channel import RemoteError, connect, parse_address
from llmzoo.serve.environments import EnvironmentsConfig, EnvironmentsService
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.hosting import ServeConfig, start_server
from llmzoo.serve.tokens import is_loopback

pytestmark = pytest.mark.usefixtures("no_token_of_mine")
SUDOKU = EnvironmentsConfig(envs=["sudoku_v0"])


def health(address, service="", metadata=()):
    stub = health_pb2_grpc.HealthStub(grpc.insecure_channel(parse_address(address).target))
    request = health_pb2.HealthCheckRequest(service=service)
    return stub.Check(request, timeout=30, metadata=metadata).status


# Tokens


@pytest.mark.parametrize("wrong", [None, "another token altogether", TOKEN + "x", TOKEN[:-1]])
def test_a_call_without_the_token_is_refused(wrong, monkeypatch):
    with hosted(envs=["sudoku_v0"]) as server:
        if wrong is None:
            monkeypatch.delenv("LLMZOO_TOKEN")
        else:
            monkeypatch.setenv("LLMZOO_TOKEN", wrong)
        with pytest.raises(RemoteError, match="refused the token: set LLMZOO_TOKEN") as caught:
            llmzoo.make(server.at("sudoku_v0"))
        assert caught.value.code is grpc.StatusCode.UNAUTHENTICATED
        assert str(wrong) not in str(caught.value)
        monkeypatch.setenv("LLMZOO_TOKEN", TOKEN)
        assert listed(server.running.address) == ["sudoku_v0"]


def test_every_call_but_a_health_check_asks_for_it():
    with hosted(envs=["sudoku_v0"]) as server:
        raw = grpc.insecure_channel(parse_address(server.running.address).target)
        stub = EnvironmentsStub(raw)
        calls = {
            stub.ListEnvironments: pb.ListRequest(),
            stub.Describe: pb.Spec(env="sudoku_v0"),
            stub.StepBatch: pb.Batch(),
            **{
                call: pb.Item()
                for call in (stub.Reset, stub.Step, stub.Fork, stub.Observe, stub.Close)
            },
        }
        assert len(calls) == 8
        for call, message in calls.items():
            with pytest.raises(grpc.RpcError) as caught:
                call(message, timeout=30)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
        assert health(server.running.address) == health_pb2.HealthCheckResponse.SERVING
        watch = health_pb2_grpc.HealthStub(raw).Watch(health_pb2.HealthCheckRequest())
        with pytest.raises(grpc.RpcError) as caught:
            next(watch)
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


def test_two_tokens_in_one_call_are_none():
    with hosted(envs=["sudoku_v0"]) as server:
        stub = EnvironmentsStub(grpc.insecure_channel(parse_address(server.running.address).target))
        right = ("authorization", f"Bearer {TOKEN}")
        assert stub.ListEnvironments(pb.ListRequest(), metadata=[right]).environments
        for metadata in ([right, right], [("authorization", TOKEN)], [("token", TOKEN)]):
            with pytest.raises(grpc.RpcError) as caught:
                stub.ListEnvironments(pb.ListRequest(), metadata=metadata)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("elsewhere", ["0.0.0.0", "::", "192.168.1.7", "example.org", ""])
def test_a_server_for_other_machines_needs_a_token(elsewhere):
    assert not is_loopback(elsewhere)
    with pytest.raises(ConfigError, match="needs a token: put a secret into LLMZOO_TOKEN"):
        ServeConfig(host=elsewhere)
    assert ServeConfig(host=elsewhere, token=TOKEN).token == TOKEN


@pytest.mark.parametrize("here", ["127.0.0.1", "127.3.2.1", "::1", "localhost"])
def test_a_server_for_this_machine_may_do_without(here):
    assert is_loopback(here)
    assert ServeConfig(host=here).token is None


@pytest.mark.parametrize(
    "weak", ["", "short", "fifteen letters", "with a\nline break in it", "Größe" * 5]
)
def test_a_token_that_is_none(weak, monkeypatch):
    with pytest.raises(ConfigError, match="at least 16 printable ASCII"):
        ServeConfig(token=weak)
    monkeypatch.setenv("LLMZOO_TOKEN", weak)
    with pytest.raises(ConfigError, match="at least 16 printable ASCII"):
        connect(parse_address("grpc://127.0.0.1:1"))


def test_a_token_is_never_shown():
    assert TOKEN not in repr(ServeConfig(token=TOKEN))
    with pytest.raises(ConfigError) as caught:
        parse_address(f"grpc://{TOKEN.replace(' ', '-')}@host:1/sudoku_v0")
    assert "token" in str(caught.value)
    assert TOKEN.replace(" ", "-") not in str(caught.value)


def test_a_server_leaves_its_token_to_clients_of_the_same_user(tmp_path):
    with start_server(ServeConfig(port=0), []) as probe:
        port = probe.port
    token = tokens.write_token("127.0.0.1", port)
    (file,) = (tmp_path / "llmzoo" / "tokens").iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    with start_server(
        ServeConfig(port=port, token=token), [EnvironmentsService(SUDOKU)]
    ) as running:
        assert listed(running.address) == ["sudoku_v0"]
        newer = tokens.write_token("127.0.0.1", port)
        assert newer != token  # as of a server that was killed: it is replaced
        with pytest.raises(RemoteError, match="refused the token"):
            listed(running.address)
    tokens.remove_token("127.0.0.1", port, token)  # of a server that ends late
    assert read_token("127.0.0.1", port) == newer
    tokens.remove_token("127.0.0.1", port, newer)
    assert not file.exists()
    assert read_token("127.0.0.1", port) is None


# Addresses


@pytest.mark.parametrize(
    ("address", "target", "name"),
    [
        ("grpc://127.0.0.1:5/sudoku_v0", "127.0.0.1:5", "sudoku_v0"),
        ("grpc://host", "host:50051", ""),
        ("grpcs://host.example:1/a.b:c", "host.example:1", "a.b:c"),
        ("grpc://[::1]:7/x", "[::1]:7", "x"),
    ],
)
def test_addresses(address, target, name):
    where = parse_address(address)
    assert (where.target, where.name) == (target, name)
    assert where.tls == address.startswith("grpcs")
    assert parse_address(str(where)) == where


@pytest.mark.parametrize(
    "wrong",
    [
        *("grpc://", "grpc:///x", "http://host/x", "sudoku_v0"),
        *("grpc://h:x/y", "grpc://h:99999/y", "grpc://h/y?token=1", "grpc://h/y#z"),
    ],
)
def test_what_is_no_address(wrong):
    with pytest.raises(ConfigError, match=r"is not an address.*write grpc://host:50051/name"):
        parse_address(wrong)


# The server itself


def test_a_port_that_is_taken_is_told():
    with (
        start_server(ServeConfig(port=0), []) as first,
        pytest.raises(ConfigError, match="port is taken"),
    ):
        start_server(ServeConfig(port=first.port), [])


def test_nobody_answers():
    address = "grpc://127.0.0.1:1"
    with pytest.raises(RemoteError, match=f"no server can be reached at {address}") as caught:
        llmzoo.make(f"{address}/sudoku_v0")
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE


def test_a_server_that_has_just_started_is_reached_though_its_port_was_dead_before(monkeypatch):
    """A channel that was refused fails calls for a while without trying; that must not be told."""
    with start_server(ServeConfig(port=0), []) as gone:
        port, address = gone.port, gone.address
    with monkeypatch.context() as patch:
        patch.setattr(channel, "_RECONNECT_S", 0.1)
        for _ in range(3):
            with pytest.raises(RemoteError, match="no server can be reached"):
                llmzoo.make(f"{address}/sudoku_v0")
    with start_server(ServeConfig(port=port), [EnvironmentsService(SUDOKU)]):
        assert llmzoo.make(f"{address}/sudoku_v0").possible_agents


def test_a_server_that_does_not_host_environments():
    with (
        start_server(ServeConfig(port=0), []) as running,
        pytest.raises(RemoteError, match="does not host this"),
    ):
        llmzoo.make(f"{running.address}/sudoku_v0")


def test_health_names_the_service_and_its_end():
    service = EnvironmentsService(SUDOKU)
    with start_server(ServeConfig(port=0), [service]) as running:
        assert health(running.address, service.name) == health_pb2.HealthCheckResponse.SERVING
        with pytest.raises(grpc.RpcError) as caught:
            health(running.address, "llmzoo.v1.Nothing")
        assert caught.value.code() is grpc.StatusCode.NOT_FOUND
    with pytest.raises(grpc.RpcError):
        health(running.address)


def test_calls_under_way_end_before_the_server_does():
    """A step that began is made and told, though the server was told to stop meanwhile."""
    began, go_on = threading.Event(), threading.Event()

    class Slow(EnvironmentsService):
        def _run(self, items, context):
            began.set()
            go_on.wait(30)
            return super()._run(items, context)

    service = Slow(SUDOKU)
    running = start_server(ServeConfig(port=0), [service])
    env = llmzoo.make(f"{running.address}/sudoku_v0")
    env.reset(seed=1)
    with futures.ThreadPoolExecutor() as pool:
        reading = pool.submit(env.last)
        assert began.wait(30)
        stopping = pool.submit(running.stop)
        time.sleep(0.1)
        assert not stopping.done()
        go_on.set()
        assert "sudoku" in reading.result()[0]
        stopping.result()
    assert len(service.sessions) == 0


def test_more_calls_than_are_allowed_are_refused_and_no_others():
    began, go_on = threading.Event(), threading.Event()

    class Slow(EnvironmentsService):
        def ListEnvironments(self, request, context):
            began.set()
            go_on.wait(30)
            return super().ListEnvironments(request, context)

    config = ServeConfig(port=0, max_calls=1, threads=1)
    with start_server(config, [Slow(SUDOKU)]) as running, futures.ThreadPoolExecutor() as pool:
        first = pool.submit(listed, running.address)
        assert began.wait(30)
        with pytest.raises(RemoteError, match="no room") as caught:
            listed(running.address)
        assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        go_on.set()
        assert first.result() == ["sudoku_v0"]
        assert until(lambda: _answers(running.address))


def _answers(address):
    try:
        return listed(address) == ["sudoku_v0"]
    except RemoteError:
        return False


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"port": 65536}, "port must be"),
        ({"max_message_bytes": 10}, "max_message_bytes"),
        ({"threads": 0}, "at least 1"),
        ({"tls_cert": "a"}, "go together"),
        ({"tls_client_ca": "a"}, "needs tls_cert"),
    ],
)
def test_settings_that_mean_nothing(settings, told):
    with pytest.raises(ConfigError, match=told):
        ServeConfig(**settings)
