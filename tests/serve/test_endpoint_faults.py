"""What goes wrong between an endpoint and its callers is said plainly, and spoils no other's."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import tiny_models
from chat_models import tokenizer as chat_tokenizer
from endpoint_servers import LONG, GatedModel, serving
from waiting import until

from llmzoo.errors import ConfigError
from llmzoo.policies.settings import Sampling
from llmzoo.policies.transformers import TransformersPolicy

pytest.importorskip("uvicorn")
from llmzoo.envs.programs import http_server
from llmzoo.serve.completions import EndpointLimits

openai = pytest.importorskip("openai")

HI = [{"role": "user", "content": "up"}]
CHAT = {"model": "m", "messages": HI, "max_tokens": 2}
SHORT = Sampling(max_new_tokens=2)


@pytest.fixture(scope="module")
def served():
    with serving(tiny_models.policy(), max_choices=8, max_body_bytes=20_000) as served:
        yield served


def error_of(body):
    """The error in a reply, which has the form of OpenAI's."""
    assert set(body) == {"error"}
    assert set(body["error"]) == {"message", "type", "param", "code"}
    return body["error"]


# Requests that are refused


@pytest.mark.parametrize(
    ("fields", "param", "said"),
    [
        ({"tempreature": 1}, "tempreature", "Did you mean 'temperature'"),
        ({"max_new_tokens": 3}, "max_new_tokens", "Known: "),
        ({"presence_penalty": 0.5}, "presence_penalty", "has no penalties: leave it out"),
        ({"frequency_penalty": -1}, "frequency_penalty", "has no penalties"),
        ({"logit_bias": {"5": 1}}, "logit_bias", "takes no bias"),
        ({"response_format": {"type": "json_object"}}, "response_format", "ask for the form"),
        ({"logprobs": True, "top_logprobs": 2}, "top_logprobs", "leave it out, or send 0"),
        ({"tool_choice": "required"}, "tool_choice", "send no tools"),
        ({"functions": []}, "functions", "send tools instead"),
        ({"reasoning_effort": "low"}, "reasoning_effort", "--chat_template_args"),
        ({"best_of": 3}, "best_of", "use n"),
        ({"temperature": -1}, "temperature", "0, for the most likely completion, or 0.0001 to 100"),
        ({"temperature": 1e-308}, "temperature", "0.0001 to 100"),
        ({"temperature": 10**400}, "temperature", "a number of usual size"),
        ({"temperature": "1"}, "temperature", "must be a number"),
        ({"temperature": True}, "temperature", "must be a number"),
        ({"top_p": 0}, None, "top_p must be in [1e-06, 1]"),
        ({"top_k": -1}, "top_k", "a whole number from 0"),
        ({"max_tokens": 0}, "max_tokens", "a whole number from 1 to 255"),
        ({"max_tokens": 256}, "max_tokens", "a whole number from 1 to 255"),
        ({"max_tokens": 2.0}, "max_tokens", "a whole number"),
        ({"max_completion_tokens": 3}, "max_tokens", "the same as max_completion_tokens"),
        ({"n": 9}, "n", "a whole number from 1 to 8"),
        ({"n": True}, "n", "a whole number"),
        ({"seed": 2**63}, "seed", "a whole number"),
        ({"seed": "7"}, "seed", "a whole number"),
        ({"stop": [1]}, "stop", "a text, or a list of texts"),
        ({"stop": ["x"] * 65}, None, "at most 64 strings"),
        ({"stop": ""}, None, "an empty one would end every"),
        ({"stream": "yes"}, "stream", "true or false"),
        ({"stream_options": {"include_usage": True}}, "stream_options", "left out without stream"),
        ({"stream": True, "stream_options": {"x": 1}}, "stream_options", "include_usage"),
        ({"logprobs": 1}, "logprobs", "true or false"),
        ({"messages": []}, "messages", "a list of messages"),
        ({"messages": None}, "messages", "messages is missing"),
        ({"messages": [{"role": "wizard", "content": "x"}]}, "messages", "system, developer, user"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url"}]}]},
            "messages",
            "is text",
        ),
        ({"tools": ["add"]}, "tools", "a list of JSON schemas"),
        ({"model": 3}, "model", "Known: m"),
        (
            {"messages": [{"role": "user", "content": "up " * 300}]},
            None,
            "context length of m, 256",
        ),
        ({"messages": [{"role": "user", "content": ""}]}, None, "a prompt has 1 to 254 tokens"),
    ],
)
def test_what_a_chat_completion_may_not_ask(served, fields, param, said):
    status, body = served.post({**CHAT, **fields})
    error = error_of(body)
    assert (status, error["param"], error["type"]) == (400, param, "invalid_request_error")
    assert said in error["message"]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"prompt": [1, 2]}, "a list of texts, not of tokens"),
        ({"prompt": []}, "a list of texts"),
        ({"prompt": None}, "prompt is missing"),
        ({"prompt": ["up"] * 5, "n": 2}, "5 prompts with n=2 are too many: 8 completions"),
        ({"logprobs": 2}, "leave it out, or send 0"),
        ({"logprobs": True}, "a whole number from 0 to 5"),
        ({"echo": True}, "before the completion yourself"),
        ({"suffix": "x"}, "models write forwards"),
        ({"messages": HI}, "unknown field of a request 'messages'"),
    ],
)
def test_what_a_completion_of_a_text_may_not_ask(served, fields, said):
    status, body = served.post({"model": "m", "prompt": "up", **fields}, "/completions")
    assert (status, said in error_of(body)["message"]) == (400, True), body


def test_values_that_ask_for_nothing_are_accepted(served):
    neutral = {
        "presence_penalty": 0,
        "frequency_penalty": 0.0,
        "logit_bias": {},
        "response_format": {"type": "text"},
        "top_logprobs": 0,
        "tool_choice": "auto",
        "user": "me",
        "metadata": {"run": "1"},
        "stop": None,
    }
    assert served.post({**CHAT, **neutral})[0] == 200


def test_unknown_models_and_places(served):
    status, body = served.post({**CHAT, "model": "n"})
    assert (status, error_of(body)["code"]) == (404, "model_not_found")
    status, body = served.post(CHAT, "/embeddings")
    assert (status, "/v1/chat/completions" in error_of(body)["message"]) == (404, True)
    status, body = served.post(CHAT, "/models")
    assert (status, "POST is not allowed" in error_of(body)["message"]) == (405, True)


def test_bodies_that_are_no_request(served):
    for body in (b"", b"{", b"[]", b"3", b"\xff\xfe", b"[" * 9000, b'{"model": "\\ud800"}'):
        status, reply = served.post(body)
        assert (status, error_of(reply)["type"]) == (400, "invalid_request_error"), body
    long = {**CHAT, "messages": [{"role": "user", "content": "x" * 20_000}]}
    status, reply = served.post(long)
    assert (status, "more than 20000 bytes" in error_of(reply)["message"]) == (413, True)


def test_wrong_tokens(served):
    for key in ("guess", "", "0123456789abcdeF", "0123456789abcdef0"):
        with pytest.raises(openai.AuthenticationError, match="send it as the API key") as refused:
            served.client(api_key=key or "none").chat.completions.create(**CHAT)
        assert (refused.value.status_code, refused.value.code) == (401, "invalid_api_key")
    with pytest.raises(openai.AuthenticationError):
        served.client(api_key="guess").models.list()


def test_without_a_token_no_page_in_a_browser_may_call():
    with serving(tiny_models.policy(), token=None) as served:
        assert served.post(CHAT)[0] == 200
        for headers in (
            {"Origin": "http://evil.example"},
            {"Host": "evil.example"},
            {"Sec-Fetch-Site": "cross-site"},
        ):
            status, body = served.post(CHAT, **headers)
            assert (status, bool(error_of(body)["message"])) == (403, True)


def test_messages_that_the_chat_template_refuses():
    tokenizer = chat_tokenizer()
    tokenizer.chat_template = (
        "{% for m in messages %}{% if m.role == 'tool' %}{{ raise_exception('no tools here') }}"
        "{% endif %}{{ m.content }}{% endfor %}"
    )
    model = tiny_models.model(vocab_size=len(tokenizer))
    with serving(TransformersPolicy(model, tokenizer, sampling=SHORT)) as served:
        status, body = served.post({**CHAT, "messages": [{"role": "tool", "content": "5"}]})
        assert (status, "no tools here" in error_of(body)["message"]) == (400, True)
        assert served.post(CHAT)[0] == 200


# Limits


def test_requests_beyond_the_limit_are_refused_and_not_lost():
    policy = GatedModel(sampling=SHORT)
    with serving(policy, max_requests=2) as served, ThreadPoolExecutor(2) as pool:
        first = pool.submit(served.post, CHAT)
        policy.has_begun()
        second = pool.submit(served.post, CHAT)
        assert until(lambda: served.service.batcher.waiting == 1)
        with pytest.raises(openai.RateLimitError, match="2 requests are open") as refused:
            served.client().chat.completions.create(**CHAT)
        assert refused.value.response.headers["retry-after"] == "1"
        policy.open(3)
        assert [first.result()[0], second.result()[0]] == [200, 200]
        assert served.post(CHAT)[0] == 200


def test_a_request_has_its_time():
    policy = GatedModel(sampling=SHORT)
    with serving(policy, timeout_s=0.3) as served:
        status, body = served.post(CHAT)
        assert (status, error_of(body)["code"]) == (408, "request_timeout")
        assert "--timeout_s" in body["error"]["message"]
        assert policy.cancelled_events[0].wait(LONG)  # the model is free
        policy.open(2)
        served.service.limits = EndpointLimits()
        assert served.post(CHAT)[0] == 200


def test_a_body_has_its_time(served, monkeypatch):
    monkeypatch.setattr(http_server, "_BODY_S", 0.3)
    where = urlsplit(served.url)
    with socket.create_connection((where.hostname, where.port), timeout=LONG) as slow:
        slow.sendall(_head(served, 100) + b'{"model"')
        reply = b""
        while part := slow.recv(65536):
            reply += part
    assert reply.startswith(b"HTTP/1.1 408 ")
    assert "send it again" in error_of(json.loads(reply.partition(b"\r\n\r\n")[2]))["message"]


def test_limits_that_mean_nothing():
    for wrong in ({"max_requests": 0}, {"max_choices": 0}, {"max_body_bytes": 9}, {"timeout_s": 0}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            EndpointLimits(**wrong)


def test_who_waits_when_the_server_ends_is_told():
    policy = GatedModel(sampling=SHORT)
    with serving(policy) as served, ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(served.post, CHAT)]
        policy.has_begun()
        asked.append(pool.submit(served.post, {**CHAT, "seed": 1}))
        assert until(lambda: served.service.batcher.waiting == 1)
        closing = threading.Thread(target=served.service.close)
        closing.start()
        for request in asked:
            status, body = request.result()
            assert (status, error_of(body)["type"]) == (503, "server_error")
        policy.open()
        closing.join(LONG)
        assert served.post(CHAT)[0] == 503


# Failures


def test_a_failure_of_one_spoils_no_other():
    """Three requests come together; the model fails on one of them, and so on the batch."""

    class Failing(GatedModel):
        def respond(self, requests, group_size=1, **options):
            if any("left" in request.observation for request in requests):
                raise ArithmeticError("left is wrong")
            return super().respond(requests, group_size, **options)

    policy = Failing(sampling=SHORT)
    with serving(policy) as served, ThreadPoolExecutor(4) as pool:
        busy = pool.submit(served.post, CHAT)
        policy.has_begun()
        talks = [[{"role": "user", "content": text}] for text in ("up", "left", "down")]
        asked = [pool.submit(served.post, {**CHAT, "messages": talk}) for talk in talks]
        assert until(lambda: served.service.batcher.waiting == 3)
        policy.open(9)
        assert busy.result()[0] == 200
        statuses = [request.result()[0] for request in asked]
    assert statuses == [200, 500, 200]


# Connections that are cut


def _head(served, length):
    where = urlsplit(served.url)
    return (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: {where.netloc}\r\n"
        f"Authorization: Bearer {served.token}\r\nContent-Length: {length}\r\n\r\n"
    ).encode()


@pytest.mark.parametrize("stream", [False, True])
def test_a_caller_that_goes_away_frees_the_model(stream):
    policy = GatedModel(sampling=SHORT)
    body = json.dumps({**CHAT, "stream": stream}).encode()
    with serving(policy) as served:
        where = urlsplit(served.url)
        running = socket.create_connection((where.hostname, where.port))
        running.sendall(_head(served, len(body)) + body)
        policy.has_begun()
        waiting = socket.create_connection((where.hostname, where.port))
        waiting.sendall(_head(served, len(body)) + body)
        assert until(lambda: served.service.batcher.waiting == 1)
        waiting.close()
        assert until(lambda: served.service.batcher.waiting == 0)
        running.close()
        assert policy.cancelled_events[0].wait(LONG)
        policy.open(2)
        assert served.post(CHAT)[0] == 200
        assert until(lambda: served.service._open == 0)
    assert policy.sizes == [1, 1]  # nothing was sampled for the one that waited


class Growing(GatedModel):
    """Its completions have grown a little when its gate opens, and then it fails."""

    def respond(self, requests, group_size=1, *, greedy=False, on_complete=None):
        for request in requests:
            self.cancelled_events.append(request.cancelled)
            ids = self.tokenizer("up left", add_special_tokens=False)["input_ids"]
            request.on_growth([ids])
        assert self.gate.acquire(timeout=LONG)
        raise ArithmeticError("no more")


def test_a_stream_that_fails_ends_with_an_error():
    policy = Growing(sampling=SHORT)
    with serving(policy) as served:
        stream = served.client().chat.completions.create(**CHAT, stream=True)
        assert next(stream).choices[0].delta.content == "up left"
        policy.open()
        with pytest.raises(openai.APIError, match=r"m failed: ArithmeticError.*no more"):
            list(stream)
        assert until(lambda: served.service._open == 0)


def test_a_stream_has_its_time_too():
    policy = Growing(sampling=SHORT)
    with serving(policy, timeout_s=0.5) as served:
        stream = served.client().chat.completions.create(**CHAT, stream=True)
        with pytest.raises(openai.APIError, match=r"no completion within 0\.5 s"):
            list(stream)
        policy.open()
        assert until(lambda: served.service._open == 0)


def test_a_stream_that_nobody_reads_is_cut_off():
    """A full socket makes ``send`` wait for ever; the request's slot is freed all the same."""
    closed = []

    async def values():
        while True:
            yield {}

    async def send(message):
        await asyncio.Event().wait()

    stream = http_server.EventStream(values(), lambda: closed.append(1), timeout_s=0.05)
    asyncio.run(asyncio.wait_for(stream({"type": "http"}, asyncio.Event().wait, send), LONG))
    assert closed == [1]


def test_a_caller_that_leaves_in_mid_stream_frees_the_model():
    policy = Growing(sampling=SHORT)
    with serving(policy) as served:
        stream = served.client().chat.completions.create(**CHAT, stream=True)
        assert next(stream).choices[0].delta.content == "up left"
        assert served.service._open == 1
        stream.close()
        assert policy.cancelled_events[0].wait(LONG)
        assert until(lambda: served.service._open == 0)
        policy.open()


def test_connections_cut_at_every_point_of_request_and_stream(served):
    body = json.dumps({**CHAT, "stream": True, "n": 8}).encode()
    request = _head(served, len(body)) + body
    where = urlsplit(served.url)
    rng = random.Random(0)
    for number in range(60):
        with socket.create_connection((where.hostname, where.port), timeout=LONG) as cut:
            if number % 2:
                cut.sendall(request[: rng.randrange(len(request))])
            else:
                cut.sendall(request)
                cut.recv(rng.choice((1, 20, 300)))
            # an abrupt end, which the server sees as an error
            cut.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
    assert until(lambda: served.service._open == 0)
    assert served.service.batcher.waiting == 0
    assert served.post(CHAT)[0] == 200


# Hostile bodies

_VALUES = (
    *(None, True, False, 0, 1, -1, 2**63, -(2**70), 10**300, 0.5, 1e308, "", "m", "up", "x" * 3000),
    *([], {}, [[]], {"a": []}, [None], ["up"], "\u202e", "\x00", "🙂" * 50, [{"role": "user"}]),
)
_FIELDS = (
    *("model", "messages", "prompt", "n", "max_tokens", "temperature", "top_p", "top_k", "stop"),
    *("seed", "stream", "stream_options", "logprobs", "top_logprobs", "tools", "user", "echo"),
    *("max_completion_tokens", "response_format", "best_of", "logit_bias", "__class__", "self"),
)


def _hostile_body(rng):
    """A request that is wrong in one or in many ways, or by chance right."""
    kind = rng.random()
    if kind < 0.1:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(200)))
    message = {"role": rng.choice(("user", "system", "tool", "x")), "content": "up"}
    if rng.random() < 0.3:
        message[rng.choice(("content", "role", "name", "tool_calls"))] = rng.choice(_VALUES)
    body = {"model": "m", "messages": [message] * rng.randrange(1, 4), "max_tokens": 1}
    for _ in range(rng.choice((0, 1, 1, 2, 5))):
        body[rng.choice(_FIELDS)] = rng.choice(_VALUES)
    text = json.dumps(body)
    if kind < 0.2:
        text = text.replace("1", rng.choice(("NaN", "Infinity", "1" * 5000, "[" * 2000, "-")))
    elif kind < 0.3:
        at = rng.randrange(len(text))
        text = text[:at] + chr(rng.randrange(1, 0x3000)) + text[at + rng.randrange(3) :]
    return text.encode()


def _resident():
    """Megabytes of memory of this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="reads /proc")
@pytest.mark.slow
def test_ten_thousand_hostile_bodies(served):
    where = urlsplit(served.url)
    threads = threading.active_count()
    statuses, memory, slowest = {}, [], 0.0
    connection = http.client.HTTPConnection(where.hostname, where.port, timeout=LONG)
    headers = {"Authorization": f"Bearer {served.token}"}
    for seed in range(10_000):
        rng = random.Random(seed)
        path = rng.choice(("chat/completions", "completions"))
        began = time.monotonic()
        connection.request("POST", f"/v1/{path}", _hostile_body(rng), headers)
        reply = connection.getresponse()
        body = reply.read()
        slowest = max(slowest, time.monotonic() - began)
        statuses.setdefault(reply.status, seed)
        if reply.status != 200:
            assert error_of(json.loads(body))["message"], seed
        if seed % 1000 == 999:
            memory.append(_resident())
    connection.close()
    assert set(statuses) == {200, 400, 404, 413}, statuses
    assert slowest < 10
    assert max(memory[3:]) - memory[2] < 16  # megabytes, after 3,000 of them
    assert until(lambda: served.service._open == 0)
    assert served.service.batcher.waiting == 0
    assert threading.active_count() <= threads + 32  # the pool that counts tokens
    assert served.post(CHAT)[0] == 200


def test_nothing_is_lost_among_many_callers(served):
    """Right requests, wrong ones and callers that leave, all at once: each right one is answered."""

    async def caller(number):
        async with openai.AsyncOpenAI(
            base_url=served.url, api_key=served.token, max_retries=0, timeout=LONG
        ) as client:
            create = client.chat.completions.create
            if number % 3 == 0:
                with pytest.raises(openai.BadRequestError):
                    await create(**CHAT, seed=number, n=99)
                return "refused"
            if number % 3 == 1:
                with pytest.raises(openai.APITimeoutError):
                    await create(**CHAT, seed=number, timeout=0.0001)
                return "left"
            return (await create(**CHAT, seed=5)).choices[0].message.content

    async def all_callers():
        return await asyncio.gather(*(caller(number) for number in range(48)))

    said = asyncio.run(all_callers())
    (answer,) = {said[number] for number in range(2, 48, 3)}
    assert answer == served.post({**CHAT, "seed": 5})[1]["choices"][0]["message"]["content"]
    assert until(lambda: served.service._open == 0)


def test_a_request_with_two_lengths_ends_its_connection(served):
    where = urlsplit(served.url)
    with socket.create_connection((where.hostname, where.port), timeout=LONG) as smuggler:
        head = _head(served, 3).replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n")
        smuggler.sendall(head + b"0\r\n\r\n")
        reply = b""
        while part := smuggler.recv(65536):
            reply += part
    assert reply.startswith(b"HTTP/1.1 400 ")
    assert b"connection: close" in reply
