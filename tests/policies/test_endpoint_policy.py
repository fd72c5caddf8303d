"""A model behind an endpoint, here a local server that does what the test tells it to."""

from __future__ import annotations

import asyncio
import builtins
import json
import socket
import ssl
import threading
import time
import warnings
from contextlib import contextmanager, suppress
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import SimpleNamespace
from unittest import mock

import pytest
from toy_envs import Matcher

from llmzoo.endpoints import OPENAI_URL, Endpoint, parse_endpoint
from llmzoo.errors import ConfigError, MissingExtraError
from llmzoo.models.sampling import Sampling
from llmzoo.policies import endpoint, load
from llmzoo.policies.base import PolicyRequest
from llmzoo.policies.endpoint import EndpointPolicy
from llmzoo.policies.settings import Chat
from llmzoo.records import Completion
from llmzoo.rollout.episodes import play_episodes

pytest.importorskip("openai", reason="the extra 'openai' is not installed")


@pytest.fixture(scope="module", autouse=True)
def one_ssl_context():
    """Each call makes a client, which reads the certificates; nothing here is encrypted."""
    with mock.patch("ssl.create_default_context", cache(ssl.create_default_context)):
        yield


def completion(*contents, reason="stop"):
    """A body of the protocol, with a choice for each content."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {
                "index": i,
                "message": {"role": "assistant", "content": content},
                "finish_reason": reason,
            }
            for i, content in enumerate(contents)
        ],
    }


def echo(asked):
    """Answers with the prompt, as many times as asked."""
    said = asked["messages"][-1]["content"]
    return completion(*(f"{said}!" for _ in range(asked.get("n", 1))))


def refusal(message, param=None, code=None):
    return {"error": {"message": message, "type": "x", "param": param, "code": code}}


@pytest.fixture
def server():
    """An endpoint. ``reply(asked)`` gives a body, or a status with a body and headers; bytes are
    sent as they are. ``asked`` keeps what was asked, ``keys`` the headers with the key."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with web.lock:
                web.asked.append(asked)
                web.keys.append(self.headers["Authorization"])
                web.paths.add(self.path)
                web.active += 1
                web.most = max(web.most, web.active)
            try:
                found = web.reply(asked)
            finally:
                with web.lock:
                    web.active -= 1
            status, body, headers = found if isinstance(found, tuple) else (200, found, {})
            sent = body if isinstance(body, bytes) else json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent) + web.owed))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)
            for _ in range(web.owed):  # a body that never seems to end
                if web.closing.wait(0.02):
                    break
                self.wfile.write(b" ")
                self.wfile.flush()

        def log_message(self, *args):
            """Quiet."""

        def handle(self):
            with suppress(ConnectionError):  # the client had enough
                super().handle()

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    web.lock, web.closing = threading.Lock(), threading.Event()
    web.asked, web.keys, web.paths, web.reply = [], [], set(), echo
    web.active = web.most = web.owed = 0
    web.url = f"http://127.0.0.1:{web.server_address[1]}/v1"
    thread = threading.Thread(target=web.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield web
    web.closing.set()
    web.shutdown()
    web.server_close()
    thread.join()


def policy(server, *, timeout_s=5.0, **options):
    options = {"backoff_s": 0.001, **options}
    endpoint = Endpoint(model="m", base_url=server.url, api_key_env=None, timeout_s=timeout_s)
    return EndpointPolicy(endpoint, **options)


def asks(*observations, agent="a"):
    return [PolicyRequest(agent=agent, observation=o, env=Matcher()) for o in observations]


def texts(answers):
    return [[c.text for c in row] for row in answers]


@contextmanager
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# What is asked, and how


def test_answers_keep_the_order_of_the_requests(server):
    sent = {str(number): threading.Event() for number in range(1, 7)}
    sent["6"].set()

    def late_first(asked):  # "0" is answered last, each after the one that follows it
        number = asked["messages"][-1]["content"]
        assert sent[str(int(number) + 1)].wait(20)
        sent.get(number, threading.Event()).set()
        return echo(asked)

    server.reply = late_first
    answers = policy(server, timeout_s=30, workers=6).respond(asks(*"012345"))
    assert texts(answers) == [[f"{i}!"] for i in range(6)]
    assert server.paths == {"/v1/chat/completions"}
    assert not any(c.trainable or c.truncated for row in answers for c in row)


def test_calls_run_side_by_side_within_the_bound(server):
    meeting = threading.Barrier(4)  # passes when four calls are under way, and not before

    def meet(asked):
        meeting.wait(timeout=60)
        return echo(asked)

    server.reply = meet
    answers = policy(server, workers=4, timeout_s=90).respond(asks(*map(str, range(12))))
    assert texts(answers) == [[f"{i}!"] for i in range(12)]
    assert server.most == 4
    server.most, server.reply = 0, lambda asked: (time.sleep(0.02), echo(asked))[1]
    policy(server, workers=1).respond(asks("a", "b", "c"))
    assert server.most == 1


def test_the_settings_are_sent(server):
    sampling = Sampling(temperature=0.7, top_p=0.9, top_k=5, max_new_tokens=11, stop=("\n", "END"))
    player = policy(server, sampling=sampling, system="Be brief.")
    player.respond(asks("hello"), group_size=2)
    assert server.asked == [
        {
            "model": "m",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "hello"},
            ],
            "n": 2,
            "temperature": 0.7,
            "top_p": 0.9,
            "top_k": 5,
            "max_tokens": 11,
            "stop": ["\n", "END"],
        }
    ]
    player.respond(asks("hello"), greedy=True)
    assert server.asked[1]["temperature"] == 0
    assert "n" not in server.asked[1]


def test_without_settings_the_server_has_its_own(server):
    policy(server).respond(asks("hello"))
    policy(server).respond(asks("hello"), greedy=True)
    message = [{"role": "user", "content": "hello"}]
    assert server.asked[0] == {"model": "m", "messages": message}
    assert server.asked[1] == {"model": "m", "messages": message, "temperature": 0}


def test_an_agent_has_settings_of_its_own(server):
    player = policy(
        server, sampling=Sampling(max_new_tokens=9), samplings={"b": Sampling(max_new_tokens=2)}
    )
    player.respond(asks("for a") + asks("for b", agent="b"))
    limits = {asked["messages"][0]["content"]: asked["max_tokens"] for asked in server.asked}
    assert limits == {"for a": 9, "for b": 2}


def test_an_answer_cut_off_by_the_limit(server):
    server.reply = lambda asked: completion("half an ans", reason="length")
    assert policy(server).respond(asks("?")) == [[Completion(text="half an ans", truncated=True)]]


def test_an_answer_without_text_is_an_empty_one_and_no_failure(server):
    server.reply = lambda asked: completion(None, reason="content_filter")
    player = policy(server)
    assert player.respond(asks("?")) == [[Completion(text="")]]
    assert (player.answers_failed, len(server.asked)) == (0, 1)


def thought(content, **apart):
    """A body whose message has thoughts beside the content."""
    body = completion(content)
    body["choices"][0]["message"] |= apart
    return body


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (completion("<think>Answer: LLLL</think>\n\nUURR"), "UURR"),
        (completion("Answer: LLLL</think>UURR"), "UURR"),
        (completion("[THINK]LLLL[/THINK]UURR"), "UURR"),
        (thought("UURR", reasoning_content="Answer: LLLL"), "UURR"),
        (thought("\nUURR", reasoning="Answer: LLLL"), "\nUURR"),
        (thought(None, reasoning_content="Answer: LLLL"), ""),
        (thought("<think> is a tag: UURR", reasoning_content="no"), "<think> is a tag: UURR"),
    ],
)
def test_thoughts_are_no_part_of_an_answer(server, body, text):
    server.reply = lambda asked: body
    with no_warnings():
        assert texts(policy(server).respond(asks("?"))) == [[text]]


def test_an_unclosed_thought_is_an_empty_answer(server):
    server.reply = lambda asked: completion("<think>Answer: LLLL", reason="length")
    player = policy(server)
    with pytest.warns(UserWarning, match="inside a thought"):
        assert player.respond(asks("?")) == [[Completion(text="", truncated=True)]]
    with no_warnings():
        player.respond(asks("?"))
    assert (player.thoughts_unclosed, player.answers_failed) == (2, 0)


def test_what_ends_a_thought_can_be_said_of_each_agent(server):
    server.reply = lambda asked: completion("<think>no</think>yes")
    chats = {"b": Chat(thought_end="none"), "c": Chat(thought_end="</done>")}
    player = policy(server, chats=chats)
    assert texts(player.respond(asks("?"))) == [["yes"]]
    assert texts(player.respond(asks("?", agent="b"))) == [["<think>no</think>yes"]]
    with pytest.warns(UserWarning, match="inside a thought"):
        assert texts(player.respond(asks("?", agent="c"))) == [[""]]
    server.reply = lambda asked: thought("yes", reasoning_content="no")
    assert texts(player.respond(asks("?", agent="c"))) == [["yes"]]


def test_settings_of_prompts_are_sent(server):
    server.reply = echo
    off = {"enable_thinking": False}
    chats = {"b": Chat(system="Be kind.")}
    player = policy(server, chat=Chat(chat_template_args=off), chats=chats)
    player.respond(asks("?"))
    assert server.asked[-1]["chat_template_kwargs"] == off
    assert [m["role"] for m in server.asked[-1]["messages"]] == ["user"]
    player.respond(asks("?", agent="b"))
    assert "chat_template_kwargs" not in server.asked[-1]
    assert server.asked[-1]["messages"][0] == {"role": "system", "content": "Be kind."}


def test_openais_own_api_has_no_chat_template(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(ConfigError, match="takes no chat_template_args"):
        EndpointPolicy(parse_endpoint("openai:m"), chats={"b": Chat(chat_template_args={"a": 1})})


def test_half_a_surrogate_pair_is_replaced(server):
    server.reply = lambda asked: json.dumps(completion("a\ud800b")).encode()
    assert texts(policy(server).respond(asks("?"))) == [["a?b"]]


# Several answers


def test_k_answers_come_of_one_call(server):
    answers = policy(server).respond(asks("x", "y"), group_size=3)
    assert texts(answers) == [["x!"] * 3, ["y!"] * 3]
    assert [asked["n"] for asked in server.asked] == [3, 3]


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_refuses_n_is_asked_k_times(server, status):
    def one_only(asked):
        if asked.get("n", 1) > 1:
            return status, refusal("Only one completion choice is allowed"), {}
        return completion(f"answer {len(server.asked)}")

    server.reply = one_only
    player = policy(server, retries=1)
    with no_warnings():
        (answers,) = player.respond(asks("x"), group_size=3)
    tried = 2 if status == 500 else 1  # a fault may pass, so it is tried again first
    assert sorted(c.text for c in answers) == [f"answer {tried + i}" for i in (1, 2, 3)]
    player.respond(asks("x"), group_size=3)  # it is known now
    assert [asked.get("n", 1) for asked in server.asked] == [3] * tried + [1] * 6


def test_a_server_that_overlooks_n_is_asked_for_the_rest(server):
    server.reply = lambda asked: completion("one")
    player = policy(server)
    assert texts(player.respond(asks("x"), group_size=3)) == [["one"] * 3]
    assert [asked.get("n", 1) for asked in server.asked] == [3, 1, 1]
    player.respond(asks("x"), group_size=2)
    assert [asked.get("n", 1) for asked in server.asked[3:]] == [1, 1]


def test_more_answers_than_asked_for_are_cut(server):
    server.reply = lambda asked: completion("1", "2", "3")
    assert texts(policy(server).respond(asks("x"), group_size=2)) == [["1", "2"]]
    assert texts(policy(server).respond(asks("x"))) == [["1"]]


# Servers that refuse a parameter


def test_the_limit_has_another_name_where_the_server_wants_it(server):
    def newer(asked):
        if "max_tokens" in asked:
            message = "'max_tokens' is not supported. Use 'max_completion_tokens' instead."
            return 400, refusal(message, "max_tokens", "unsupported_parameter"), {}
        return echo(asked)

    server.reply = newer
    player = policy(server, sampling=Sampling(max_new_tokens=7), retries=0, workers=1)
    assert texts(player.respond(asks("x", "y"))) == [["x!"], ["y!"]]
    # refused once; it is known from then on
    assert [asked.get("max_completion_tokens") for asked in server.asked] == [None, 7, 7]


def test_a_nucleus_of_everything_need_not_be_said(server):
    def without_top_p(asked):
        return (400, refusal("no", "top_p"), {}) if "top_p" in asked else echo(asked)

    server.reply = without_top_p
    player = policy(server, sampling=Sampling(top_p=1.0), retries=0)
    assert texts(player.respond(asks("x"))) == [["x!"]]
    with pytest.raises(ConfigError, match="refuses to answer: status 400"):
        policy(server, sampling=Sampling(top_p=0.5)).respond(asks("x"))


def test_every_call_has_a_seed_of_its_own(server):
    player = policy(server, seed=5, workers=1)
    player.respond(asks("x", "y"))
    first = [asked["seed"] for asked in server.asked]
    assert len(set(first)) == 2
    player.reseed(5)
    player.respond(asks("x", "y"))
    assert [asked["seed"] for asked in server.asked] == first * 2
    assert all(0 <= seed < 2**63 for seed in first)
    policy(server).respond(asks("x"))
    assert "seed" not in server.asked[-1]  # none was given


@pytest.mark.parametrize("named", [True, False])
def test_a_server_that_takes_no_seed_is_asked_without(server, named):
    def without_seed(asked):
        if "seed" not in asked:
            return echo(asked)
        said = refusal("no", "seed") if named else refusal("Extra inputs: seed is not permitted")
        return 422, said, {}

    server.reply = without_seed
    player = policy(server, seed=5, retries=0, workers=1)
    assert texts(player.respond(asks("x", "y"))) == [["x!"], ["y!"]]
    assert ["seed" in asked for asked in server.asked] == [True, False, False]


def test_a_setting_that_the_server_does_not_take_is_an_error(server):
    server.reply = lambda asked: (400, refusal("Unrecognized argument: top_k", "top_k"), {})
    player = policy(server, sampling=Sampling(top_k=3))
    with pytest.raises(ConfigError, match="Unrecognized argument: top_k"):
        player.respond(asks("x"))
    with pytest.raises(ConfigError, match="Unrecognized argument: top_k"):
        player.respond(asks("x"), group_size=2)


# Failures


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_passing_failure_is_tried_again(server, status):
    def third_time(asked):
        return (status, refusal("later"), {}) if len(server.asked) < 3 else echo(asked)

    server.reply = third_time
    with no_warnings():
        assert texts(policy(server, retries=2).respond(asks("x"))) == [["x!"]]
    assert len(server.asked) == 3


def test_a_failure_that_stays_gives_empty_answers_and_one_warning(server):
    def some(asked):
        bad = asked["messages"][0]["content"] == "bad"
        return (503, refusal("overloaded"), {}) if bad else echo(asked)

    server.reply = some
    player = policy(server, retries=2)
    with pytest.warns(UserWarning, match=r"status 503.*overloaded.*attempt 3") as caught:
        answers = player.respond(asks("good", "bad", "bad", "fine"))
    assert texts(answers) == [["good!"], [""], [""], ["fine!"]]
    assert not answers[1][0].trainable
    assert len(caught) == 1
    assert len(server.asked) == 2 + 2 * 3
    with no_warnings():
        assert texts(player.respond(asks("bad"), group_size=2)) == [["", ""]]
    assert player.answers_failed == 4


@pytest.fixture
def pauses(monkeypatch):
    """The seconds that a policy pauses before it tries again, which it does at once here.

    The endpoint's own module alone: a server that an earlier test left in a thread sleeps too.
    """
    found = []

    async def noted(seconds, *args):
        if seconds:
            found.append(seconds)
        await asyncio.sleep(0)

    own = SimpleNamespace(**{**vars(asyncio), "sleep": noted})
    monkeypatch.setattr(endpoint, "asyncio", own)
    return found


def test_the_pauses_double_and_the_servers_wish_is_kept(server, pauses):
    server.reply = lambda asked: (503, refusal("later"), {})
    with pytest.warns(UserWarning, match="503"):
        policy(server, retries=2, backoff_s=20.0).respond(asks("x"))
    first, second = pauses
    assert 15 <= first <= 20  # less up to a quarter
    assert 30 <= second <= 40
    pauses.clear()
    server.asked.clear()

    def wait(asked):
        again = len(server.asked) > 1
        return echo(asked) if again else (429, refusal("slowly"), {"Retry-After": "7.5"})

    server.reply = wait
    policy(server, retries=1, backoff_s=0).respond(asks("x"))
    assert pauses == [7.5]


@pytest.mark.parametrize("header", ["soon", "nan", "-5", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_wish_that_is_no_number_of_seconds_is_overlooked(server, header):
    def later(asked):
        again = len(server.asked) > 1
        return echo(asked) if again else (503, refusal("x"), {"Retry-After": header})

    server.reply = later
    assert texts(policy(server, retries=1).respond(asks("x"))) == [["x!"]]


def test_a_silent_server_is_left_after_the_time_limit(server):
    server.reply = lambda asked: (server.closing.wait(60), echo(asked))[1]
    started = time.monotonic()
    with pytest.warns(UserWarning, match=r"(no answer within 0.2 s|APITimeoutError)"):
        answers = policy(server, timeout_s=0.2, retries=1).respond(asks("x"))
    assert texts(answers) == [[""]]
    assert len(server.asked) == 2
    assert time.monotonic() - started < 30


def test_a_server_that_trickles_is_left_after_the_time_limit(server):
    server.owed = 10_000  # a byte each 0.02 s: no single read is slow, all of them are 200 s
    started = time.monotonic()
    with pytest.warns(UserWarning, match="no answer within 0.3 s"):
        answers = policy(server, timeout_s=0.3, retries=0).respond(asks("x"))
    assert texts(answers) == [[""]]
    assert time.monotonic() - started < 60


def test_no_server(server):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
        endpoint = Endpoint(model="m", base_url=address, api_key_env=None)
        player = EndpointPolicy(endpoint, retries=1, backoff_s=0)
        with pytest.warns(UserWarning, match=r"APIConnectionError: .+, at attempt 2"):
            assert texts(player.respond(asks("x"))) == [[""]]


BODIES = [
    *(b"", b"<html>hello</html>", b"[1, 2]", b"5", b"null", b"{bad", b"\xff\xfe{", b"{}"),
    *(b'{"choices": []}', b'{"choices": [{}]}', b'{"choices": [{"message": null}]}'),
    *(b'{"choices": "abc"}', b'{"choices": [1]}', b'{"choices": {"0": 1}}', b"[" * 100_000),
    b'{"choices": [{"message": {"content": [1, 2]}, "finish_reason": "stop"}]}',
]


def test_a_body_that_is_no_chat_completion_is_asked_for_again(server):
    """Each body is the first reply to a prompt of its own; without a second call the answer is empty."""
    numbers = [str(number) for number in range(len(BODIES))]

    def reply(asked):
        number = asked["messages"][-1]["content"]
        earlier = sum(a["messages"][-1]["content"] == number for a in server.asked)
        return BODIES[int(number)] if earlier == 1 else echo(asked)

    server.reply = reply
    options = {"timeout_s": 60, "workers": 4}  # no more connections than wait to be accepted
    with no_warnings():
        found = policy(server, retries=1, **options).respond(asks(*numbers))
    assert texts(found) == [[f"{number}!"] for number in numbers]
    server.asked.clear()
    player = policy(server, retries=0, **options)
    server.reply = echo
    player.respond(asks("x"))  # an endpoint that has never answered counts as dead after 8 calls
    server.reply = reply
    with pytest.warns(UserWarning, match=r"no chat completion|APIResponseValidationError"):
        assert texts(player.respond(asks(*numbers))) == [[""]] * len(BODIES)
    assert player.answers_failed == len(BODIES)


@pytest.mark.parametrize(("status", "k"), [(401, 1), (403, 3), (404, 1), (404, 3)])
def test_a_wrong_key_or_model_is_an_error_at_once(server, status, k):
    def refuse(asked):
        if asked["messages"][0]["content"] == "slow":
            server.closing.wait(60)
            return echo(asked)
        return status, refusal("no such thing"), {}

    server.reply = refuse
    started = time.monotonic()
    with no_warnings(), pytest.raises(ConfigError, match=rf"status {status}.*no such thing"):
        policy(server, timeout_s=60).respond(asks("slow", "x", "slow"), group_size=k)
    assert time.monotonic() - started < 30  # those under way are not waited for
    assert sum(asked["messages"][0]["content"] == "x" for asked in server.asked) == 1


@pytest.mark.parametrize(
    "refused",
    [
        (400, refusal("too long", code="context_length_exceeded"), {}),
        (400, refusal("This model's maximum context length is 8 tokens."), {}),
        (400, refusal("the request exceeds the available context size"), {}),
        (400, refusal("against the rules", code="content_filter"), {}),
        (413, refusal("Payload Too Large"), {}),
    ],
    ids=lambda refused: refused[1]["error"]["message"],
)
def test_a_prompt_that_is_refused_spoils_no_other(server, refused):
    server.reply = lambda a: refused if len(a["messages"][0]["content"]) > 20 else echo(a)
    player = policy(server)
    with pytest.warns(UserWarning, match=f"status {refused[0]}"):
        answers = player.respond(asks("short", "long " * 10), group_size=2)
    assert texts(answers) == [["short!", "short!"], ["", ""]]
    assert [[c.refused for c in group] for group in answers] == [[False] * 2, [True] * 2]
    assert len(server.asked) == 2  # asking again would be of no use
    assert player.left_out == set()


# Names, keys, packages


@pytest.mark.parametrize(
    ("name", "model", "url"),
    [
        ("openai:gpt-5", "gpt-5", OPENAI_URL),
        (
            "openai:Qwen/Qwen3-4B@http://localhost:8000/v1",
            "Qwen/Qwen3-4B",
            "http://localhost:8000/v1",
        ),
        ("openai:a@2@https://x.org/v1", "a@2", "https://x.org/v1"),
    ],
)
def test_names(monkeypatch, name, model, url):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    assert parse_endpoint(name) == Endpoint(model=model, base_url=url)
    assert load(name).name == name


@pytest.mark.parametrize("name", ["openai:", "openai:m@", "openai:m@localhost:8000", "m", "openai"])
def test_names_of_no_endpoint(name):
    with pytest.raises(ConfigError, match="names no endpoint"):
        parse_endpoint(name)


def test_a_missing_package_is_named(monkeypatch):
    imported = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "openai":
            raise ModuleNotFoundError("No module named 'openai'", name="openai")
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[openai\]"):
        EndpointPolicy(Endpoint(model="m", api_key_env=None))


@pytest.mark.parametrize("wrong", [{"workers": 0}, {"retries": -1}, {"backoff_s": -1.0}])
def test_options_that_cannot_be_used(server, wrong):
    with pytest.raises(ConfigError, match="at least"):
        policy(server, **wrong)


# In play


def test_it_answers_where_a_loop_is_running_as_in_a_notebook(server):
    async def cell():
        return policy(server).respond(asks("x"))

    assert texts(asyncio.run(cell())) == [["x!"]]


def test_it_plays_an_episode(server):
    server.reply = lambda asked: completion("2")
    (episode,) = play_episodes(Matcher, load(f"openai:m@{server.url}"), [0])
    assert {d.completion.text for d in episode.decisions} == {"2"}
    seen = {asked["messages"][0]["content"] for asked in server.asked}
    assert seen == {d.observation for d in episode.decisions}
