"""What goes wrong between a policy server and its clients is said plainly, and spoils no other's."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import grpc
import pytest
import tiny_models
from policy_servers import LONG, Asking, Gated, asks, client, has_waiting, served, texts

from llmzoo.errors import ConfigError
from llmzoo.models import decode, dynamic_rows
from llmzoo.policies import check_model, load
from llmzoo.policies.base import ScriptedPolicy
from llmzoo.policies.scripted import expert, mixture
from llmzoo.policies.settings import Sampling
from llmzoo.records import Completion
from llmzoo.serve.channel import RemoteError, connect, parse_address
from llmzoo.serve.generated import policies_pb2 as pb
from llmzoo.serve.generated.policies_pb2_grpc import PoliciesStub
from llmzoo.serve.policies import PolicyLimits, PolicyService
from llmzoo.serve.policies_client import load as load_remote
from llmzoo.serve.policies_hosted import load_hosted


def echo(request):
    return request.observation


@pytest.fixture(scope="module")
def server():
    """A small model within tight limits."""
    limits = {"requests": 3, "rows": 4, "new_tokens": 20, "message_bytes": 2**16}
    with served(tiny_models.policy(), **limits) as (running, _):
        yield running


def refusal(running, **fields):
    """The status and words with which a server refuses a message."""
    request = pb.GenerateRequest(**{"k": 1, "asks": [pb.Ask(observation="x")], **fields})
    with pytest.raises(grpc.RpcError) as caught:
        list(PoliciesStub(connect(parse_address(running.address))).Generate(request, timeout=LONG))
    return caught.value.code(), caught.value.details()


# Limits


def test_a_client_divides_what_is_too_much_for_one_call(monkeypatch):
    model = tiny_models.FakePolicy(lambda request, i: f"{request.observation[:4]}{i}")
    with served(model, requests=3, rows=4, message_bytes=2**16) as (running, _):
        far = client(running)
        answers = far.respond(asks(*"abcdefgh"))
        assert texts(answers) == [[f"{letter}0"] for letter in "abcdefgh"]
        assert [requests for requests, *_ in model.calls] == [3, 3, 2]  # the requests of a call
        model.calls.clear()
        far.respond(asks(*"abcdef"), 2)
        assert model.calls == [(2, 2, False)] * 3  # its rows
        model.calls.clear()
        answers = far.respond(asks(*(letter * 30_000 for letter in "abcde")))
        assert texts(answers) == [[f"{letter * 4}0"] for letter in "abcde"]
        assert [requests for requests, *_ in model.calls] == [2, 2, 1]  # the bytes of its message
        with pytest.raises(ConfigError, match="gives at most 4 answers to a prompt"):
            far.respond(asks("x"), 5)
        with pytest.raises(ConfigError, match=r"70000 characters is beyond the 65536 bytes"):
            far.respond(asks("x" * 70_000))


def test_settings_beyond_the_limits(server):
    far = client(server)
    with pytest.raises(ConfigError, match="max_new_tokens=21 is above the limit"):
        far.with_sampling(max_new_tokens=21)
    with pytest.raises(ConfigError, match="max_new_tokens=21 is above the limit"):
        client(server, samplings={"b_1": Sampling(max_new_tokens=21)})
    with pytest.raises(ValueError, match="top_p must be"):
        far.with_sampling(top_p=0)
    with pytest.raises(ConfigError, match="max_new_tokens=12 is above the limit of this server, 5"):
        PolicyService(tiny_models.policy(), limits=PolicyLimits(new_tokens=5))
    with pytest.raises(ConfigError, match="at least 1"):
        PolicyLimits(calls=0)
    with pytest.raises(ConfigError, match="does not fit 64 bits"):
        far.respond(asks("x", seed=2**63))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"k": 0}, "k must be at least 1"),
        ({"k": 2, "greedy": True}, "and 1 with greedy"),
        ({"asks": []}, "asks must hold some"),
        ({"asks": [pb.Ask()] * 4}, "4 requests with 1 answers each are too many"),
        ({"k": 5}, "1 requests with 5 answers each are too many"),
        ({"sampling": {"temperature": 0.0, "top_p": 1.0, "max_new_tokens": 9}}, "temperature"),
        ({"sampling": {"temperature": float("nan"), "top_p": 1, "max_new_tokens": 9}}, "nan"),
        ({"sampling": {"temperature": 1, "top_p": 1, "max_new_tokens": 21}}, "limit of this"),
        ({"sampling": {"temperature": 1, "top_p": 1, "max_new_tokens": 9, "stop": [""]}}, "stop"),
    ],
)
def test_a_server_checks_what_it_is_asked(server, fields, said):
    code, details = refusal(server, **fields)
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert said in details


def test_a_message_beyond_what_the_server_takes(server):
    request = {"asks": [pb.Ask(observation="x" * 65 * 2**20)]}  # the server's own limit is 64 MiB
    assert refusal(server, **request)[0] is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert client(server).respond(asks("up"))[0][0].trainable


def test_a_policy_that_takes_no_settings():
    with served(ScriptedPolicy(echo)) as (running, _):
        far = client(running, sampling=Sampling(), samplings={"a_0": Sampling(top_k=3)})
        assert texts(far.respond(asks("x"))) == [["x"]]  # as a scripted player here would
        with pytest.raises(ConfigError, match="takes no sampling settings"):
            far.with_sampling(top_k=3)
        code, said = refusal(
            running, sampling=pb.Sampling(temperature=1, top_p=1, max_new_tokens=1)
        )
        assert (code, said) == (
            grpc.StatusCode.INVALID_ARGUMENT,
            "scripted takes no sampling settings",
        )


def test_too_many_calls_wait():
    model = Gated()
    with served(model, calls=1) as (running, service):
        first = Asking(client(running), asks("first"))
        model.has_begun()
        second = Asking(client(running), asks("second"))
        has_waiting(service, 1)
        with pytest.raises(RemoteError, match="has no room for this: 1 calls are waiting already"):
            client(running, retries=1).respond(asks("third"))
        patient = Asking(client(running, retries=12), asks("patient"))  # 40 s in all
        model.open(3)
        assert texts(first.result() + second.result()) == [["first 0"], ["second 0"]]
        assert texts(patient.result()) == [["patient 0"]]


# Clients that are gone


def test_a_call_that_is_given_up_is_not_answered():
    model = Gated()
    with served(model) as (running, service):
        first = Asking(client(running), asks("first"))
        model.has_begun()
        stream = PoliciesStub(connect(parse_address(running.address))).Generate(
            pb.GenerateRequest(k=1, asks=[pb.Ask(observation="gone")])
        )
        has_waiting(service, 1)
        stream.cancel()
        has_waiting(service, 0)
        model.open(2)
        first.result()
        assert texts(client(running).respond(asks("later"))) == [["later 0"]]
    assert [observations for observations, *_ in model.calls] == [["first"], ["later"]]


def test_rows_that_nobody_waits_for_are_written_no_further():
    """At the level of tokens: of three prompts, the second is given up after two."""
    policy = tiny_models.policy()
    events = [threading.Event() for _ in range(3)]
    seen = []

    def stopped(ids):
        seen.append(len(ids))
        if len(ids) == 2:
            events[1].set()
        return False

    def rows(cancelled):
        seen.clear()
        return decode.sample(
            policy.model,
            [policy.encode(p) for p in ("up", "left", "right")],
            2,
            Sampling(max_new_tokens=8),
            eos_ids=[],
            pad_id=policy.pad_id,
            keys=[1, 2, 3],
            has_stopped=stopped,
            cancelled=cancelled,
        )

    whole = rows(None)
    assert len(seen) == 3 * 2 * 8
    events[1].clear()
    part = rows(lambda number: events[number].is_set())
    assert len(seen) == 2 * (8 + 2 + 8)
    assert [[len(row.ids) for row in of] for of in part] == [[8, 8], [2, 2], [8, 8]]
    assert [row.ids for row in part[0] + part[2]] == [row.ids for row in whole[0] + whole[2]]
    for event in events:
        event.set()
    rows(lambda number: events[number].is_set())
    assert len(seen) == 3 * 2  # a token each, and no more


def test_a_client_that_is_gone_stops_the_model(monkeypatch):
    """A model in the middle of a long answer does not write it to its end."""
    policy = tiny_models.policy(sampling=Sampling(max_new_tokens=200))
    policy.eos_ids = set()
    steps, events, begun, go_on = [], [], threading.Event(), threading.Event()
    forward, respond = dynamic_rows.sample_tokens, policy.respond

    def step(logits, sampling, noise):
        steps.append(1)
        if len(steps) == 5:
            begun.set()
            assert go_on.wait(LONG)
        return forward(logits, sampling, noise)

    def heard(requests, group_size, **options):
        events.append(requests[0].cancelled)
        return respond(requests, group_size, **options)

    monkeypatch.setattr(dynamic_rows, "sample_tokens", step)
    policy.respond = heard
    with served(policy) as (running, _):
        stream = PoliciesStub(connect(parse_address(running.address))).Generate(
            pb.GenerateRequest(k=2, asks=[pb.Ask(observation="up", key=1)])
        )
        assert begun.wait(LONG)
        stream.cancel()
        assert events[0].wait(LONG)
        go_on.set()
        client(running).respond(asks("up"))
    assert len(steps) == 5 + 200  # of the answer that was given up, and of the next one


CHILD = """
import sys
from types import SimpleNamespace
from llmzoo.policies import load
from llmzoo.policies.base import PolicyRequest
policy = load(sys.argv[1])
assert "torch" not in sys.modules, "a client needs no torch"
requests = [PolicyRequest(agent="a", observation=o, env=None) for o in ("mine 1", "mine 2")]
policy.respond(requests, on_complete=lambda index, answers: print(answers[0].text, flush=True))
"""


def test_a_client_killed_in_mid_stream_disturbs_no_other():
    model = Gated()
    with served(model) as (running, service):
        model.open()
        killed = subprocess.Popen(
            [sys.executable, "-c", CHILD, running.address], stdout=subprocess.PIPE, text=True
        )
        try:
            assert killed.stdout.readline() == "mine 1 0\n"
            other = Asking(client(running), asks("other"))
            has_waiting(service, 1)
            os.kill(killed.pid, signal.SIGKILL)
            assert model.requests[0].cancelled.wait(LONG)
        finally:
            killed.kill()
            killed.communicate()
        model.open(2)
        assert texts(other.result()) == [["other 0"]]


# Models that fail


def test_a_failure_spoils_no_other_call():
    def write(request):
        if request.observation == "bad":
            raise ArithmeticError("I cannot " + "do this " * 500)
        return request.observation

    model = Gated(write)
    model.open(1)
    with served(model) as (running, service):
        first = Asking(client(running), asks("first"))
        first.result()
        model.has_begun()
        blocked = Asking(client(running), asks("blocked"))
        model.has_begun()
        good = Asking(client(running), asks("good", "better"))
        has_waiting(service, 1)
        bad = Asking(client(running), asks("fine", "bad"))
        has_waiting(service, 2)
        more = Asking(client(running), asks("more"))
        has_waiting(service, 3)
        model.open(50)
        assert texts(blocked.result()) == [["blocked 0"]]
        assert texts(good.result()) == [["good 0"], ["better 0"]]
        assert texts(more.result()) == [["more 0"]]
        with pytest.raises(RemoteError, match="the policy raised ArithmeticError: I cannot do"):
            bad.result()
        assert texts(client(running).respond(asks("later"))) == [["later 0"]]
    together = [observations for observations, *_ in model.calls]
    assert together[2] == ["good", "better", "fine", "bad", "more"]
    assert together[3:] == [["bad"], ["more"], ["later"]]  # what was answered is not asked again


@pytest.mark.parametrize(
    ("answers", "said"),
    [
        ([], "1 requests were left unanswered"),
        ([[Completion(text="")]], "1 completions instead of 2"),
        ([[Completion(text="", prompt_ids=(i,)) for i in range(2)]], "with different prompts"),
    ],
)
def test_a_policy_that_does_not_keep_to_its_contract(answers, said):
    model = SimpleNamespace(name="odd", prompt_style=None)
    model.respond = lambda requests, group_size=1, *, greedy=False, **_: answers
    with served(model) as (running, _), pytest.raises(RemoteError, match=said):
        client(running).respond(asks("x"), 2)


@pytest.mark.parametrize("policy", [expert(), mixture(0.5)], ids=["expert", "mixed"])
def test_what_reads_the_environment_cannot_be_served(policy):
    with (
        served(policy) as (running, _),
        pytest.raises(ConfigError, match="the environment is where the client is"),
    ):
        client(running).respond(asks("x"))


@pytest.mark.parametrize("name", ["expert", "noisy_expert", "random", "human"])
def test_scripted_players_are_refused_before_anything_starts(name):
    with pytest.raises(ConfigError, match=f"'{name}' cannot be served"):
        load_hosted(name)


# Servers


def test_tokens(monkeypatch):
    token = "0123456789abcdef"
    with served(ScriptedPolicy(echo), token=token) as (running, _):
        for wrong in ("0123456789abcdeX", None):
            if wrong is None:
                monkeypatch.delenv("LLMZOO_TOKEN", raising=False)
            else:
                monkeypatch.setenv("LLMZOO_TOKEN", wrong)
            with pytest.raises(RemoteError, match="refused the token: set LLMZOO_TOKEN"):
                client(running)
        monkeypatch.setenv("LLMZOO_TOKEN", token)
        assert texts(client(running).respond(asks("x"))) == [["x"]]


def test_a_server_that_is_gone_and_one_that_was_started_again():
    with served(ScriptedPolicy(echo)) as (running, _):
        far = client(running, retries=2)
        assert texts(far.respond(asks("x"))) == [["x"]]
    with pytest.raises(RemoteError, match=f"no server can be reached at {running.address}"):
        far.respond(asks("x"))
    with pytest.raises(RemoteError, match=f"no server can be reached at {running.address}"):
        load(running.address)
    with served(ScriptedPolicy(echo), port=running.port) as (again, _):
        far.retries = 10  # for the channel waits a moment before it tries again
        with pytest.raises(RemoteError, match="restarted since this client began"):
            far.respond(asks("x"))
        assert texts(client(again).respond(asks("x"))) == [["x"]]


def test_a_server_that_ends_says_so_to_those_that_wait():
    model = Gated()
    with served(model) as (running, service):
        asking = Asking(client(running, retries=0), asks("x"))
        model.has_begun()
        waiting = Asking(client(running, retries=0), asks("y"))
        has_waiting(service, 1)
        threading.Timer(0.2, model.open, [5]).start()
        running.stop(grace_s=0.05)
    for broken_off in (asking, waiting):
        with pytest.raises(RemoteError):
            broken_off.result()


def test_names_of_servers():
    with pytest.raises(ConfigError, match="names an environment"):
        load_remote("grpc://127.0.0.1:1/sudoku_v0")
    with pytest.raises(ConfigError, match="is not an address"):
        load("grpc://")
    with pytest.raises(ConfigError, match="a model that learns has its weights here"):
        check_model("grpc://127.0.0.1:1")
