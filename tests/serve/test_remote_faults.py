"""What goes wrong is said plainly to whom it concerns, and no other session is lost."""

from __future__ import annotations

import gc
import os
import secrets
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import grpc
import pytest
from env_servers import TOKEN, hosted, registered
from toy_envs import Adder, Matcher
from waiting import until

from llmzoo.envs.base import TextEnv
from llmzoo.envs.forking import fork
from llmzoo.errors import ConfigError, LlmzooError
from llmzoo.serve import sessions
from llmzoo.serve.channel import RemoteError
from llmzoo.serve.environments import EnvironmentsConfig
from llmzoo.serve.generated import environments_pb2 as pb
from llmzoo.serve.remote_errors import SessionLostError
from llmzoo.serve.sessions import EnvSession


class Doing(Adder):
    """Does what its agents write."""

    go_on = threading.Event()
    begun = threading.Event()

    def apply(self, state, actions):
        ((agent, text),) = actions.items()
        if text == "hang":
            Doing.begun.set()
            Doing.go_on.wait(60)
        if text.startswith("grow"):
            state = (*state, "x" * int(text[4:]))
        return super().apply(state, {agent: text if text.isdigit() else "0"})


class DoingSlowly(Doing):
    metadata = {**Doing.metadata, "slow_step": True}


@pytest.fixture(autouse=True)
def hanging_steps_end():
    Doing.go_on.clear()
    Doing.begun.clear()
    with registered(
        doing_v0=partial(Doing, max_turns=9),
        slowly_v0=partial(DoingSlowly, max_turns=9),
        matcher_v0=Matcher,
    ):
        yield
    Doing.go_on.set()


def started(server, count, id="doing_v0"):
    envs = [server.make(id) for _ in range(count)]
    for env in envs:
        env.reset(seed=1)
    assert all(env.agent_selection == "a_0" for env in envs)
    return envs


def plays_on(env):
    """Whether an episode goes on as it should; one that has ended by then begins again."""
    if env.truncations["a_0"]:
        env.reset()
    before = env.agent_selection
    env.step("1")
    assert env.agent_selection != before
    return True


# Unknown and expired sessions


def test_a_session_that_nobody_opened():
    with hosted(envs=["doing_v0"]) as server:
        (other,) = started(server, 1)
        step = pb.Step(texts=["1"])
        for call, item in (
            (server.stub.Step, pb.Item(session=secrets.token_bytes(16), step=step)),
            (server.stub.Observe, pb.Item(session=b"", look=pb.Look())),
            (server.stub.Fork, pb.Item(session=b"x" * 16, fork=pb.Fork(child=b"y" * 16))),
            (server.stub.Reset, pb.Item(session=b"x" * 16, reset=pb.Reset())),
        ):
            with pytest.raises(grpc.RpcError, match="there is no such session") as caught:
                call(item)
            assert caught.value.code() is grpc.StatusCode.NOT_FOUND
        server.stub.Close(pb.Item(session=secrets.token_bytes(16), close=pb.Close()))
        # in a call with others, it alone fails
        spec = pb.Spec(env="doing_v0")
        items = [
            pb.Item(session=b"a" * 16, reset=pb.Reset(spec=spec)),
            pb.Item(session=b"b" * 16, step=step),
            pb.Item(session=b"a" * 16, step=step),
        ]
        outcomes = server.stub.StepBatch(pb.Batch(items=items)).outcomes
        assert [outcome.status.code for outcome in outcomes] == [0, 5, 0]
        assert outcomes[2].view.selection == 1
        assert plays_on(other)


def test_an_idle_session_expires_and_a_reset_begins_a_new_one(monkeypatch):
    now = [1000.0]
    monkeypatch.setattr(sessions, "time", SimpleNamespace(monotonic=lambda: now[0]))
    with hosted(envs=["doing_v0"], idle_s=0.15) as server:
        idle, used = started(server, 2)
        now[0] += 0.1
        assert plays_on(used)
        assert len(server.service.sessions) == 2
        now[0] += 0.1
        assert until(lambda: len(server.service.sessions) == 1)
        assert plays_on(used)
        assert idle.agent_selection == "a_0"  # what was read before is still known
        idle.step("1")
        for _ in range(2):  # it stays lost
            with pytest.raises(SessionLostError, match=r"no such session.* reset\(\) begins"):
                idle.last()
        with pytest.raises(SessionLostError):
            fork(idle)
        idle.reset()
        assert plays_on(idle)


def test_a_reset_with_a_seed_needs_no_session_to_be_left():
    with hosted(envs=["doing_v0"]) as server:
        first, second = started(server, 2)
        for id in list(server.service.sessions._open):
            server.service.sessions.drop(id)
        first.reset(seed=3)
        assert plays_on(first)
        second.reset()  # the episode that follows from the last seed is lost with it
        with pytest.raises(SessionLostError):
            second.last()
        second.reset()
        assert plays_on(second)


def test_names_of_sessions():
    with hosted(envs=["doing_v0"]) as server:
        (env,) = started(server, 1)
        (id,) = server.service.sessions._open
        with pytest.raises(grpc.RpcError, match="16 random bytes") as caught:
            server.stub.Reset(
                pb.Item(session=b"short", reset=pb.Reset(spec=pb.Spec(env="doing_v0")))
            )
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        with pytest.raises(grpc.RpcError, match="there is a session of this name") as caught:
            server.stub.Fork(pb.Item(session=id, fork=pb.Fork(child=id)))
        assert caught.value.code() is grpc.StatusCode.ALREADY_EXISTS
        assert plays_on(env)


def test_more_sessions_than_there_is_room_for():
    with hosted(envs=["doing_v0"], max_sessions=3) as server:
        envs = started(server, 2)
        forks = [fork(envs[0]) for _ in range(2)]
        for forked in forks:
            forked.step("1")
        assert forks[0].agent_selection == "b_1"
        with pytest.raises(RemoteError, match="3 sessions are open: close some, or") as caught:
            forks[1].last()
        assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert all(map(plays_on, [*envs, forks[0]]))
        del forks
        extra = fork(envs[1])  # there is room again
        assert plays_on(extra)


# Messages


def test_a_message_that_is_too_large_from_whoever_sends_it():
    with hosted(envs=["doing_v0"], message_bytes=2**16) as server:
        one, other = started(server, 2)
        (id, _) = server.service.sessions._open
        with pytest.raises(grpc.RpcError) as caught:
            server.stub.Step(pb.Item(session=id, step=pb.Step(texts=["x" * 70_000])))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        one.step("x" * 70_000)
        other.step("1")
        assert other.agent_selection == "b_1"  # in the same breath
        with pytest.raises(RemoteError, match=r"has no room for this.*larger than max"):
            one.last()
        assert one.agent_selection == "a_0"  # told once; nothing was done, and nothing is lost
        assert plays_on(one)


def test_more_than_a_message_holds_is_sent_in_several():
    with hosted(envs=["doing_v0"], message_bytes=2**16) as server:
        envs = started(server, 8)
        with server.calls() as calls:
            for env in envs:
                env.step("0" * 20_000)
            assert [env.agent_selection for env in envs] == ["b_1"] * 8
        assert calls == [3, 3, 2]
    with hosted(envs=["doing_v0"], batch_items=3) as server, server.calls() as calls:
        started(server, 8)
        assert calls == [3, 3, 2]


def test_a_server_that_was_started_again_may_take_less():
    with hosted(envs=["doing_v0"]) as server:
        started(server, 1)
        port = int(server.running.address.rpartition(":")[2])
    again = hosted(envs=["doing_v0"], port=port, batch_items=3)
    with again as server, server.calls() as calls:
        started(server, 8)
        assert calls == [3, 3, 2]


def test_answers_that_a_message_does_not_hold_are_fetched_in_several():
    with hosted(envs=["doing_v0"], message_bytes=2**16) as server:
        envs = started(server, 8)
        with server.calls() as calls:
            for number, env in enumerate(envs):
                env.step(f"grow{20_000 + number}")
            seen = [env.observe("b_1") for env in envs]
        assert [len(text) for text in seen] == [len("b_1 0  0.0") + 20_000 + n for n in range(8)]
        assert calls == [8, 5, 2]  # three fit each time
        # what fits in none is an error of its own session
        envs[0].step("grow60000")
        assert plays_on(envs[1])
        with pytest.raises(
            RemoteError, match=r"takes .* bytes, and a message has at most 65,536"
        ) as caught:
            envs[0].last()
        assert caught.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert plays_on(envs[1])


def test_an_item_that_asks_for_nothing_and_a_call_that_asks_for_something_else():
    with hosted(envs=["doing_v0"], batch_items=2) as server:
        (env,) = started(server, 1)
        (id,) = server.service.sessions._open
        assert server.stub.StepBatch(pb.Batch(items=[pb.Item(session=id)])).outcomes[0].status.code
        with pytest.raises(grpc.RpcError, match="takes an item with step"):
            server.stub.Step(pb.Item(session=id, look=pb.Look()))
        with pytest.raises(grpc.RpcError, match="at most 2 items, got 3"):
            server.stub.StepBatch(pb.Batch(items=[pb.Item()] * 3))
        value = pb.Value(array=pb.Array(dtype="O", shape=[1], data=b"12345678"))
        with pytest.raises(grpc.RpcError, match="does not hold numbers"):
            server.stub.Step(pb.Item(session=id, step=pb.Step(actions=[value])))
        assert plays_on(env)


def test_the_calls_for_one_item():
    """What another language's client would use."""
    with hosted(envs=["doing_v0"]) as server:
        stub, a, b = server.stub, b"a" * 16, b"b" * 16
        opened = stub.Reset(pb.Item(session=a, reset=pb.Reset(spec=pb.Spec(env="doing_v0"))))
        assert [o.text for o in opened.view.observations] == ["a_0 0 "]
        stub.Fork(pb.Item(session=a, fork=pb.Fork(child=b)))
        stepped = stub.Step(pb.Item(session=b, step=pb.Step(texts=["7"], way=pb.Step.EACH)))
        assert (list(stepped.view.rewards), len(stepped.paid)) == ([7.0, 0.0], 0)
        both = pb.Step(texts=["1", "2"], way=pb.Step.EACH)
        stepped = stub.Step(pb.Item(session=b, step=both))
        assert [list(paid.amounts) for paid in stepped.paid] == [[0.0, 1.0]]
        assert list(stepped.view.rewards) == [2.0, 0.0]
        looked = stub.Observe(pb.Item(session=a, look=pb.Look(observe=[1])))
        assert not looked.HasField("view")
        assert looked.sight.observations[0].text == "b_1 0 "
        looked = stub.Observe(pb.Item(session=a, look=pb.Look(view=True)))
        assert looked.view == opened.view
        for id in (a, b):
            stub.Close(pb.Item(session=id, close=pb.Close()))
        assert len(server.service.sessions) == 0


# Steps that take too long


@pytest.mark.parametrize("id", ["doing_v0", "slowly_v0"])
def test_a_step_that_takes_too_long_closes_its_own_session_only(id):
    with hosted(envs=[id], step_s=0.5) as server:
        envs = started(server, 5, id)
        texts = ["1", "hang", "2", "hang", "3"]
        for env, text in zip(envs, texts, strict=True):
            env.step(text)
        assert [envs[n].agent_selection for n in (0, 2, 4)] == ["b_1"] * 3
        assert not Doing.go_on.is_set()
        for number in (1, 3):
            with pytest.raises(
                SessionLostError, match=r"more than 0\.5 s, and its session is closed"
            ) as c:
                envs[number].last()
            assert c.value.code is grpc.StatusCode.DEADLINE_EXCEEDED
        assert len(server.service.sessions) == 3
        assert all(plays_on(envs[n]) for n in (0, 2, 4))
        envs[1].reset()
        assert plays_on(envs[1])
        # what hangs ends at last, and nothing comes of it
        assert server.service._timeout_pool.abandoned_count == 2
        Doing.go_on.set()
        assert until(lambda: server.service._timeout_pool.abandoned_count == 0)
        assert all(plays_on(envs[n]) for n in (0, 1, 2, 4))


def test_a_call_that_hangs_keeps_no_other_call_waiting():
    with hosted(envs=["doing_v0"]) as server, ThreadPoolExecutor() as pool:
        one, other = started(server, 2)
        one.step("hang")
        reading = pool.submit(one.last)
        assert Doing.begun.wait(30)
        assert plays_on(other)
        assert plays_on(other)
        assert not reading.done()
        Doing.go_on.set()
        assert reading.result()[0] == "b_1 0 0.0"


def test_a_session_that_another_call_is_using():
    with hosted(envs=["doing_v0"]) as server, ThreadPoolExecutor() as pool:
        (env,) = started(server, 1)
        (id,) = server.service.sessions._open
        env.step("hang")
        reading = pool.submit(env.last)
        assert Doing.begun.wait(30)
        with pytest.raises(grpc.RpcError, match="another call is using") as caught:
            server.stub.Step(pb.Item(session=id, step=pb.Step(texts=["1"])))
        assert caught.value.code() is grpc.StatusCode.ABORTED
        Doing.go_on.set()
        assert reading.result()[0] == "b_1 0 0.0"  # as if nobody had tried


def test_an_environment_that_is_not_made_in_time():
    def never(split="train"):
        Doing.go_on.wait(60)
        return Doing()

    with registered(never_v0=never), hosted(envs=["never_v0", "matcher_v0"], make_s=0.5) as server:
        with pytest.raises(RemoteError, match=r"never_v0 was not made within 0\.5 s"):
            server.make("never_v0")
        env = server.make("matcher_v0")
        env.reset(seed=1)
        assert env.agents


# Clients and servers that go away


CLIENT = """
import sys, llmzoo
envs = [llmzoo.make(sys.argv[1]) for _ in range(20)]
for env in envs:
    env.reset(seed=1)
print(len([env.last() for env in envs]), flush=True)
if sys.argv[2] == "hang":
    envs[0].step("hang")
    envs[0].last()
"""


def client(server, how):
    env = {**os.environ, "LLMZOO_TOKEN": TOKEN}
    return subprocess.Popen(
        [sys.executable, "-c", CLIENT, server.at("doing_v0"), how],
        env=env,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.slow
def test_a_client_that_is_killed_in_a_step_and_one_that_ends():
    with hosted(envs=["doing_v0"], idle_s=1.5) as server:
        (mine,) = started(server, 1)
        killed, ended = client(server, "hang"), client(server, "end")
        try:
            assert killed.stdout.readline() == "20\n"
            assert Doing.begun.wait(30)
            assert until(lambda: ended.poll() == 0)
            assert begins_anew(mine)
            killed.send_signal(signal.SIGKILL)
            assert killed.wait(30) == -signal.SIGKILL
            assert plays_on(mine)
            # who ends says so; of who is killed the sessions expire
            assert len(server.service.sessions) <= 21
            Doing.go_on.set()
            assert until(lambda: plays_on(mine) and len(server.service.sessions) == 1)
        finally:
            for process in (killed, ended):
                process.kill()
                process.communicate()


def test_a_server_that_is_started_again():
    with hosted(envs=["doing_v0"]) as first:
        port = first.running.port
        used, unused = started(first, 2)
    used.step("1")
    with pytest.raises(RemoteError, match="no server can be reached") as caught:
        used.last()
    assert caught.value.code is grpc.StatusCode.UNAVAILABLE
    with hosted(port=port, envs=["doing_v0"]) as again:
        for env in (used, unused):
            assert until(partial(begins_anew, env))
            assert plays_on(env)
        assert len(again.service.sessions) == 2


def begins_anew(env):
    """A connection that was refused is tried again after a while."""
    env.reset(seed=5)
    try:
        return env.agent_selection == "a_0"
    except RemoteError as error:
        assert error.code is grpc.StatusCode.UNAVAILABLE  # noqa: PT017
        return False


def test_sessions_of_a_server_that_was_started_again_are_lost_and_said_to_be():
    with hosted(envs=["doing_v0"]) as first:
        port = first.running.port
        (env,) = started(first, 1)
    with hosted(port=port, envs=["doing_v0"]):
        env.step("1")
        told = []
        assert until(lambda: _lost(env, told))
        assert "server has restarted" in told[-1] or "no server can be" in told[-1]
        assert until(partial(begins_anew, env))


def _lost(env, told):
    try:
        env.last()
    except RemoteError as error:
        told.append(str(error))
    return bool(told)


# Memory


@pytest.mark.slow
def test_sessions_that_are_dropped_leave_nothing():
    with hosted(envs=["doing_v0"]) as server:

        def alive():
            gc.collect()
            objects = gc.get_objects()
            kinds = (EnvSession, TextEnv, pb.Item, pb.Outcome)
            return sum(issubclass(type(o), kinds) for o in objects)

        def open_and_drop():
            envs = started(server, 100)
            forks = [fork(env) for env in envs]
            for forked in forks:
                forked.step("1")
            assert len({forked.agent_selection for forked in forks}) == 1
            return len(server.service.sessions)

        most = [open_and_drop() for _ in range(5)]
        (last,) = started(server, 1)  # its call closes what was dropped
        assert most == [200] * 5
        assert len(server.service.sessions) == 1
        connection = server.connection
        assert len(connection._open) == 1
        before = alive()
        for _ in range(3):
            open_and_drop()
        assert plays_on(last)
        assert len(server.service.sessions) == 1
        assert alive() == before


# Configuration


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"max_sessions": 0}, "max_sessions must be at least 1"),
        ({"workers": 0}, "workers must be at least 1"),
        ({"batch_items": -1}, "batch_items must be at least 1"),
        ({"step_s": 0.0}, "step_s is 0.001 to 86400 seconds"),
        ({"idle_s": float("inf")}, "idle_s is"),
        ({"make_s": float("nan")}, "make_s is"),
    ],
)
def test_settings_that_mean_nothing(settings, told):
    with pytest.raises(ConfigError, match=told):
        EnvironmentsConfig(**settings)


def test_no_pickle_anywhere():
    import llmzoo.serve

    for file in Path(llmzoo.serve.__file__).parent.rglob("*.py"):
        text = file.read_text()
        assert "import pickle" not in text
        assert "cloudpickle" not in text
    assert issubclass(RemoteError, LlmzooError)
