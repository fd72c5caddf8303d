"""Servers that say what none may say: named errors, nothing written elsewhere, nothing endless."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from concurrent import futures
from contextlib import contextmanager
from types import SimpleNamespace

import grpc
import pytest

import llmzoo
from llmzoo.rollout.stepping import StepRequest, step_joint_action
from llmzoo.serve import calls, channel, connection, protobuf_values
from llmzoo.serve.channel import RemoteError, connect, parse_address
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.validation import to_single_line

GRAND = 2**20


class Says:
    """A server that says what a test has put into its attributes."""

    def __init__(self):
        self.limits = pb.Limits(
            message_bytes=GRAND, batch_items=10, step_s=1, make_s=1, workers=1, idle_s=1
        )
        self.find_environment = pb.Hosted(id="it_v0", family="games", agents=["a", "b"])
        self.description = pb.Description(name="it_v0", agents=["a", "b"])
        for _ in range(2):
            self.description.observation_spaces.add(max_length=9)
            self.description.action_spaces.add(max_length=9)
        self.description.render_mode.null = True
        view = pb.View(agents=[0, 1], selection=0, rewards=[0, 0])
        view.cumulative_rewards[:] = [0, 0]
        view.terminations[:] = view.truncations[:] = [False, False]
        view.infos.add()
        view.infos.add()
        view.observations.add(agent=0, text="hello")
        self.outcomes = [pb.Outcome(view=view)]

    def ListEnvironments(self, request, context):
        return pb.ListReply(environments=[self.find_environment], limits=self.limits)

    def Describe(self, request, context):
        return self.description

    def StepBatch(self, request, context):
        return pb.BatchReply(outcomes=self.outcomes)

    Reset = Step = Fork = Observe = Close = StepBatch  # which no client of ours calls


@pytest.fixture
def server(no_token_of_mine, monkeypatch):
    # a port may be that of an earlier test, and what its server said is kept
    monkeypatch.setattr(channel, "_channels", {})
    monkeypatch.setattr(connection, "_connections", {})
    says = Says()
    with futures.ThreadPoolExecutor(4) as pool:
        server = grpc.server(pool, options=[("grpc.max_send_message_length", -1)])
        calls.add_to_server(says, server)
        address = f"grpc://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
        server.start()
        yield SimpleNamespace(says=says, address=address, env=f"{address}/it_v0")
        server.stop(0).wait()


def test_the_server_of_these_tests_says_nothing_odd_by_itself(server):
    env = llmzoo.make(server.env)
    env.reset(seed=1)
    assert env.last()[0] == "hello"
    assert llmzoo.spec(server.env).agents == ("a", "b")


# Names

BAD_NAMES = [
    *("/etc/cron.d/x", "../../x", "a/../../x", "..", ".", "...", "", "a" * 65, "a\nb", "a\x1b[2J"),
    *("a b", "a\\b", "C:x", "\u202eb", "é", "a\x00", "~", "$HOME", "*"),
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_of_an_agent_that_is_no_name(server, name):
    server.says.description.agents[0] = server.says.find_environment.agents[1] = name
    for use in (llmzoo.make, llmzoo.spec):
        with pytest.raises(RemoteError, match=r"names an agent .* has 1 to 64 of the char") as told:
            use(server.env)
        assert str(told.value).isprintable()


@pytest.mark.parametrize("name", ["a", "player_0", "b.1-x", "A" * 64, "..a"])
def test_a_name_of_an_agent_that_is_one(server, name):
    server.says.description.agents[1] = name + "x" * (name == "a")
    assert llmzoo.make(server.env).possible_agents[1].startswith(name)


def test_agents_that_come_twice_or_by_the_thousand(server):
    server.says.description.agents[1] = "a"
    with pytest.raises(RemoteError, match="names an agent twice"):
        llmzoo.make(server.env)
    server.says.description.agents[:] = [f"a{n}" for n in range(1001)]
    with pytest.raises(RemoteError, match="names 1001 agents, and 1000 are the most"):
        llmzoo.make(server.env)
    server.says.description.agents[:] = ["a", "b", "c"]
    with pytest.raises(RemoteError, match="describes 2 spaces of 3 agents"):
        llmzoo.make(server.env)


def test_what_is_shown_moves_no_cursor_and_begins_no_line(server):
    assert to_single_line("a\x1b[2J\r\nb\u2028c\u202ed\x00") == "a?[2J  b?c?d?"
    assert to_single_line("x" * 2000) == "x" * 1000 + "..."
    odd = "it\x1b]0;x\x07\nINFO all is well"
    server.says.find_environment.family = server.says.find_environment.summary = odd
    server.says.description.metadata.MergeFrom(protobuf_values.to_map({"name": odd}))
    spec, env = llmzoo.spec(server.env), llmzoo.make(server.env)
    assert str(env).isprintable()
    assert spec.family.isprintable()
    assert spec.summary.isprintable()
    status = pb.Status(code=13, message=odd, error="ValueError")
    server.says.outcomes = [pb.Outcome(status=status)]
    env.reset(seed=1)
    with pytest.raises(ValueError, match="INFO all is well") as told:
        env.last()
    assert str(told.value).isprintable()


# Numbers


@pytest.mark.parametrize(
    "limits",
    [
        *({"workers": 0}, {"batch_items": 0}, {"message_bytes": 0}, {"message_bytes": 2**63}),
        *({"step_s": s} for s in (0.0, -1.0, float("nan"), float("inf"), 1e300)),
        {"make_s": float("nan")},
    ],
)
def test_limits_that_nobody_can_keep(server, limits):
    for name, value in limits.items():
        setattr(server.says.limits, name, value)
    with pytest.raises(RemoteError, match=r"the server says .* for .*, which is"):
        llmzoo.make(server.env)


# Answers


def told_of(outcome, info):
    protobuf_values.write_entries(info, outcome.view.infos[0].entries)


def changed(**fields):
    def change(outcome):
        for name, value in fields.items():
            getattr(outcome.view, name)[:] = value

    return change


@pytest.mark.parametrize(
    "change",
    [
        *(changed(agents=[7]), changed(rewards=[1]), changed(terminations=[True] * 9)),
        changed(rewards=[float("nan"), 0]),
        changed(cumulative_rewards=[0, float("inf")]),
        lambda outcome: told_of(outcome, {"a\x1b[2J": 1}),
        lambda outcome: told_of(outcome, {"x" * 201: 1}),
        lambda outcome: told_of(outcome, {"reward_components": {"a\nINFO all is well": 1.0}}),
        lambda outcome: setattr(outcome.view, "selection", 99),
        lambda outcome: outcome.view.infos.add(),
        lambda outcome: outcome.view.infos[0].entries.add(key="x"),
        lambda outcome: setattr(outcome.view.observations.add(agent=1).other.array, "dtype", "O"),
        lambda outcome: outcome.view.observations.add(agent=99),
    ],
)
def test_views_that_cannot_be_read(server, change):
    good = pb.Outcome()
    good.CopyFrom(server.says.outcomes[0])
    change(server.says.outcomes[0])
    env, other = llmzoo.make(server.env), llmzoo.make(server.env)
    server.says.outcomes = [server.says.outcomes[0], good]
    env.reset(seed=1)
    other.reset(seed=1)
    with pytest.raises(RemoteError, match="sent a view that cannot be read"):
        env.last()
    assert other.last()[0] == "hello"  # one of the same call


@pytest.mark.parametrize("count", [0, 2, 100])
def test_more_or_fewer_answers_than_questions(server, count):
    server.says.outcomes = server.says.outcomes * count
    env = llmzoo.make(server.env)
    env.reset(seed=1)
    with pytest.raises(RemoteError, match=f"answered {count} of 1 items"):
        env.last()


def test_payments_that_cannot_be_read(server):
    env = llmzoo.make(server.env)
    env.reset(seed=1)
    assert env.last()
    view = server.says.outcomes[0].view
    for paid, said in (
        (pb.Paid(agents=[5], amounts=[1.0]), "sent a payment that cannot be read"),
        (pb.Paid(amounts=[1.0, float("inf")]), "amounts that are not finite"),
    ):
        server.says.outcomes = [pb.Outcome(view=view, paid=[paid])]
        with pytest.raises(RemoteError, match=said):
            env.unwrapped.host.step_all([StepRequest(env, ("a",), step_joint_action)])


def test_a_server_that_sends_no_view(server):
    server.says.outcomes = [pb.Outcome()]
    env = llmzoo.make(server.env)
    env.reset(seed=1)
    with pytest.raises(RemoteError, match="sent no view"):
        env.last()


def test_a_server_that_never_has_room_for_what_it_is_asked(server):
    env = llmzoo.make(server.env)
    env.reset(seed=1)
    assert env.last()
    server.says.outcomes = [pb.Outcome(view_left_out=True)]
    with pytest.raises(RemoteError, match="found no room"):
        env.state()


# Connections


@contextmanager
def listening(serve):
    """A port behind which ``serve(connection)`` runs, in a thread for each connection."""
    listener, held = socket.create_server(("127.0.0.1", 0)), []

    def accept():
        while True:
            try:
                taken, _ = listener.accept()
            except OSError:
                return
            held.append(taken)
            threading.Thread(target=serve, args=(taken,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"grpc://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for taken in held:
            taken.close()


def garbage(taken):
    with taken, contextlib.suppress(OSError):  # a client that has heard enough hangs up
        taken.sendall(b"\x00\xffHTTP/1.1 200 OK\r\n\r\n" * 50_000)


def hangs_up(taken):
    taken.close()


@pytest.mark.parametrize("serve", [garbage, hangs_up])
def test_a_port_that_speaks_something_else(serve, monkeypatch):
    monkeypatch.setattr(channel, "_RECONNECT_S", 0.1)
    with listening(serve) as address:
        began = time.monotonic()
        with pytest.raises(RemoteError, match="no server can be reached"):
            llmzoo.make(f"{address}/sudoku_v0")
        assert time.monotonic() - began < 60


def test_a_port_that_never_says_anything(monkeypatch):
    monkeypatch.setattr(connection, "_SLACK_S", 0.2)
    with listening(lambda taken: None) as address:
        began = time.monotonic()
        with pytest.raises(RemoteError, match="did not answer in time"):
            llmzoo.make(f"{address}/sudoku_v0")
        assert time.monotonic() - began < 15


def test_a_token_in_the_clear_to_another_machine_is_warned_of(monkeypatch):
    monkeypatch.setenv("LLMZOO_TOKEN", "0123456789abcdef")
    with pytest.warns(
        UserWarning, match=r"travel in the clear to gpu1.example.*write grpcs://"
    ) as told:
        connect(parse_address("grpc://gpu1.example:50999"))
    assert "0123456789abcdef" not in str(told[0].message)


@pytest.mark.filterwarnings("error")
def test_a_token_on_this_machine_is_not(monkeypatch):
    monkeypatch.setenv("LLMZOO_TOKEN", "0123456789abcdef")
    connect(parse_address("grpc://127.0.0.1:50999"))
    connect(parse_address("grpcs://gpu1.example:50999"))
    monkeypatch.delenv("LLMZOO_TOKEN")
    connect(parse_address("grpc://gpu2.example:50999"))
