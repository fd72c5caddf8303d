"""The HTTP side of the gateways against callers that send too little, too much, or what they may not."""

from __future__ import annotations

import asyncio
import json
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from llmzoo.envs.programs.client import Client

pytest.importorskip("uvicorn")
from llmzoo.envs.programs import http_server
from llmzoo.envs.programs.chat_server import ChatServer
from llmzoo.envs.programs.http_server import listen

TOKEN = "a token of this test"
CALL = {"model": "a", "messages": [{"role": "user", "content": "Hi"}]}
LOCAL = "Host: 127.0.0.1"
SMUGGLED = "5\r\n null\r\n0\r\n\r\n"  # chunks
# a server in a process of its own, with the least that it needs
ALONE = """
import resource, sys, time
resource.setrlimit(resource.RLIMIT_NOFILE, (96, 96))
from tests.envs.test_chat_server import Echoes
from llmzoo.envs.programs.chat_server import ChatServer
from llmzoo.envs.programs.http_server import listen
print(ChatServer(Echoes(None), listen()).address, flush=True)
time.sleep(600)
"""


class Echoes:
    """Episodes whose only agent repeats the last message."""

    agents = ("a",)
    seed = 0

    def __init__(self, token):
        self.token = token
        self.posted = []

    async def ask_async(self, call, count):
        await asyncio.sleep(0)
        return [call.messages[-1]["content"]] * count

    def client(self, id):
        return Client(self)

    def agents_of(self, id):
        return self.agents

    async def record_reward(self, id, result):
        self.posted.append(result)


@contextmanager
def serving(token=None, **options):
    with listen() as listening:
        server = ChatServer(Echoes(token), listening, **options)
        try:
            yield server.address
        finally:
            server.stop()


@contextmanager
def connected(address, sent=b"", timeout=10.0):
    where = urlsplit(address)
    with socket.create_connection((where.hostname, where.port), timeout=timeout) as connection:
        connection.sendall(sent)
        yield connection


def request(line, *headers, body="", host=LOCAL):
    """The bytes of a request."""
    lines = [f"{line} HTTP/1.1", *filter(None, [host]), *headers, "", body]
    return "\r\n".join(lines).encode()


def post(body, path="/v1/chat/completions"):
    return request(f"POST {path}", f"Content-Length: {len(body)}", body=body)


def read_reply(connection):
    """The status of a reply, its body, and whether the server keeps the connection."""
    head, _, rest = b"", b"", b""
    while b"\r\n\r\n" not in head:
        part = connection.recv(65536)
        if not part:
            break
        head += part
    head, _, rest = head.partition(b"\r\n\r\n")
    lines = head.decode().lower().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    while len(rest) < int(headers.get("content-length", 0)):
        rest += connection.recv(65536)
    return int(lines[0].split()[1]), rest.decode(), headers.get("connection") != "close"


def status_of(address, sent):
    with connected(address, sent) as connection:
        return read_reply(connection)[0]


def closed_after(connection, drip=b"", seconds=5.0):
    """Seconds until the server closes a connection, which sends ``drip`` every 50 ms meanwhile."""
    begun = time.monotonic()
    connection.settimeout(0.05)
    while time.monotonic() - begun < seconds:
        try:
            if drip:
                connection.sendall(drip)
            if not connection.recv(65536):
                break
        except TimeoutError:
            continue
        except OSError:
            break
    return time.monotonic() - begun


MODELS = request("GET /v1/models")


# Requests that do not end


@pytest.mark.parametrize(
    ("sent", "drip"),
    [
        (b"", b""),
        (b"GET /v1/models HTTP/1.1\r\nHost: 127.0", b""),
        (b"GET /v1/models HTTP/1.1\r\nX: ", b"x"),  # a limit on each read would not end it
        (MODELS + b"GET /v1/mod", b"x"),  # the second request of a connection
        (request("POST /v1/chat/completions", "Content-Length: 9000"), b" "),
        (request("POST /v1/chat/completions", "Transfer-Encoding: chunked"), b"1\r\n \r\n"),
        (request("POST /nowhere", "Content-Length: 9000"), b" "),  # answered before its end
    ],
    ids=["silent", "half", "drip", "second", "body", "chunks", "answered"],
)
@pytest.mark.slow
def test_a_request_must_be_complete_in_time(monkeypatch, sent, drip):
    monkeypatch.setattr(http_server, "_HEADERS_S", 0.4)
    monkeypatch.setattr(http_server, "_BODY_S", 0.8)
    with serving() as address, connected(address, sent) as connection:
        assert 0.3 < closed_after(connection, drip) < 3


@pytest.mark.slow
def test_a_call_that_is_answered_slowly_is_not_cut_off(monkeypatch):
    monkeypatch.setattr(http_server, "_HEADERS_S", 0.2)
    monkeypatch.setattr(http_server, "_BODY_S", 0.2)

    async def slow(self, call, count):
        await asyncio.sleep(1)
        return ["late"] * count

    monkeypatch.setattr(Echoes, "ask_async", slow)
    with serving() as address, connected(address, post(json.dumps(CALL))) as connection:
        status, body, _ = read_reply(connection)
        assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, "late")


@pytest.mark.parametrize(
    "sent",
    [
        b"",
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Ha",
        request("POST /v1/chat/completions", "Content-Length: 9000"),
    ],
    ids=["silent", "headers", "body"],
)
@pytest.mark.slow
def test_unfinished_requests_leave_room_for_others(sent):
    """110 connections at a server that may open 96 files."""
    run = [sys.executable, "-c", ALONE]
    root = Path(__file__).resolve().parents[2]
    with (
        subprocess.Popen(run, cwd=root, stdout=subprocess.PIPE, text=True) as process,
        ExitStack() as held,
    ):
        held.callback(process.kill)
        address = process.stdout.readline().strip()
        for _ in range(110):
            held.enter_context(connected(address, sent))
        with connected(address, MODELS, timeout=8) as connection:
            assert read_reply(connection)[0] == 200


# Texts that are not Unicode


@pytest.mark.parametrize(
    "change",
    [
        {"messages": [{"role": "user", "content": "\ud800"}]},
        {"messages": [{"role": "user", "content": "Hi", "\udfff": 1}]},
        {"model": "\ud800"},
        {"stop": ["\ude00\ud83d"]},
        {"\ud800": 1},
        {"tools": [{"name": "\ud800"}]},
    ],
    ids=["content", "key", "model", "stop", "setting", "tools"],
)
@pytest.mark.parametrize("raw", [False, True], ids=["escaped", "raw"])
def test_half_of_a_surrogate_pair_is_refused(change, raw):
    body = json.dumps({**CALL, **change}, ensure_ascii=not raw).encode("utf-8", "surrogatepass")
    sent = request("POST /v1/chat/completions", f"Content-Length: {len(body)}") + body
    with serving() as address, connected(address, sent) as connection:
        status, said, _ = read_reply(connection)
    assert (status, "surrogate" in said) == (400, True)


def test_half_of_a_surrogate_pair_is_no_reward():
    with serving() as address:
        for body in (r'{"reward": {"\ud800": 1}}', r'"\udfff"'):
            assert status_of(address, post(body, "/episodes/e/reward")) == 400


def test_whole_pairs_and_other_controls_pass():
    said = "\U0001f600 \x00 \ufffd \u2028"
    call = {**CALL, "messages": [{"role": "user", "content": said}]}
    with serving() as address, connected(address, post(json.dumps(call))) as connection:
        status, body, _ = read_reply(connection)
    assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, said)


# Callers that are pages


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost:1234",
        "LocalHost",
        "[::1]:80",
        "127.0.0.9",
        "a.localhost",
    ],
)
def test_this_machine_may_call_without_a_token(host):
    with serving() as address:
        assert status_of(address, request("GET /v1/models", host=f"Host: {host}")) == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example"),
        *("localhost@evil.example", "[::1", "", "0.0.0.0", "10.0.0.7", "127.0.0.1, evil.example"),
    ],
)
@pytest.mark.slow
def test_a_name_that_leads_here_is_not_enough(host):
    """A page reaches this server under its own name (DNS rebinding)."""
    with serving() as address:
        for line in ("GET /v1/models", "GET /nowhere"):
            sent = request(line, host=f"Host: {host}")
            with connected(address, sent) as connection:
                status, said, _ = read_reply(connection)
            assert (status, "Host" in said) == (403, True)
        sent = post(json.dumps(CALL)).replace(LOCAL.encode(), f"Host: {host}".encode())
        assert status_of(address, sent) == 403
    with serving(TOKEN) as address:  # what has the token may come by any name
        header = f"Authorization: Bearer {TOKEN}"
        assert (
            status_of(address, request("GET /v1/models", header, host="Host: evil.example")) == 200
        )


def test_a_request_without_a_host():
    with serving() as address:
        assert status_of(address, b"GET /v1/models HTTP/1.0\r\n\r\n") == 403
        assert status_of(address, b"GET /v1/models HTTP/1.0\r\nHost: localhost\r\n\r\n") == 200


@pytest.mark.parametrize(
    ("header", "status"),
    [
        ("Sec-Fetch-Site: cross-site", 403),
        ("Sec-Fetch-Site: same-site", 403),
        ("Sec-Fetch-Site: same-origin", 403),
        ("Sec-Fetch-Site: none", 200),  # typed into the address bar
        ("Origin: http://evil.example", 403),
        ("Origin: null", 403),
        ("Origin: http://127.0.0.1", 403),
    ],
)
@pytest.mark.slow
def test_pages_may_not_call_without_a_token(header, status):
    with serving() as address:
        assert status_of(address, request("GET /v1/models", header)) == status
    with serving(TOKEN) as address:
        given = f"Authorization: Bearer {TOKEN}"
        assert status_of(address, request("GET /v1/models", header, given)) == 200


# Requests with two readings


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 5", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "content-length: 15"],
        ["Content-Length: 5", "Content-Length: 15"],
        ["Content-Length: 5, 15"],
        ["Content-Length: +5"],
        ["Transfer-Encoding: gzip, chunked"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding : chunked"],
    ],
)
@pytest.mark.parametrize("path", ["/episodes/e/reward", "/nowhere"])
@pytest.mark.parametrize("token", [None, TOKEN])
def test_the_length_of_a_request_is_unambiguous(headers, path, token):
    given = [f"Authorization: Bearer {TOKEN}"] if token else []
    sent = request(f"POST {path}", *given, *headers, body=SMUGGLED)
    with serving(token) as address, connected(address, sent) as connection:
        status, _, kept = read_reply(connection)
        assert (status in (400, 501), kept) == (True, False)
        assert closed_after(connection) < 3


def test_chunks_in_http_1_0_are_refused():
    sent = request("POST /episodes/e/reward", "Transfer-Encoding: chunked", body=SMUGGLED)
    with serving() as address:
        assert status_of(address, sent.replace(b"HTTP/1.1", b"HTTP/1.0")) == 400
        assert status_of(address, sent) == 200
