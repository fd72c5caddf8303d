"""MCP servers that misbehave: bounded time, bounded size, a named error, and nothing left behind."""

from __future__ import annotations

import gzip
import json
import os
import re
import resource
import sys
import threading
import time
from contextlib import contextmanager, suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from llmzoo.envs.tools import mcp
from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.mcp import McpServer
from llmzoo.envs.tools.toolbox import make_toolbox
from llmzoo.errors import ConfigError, ServiceError

SERVER = Path(__file__).with_name("hostile_mcp_server.py")
SHORT_S = 0.3  # the time limit where it is reached; elsewhere the usual ones, which are long
SOON_S = 20.0  # for what takes a second, on a busy machine
MOST_GROWTH_KB = 200 * 1024


@pytest.fixture(autouse=True)
def _servers_end_at_once(monkeypatch):
    """The package gives a server two seconds to end by itself, and two more after a signal."""
    for name in ("PROCESS_TERMINATION_TIMEOUT", "FORCE_KILL_TIMEOUT"):
        monkeypatch.setattr(f"mcp.client.stdio.{name}", 0.1, raising=False)


@pytest.fixture
def pids(tmp_path):
    """A file for the process ids of a server; afterwards no process and no thread is left."""
    file = tmp_path / "pids"
    yield file
    left = [int(pid) for pid in file.read_text().split()] if file.exists() else []
    wait_until(lambda: not any(map(is_alive, left)) and not threads())


@pytest.fixture
def short_start(monkeypatch):
    monkeypatch.setattr(mcp, "START_S", 2 * SHORT_S)


def threads():
    return [each for each in threading.enumerate() if each.name == mcp.THREAD]


def wait_until(done):
    end = time.monotonic() + SOON_S
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@contextmanager
def within(seconds):
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


@contextmanager
def little_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    yield
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST_GROWTH_KB


@contextmanager
def serving(mode, pids, timeout_s=30.0):
    command = [sys.executable, str(SERVER), mode, str(pids)]
    with McpServer(command=command, timeout_s=timeout_s) as server:
        yield server


def refused(mode, pids):
    """The words with which a server is refused."""
    with within(SOON_S), pytest.raises(ConfigError) as caught, serving(mode, pids):
        pass
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 1000
    return str(caught.value)


def error_of(mode, pids, timeout_s=30.0):
    """The error of a call of its one tool."""
    with serving(mode, pids, timeout_s) as server, within(SOON_S):
        (tool,) = server.tools
        return tool.call({"text": "hello"}).error


def test_the_server_of_these_tests_is_well_by_itself(pids):
    with serving("well", pids) as server:
        (tool,) = server.tools
        assert tool.call({"text": "hello"}).text == "hello"
        assert tool.call({}).error == "'text' is a required property"


# At the start

slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    "mode",
    ["silent", "first_line", slow("garbage"), slow("first_drip"), slow("pages"), slow("very_deep_schema")],
)  # fmt: skip
def test_a_server_that_lists_no_tools_in_time(mode, pids, short_start, capfd):
    """It is silent, or what it says is no JSON, or a line without an end, or a list without one."""
    with little_memory():
        assert "cannot be used: TimeoutError" in refused(mode, pids)
    assert len(capfd.readouterr().err) < 10_000


@pytest.mark.parametrize("mode", ["path", "control", "nameless", "dots", "long_name"])
def test_names_of_tools_that_are_none(mode, pids):
    assert "and a name has 1 to 64 of the characters" in refused(mode, pids)


def test_names_that_come_twice_and_tools_by_the_thousand(pids):
    assert "has two tools called 'echo'" in refused("twice", pids)
    assert "has more than 200 tools" in refused("thousands", pids)


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("long", "longer than 20000 characters"),
        ("wrong", "no valid JSON schema"),
        ("no_object", "cannot be used"),
    ],
)
def test_schemas_that_are_refused(mode, message, pids):
    assert message in refused(mode, pids)


@pytest.mark.parametrize(
    "mode", ["recursion", "remote", "regex", "names_regex", "blown_up", "deep_schema"]
)
def test_schemas_that_would_take_for_ever_or_read_elsewhere(mode, pids):
    with serving(mode, pids) as server, within(SOON_S):
        (tool,) = server.tools
        text = "a" * 40 + "!"
        assert tool.call({"text": text}).text == text
        assert tool.call({"text": text, "a" * 40 + "!": 1}).text


def test_a_description_is_cut(pids):
    with serving("described", pids) as server:
        (tool,) = server.tools
        assert len(tool.description) <= 2000
        assert tool.description.startswith("?[2Jx y")


# Calls


@pytest.mark.parametrize("mode", ["dies", "half", "no_result"])
def test_a_server_that_fails_at_a_call(mode, pids, capfd):
    message = "" if mode == "no_result" else ": Connection closed"
    assert error_of(mode, pids).startswith(f"the server failed{message}")
    assert len(capfd.readouterr().err) < 10_000


@pytest.mark.parametrize(
    "mode",
    ["mute", "not_json", "deep", slow("asks"), slow("drip"), slow("notes"), slow("huge"), slow("line")],
)  # fmt: skip
def test_calls_without_an_answer(mode, pids, capfd):
    """An answer of 100 megabytes, or nested 100,000 times, is none, and is not kept."""
    with little_memory():
        assert error_of(mode, pids, SHORT_S) == "no result after 0.3 s"
    assert len(capfd.readouterr().err) < 10_000


def test_a_server_goes_on_after_a_call_that_was_given_up(pids):
    with serving("other_id", pids, SHORT_S) as server:
        (tool,) = server.tools
        for _ in range(2):
            assert tool.call({"text": "x"}).error == "no result after 0.3 s"


def test_control_tokens_in_a_result_are_text(pids):
    import tiny_models

    with serving("tokens", pids) as server:
        box = make_toolbox([server.tools])
        reply, _ = box.call(ToolCall("echo", {"text": "x"}), box.start())
    assert "<|im_end|>" in reply.text
    reply.text.encode()  # no lone surrogate is left
    policy = tiny_models.policy()
    special = set(policy.tokenizer.all_special_ids)
    clean = policy.encode("yes")
    result = policy.encode(reply.text)
    assert special & set(result) <= special & set(clean)


def test_a_server_that_does_not_want_to_end(pids):
    with serving("stubborn", pids) as server:
        assert server.tools
        left = [int(pid) for pid in pids.read_text().split()]
        assert len(left) == 2
        assert all(map(is_alive, left))
    wait_until(lambda: not any(map(is_alive, left)))  # killed, but perhaps not gone at once
    assert os.getpid() not in left


# Over HTTP


@contextmanager
def over_http(answer):
    """A server that answers each POST with ``answer(handler, request)``; its url."""
    seen = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            seen.append(self.path)
            with suppress(OSError):
                answer(self, json.loads(body))

        def do_GET(self):
            seen.append(self.path)
            self.send_error(405)

        do_DELETE = do_GET

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp", seen
    finally:
        server.shutdown()
        server.server_close()


def say(handler, body, kind="application/json", **headers):
    handler.send_response(200)
    for name, value in {"content-type": kind, "content-length": len(body), **headers}.items():
        handler.send_header(name.replace("_", "-"), str(value))
    handler.end_headers()
    handler.wfile.write(body)


def well(handler, request, text="hello"):
    """What a server that means well answers."""
    method = request["method"]
    hello = {"capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    schema = {"type": "object", "properties": {}}
    results = {
        "initialize": {"protocolVersion": "2025-06-18", **hello},
        "tools/list": {"tools": [{"name": "echo", "inputSchema": schema}]},
        "tools/call": {"content": [{"type": "text", "text": text}]},
    }
    message = {"jsonrpc": "2.0", "id": request.get("id")}
    if method in results:
        message["result"] = results[method]
    else:
        message["error"] = {"code": -32601, "message": "no such method"}
    if "id" in request:
        say(handler, json.dumps(message).encode())
    else:
        handler.send_response(202)
        handler.send_header("content-length", "0")
        handler.end_headers()


def at_calls(misbehave):
    return lambda handler, request: (
        misbehave(handler, request) if request["method"] == "tools/call" else well(handler, request)
    )


def huge(handler, request):
    say(handler, b" " * 100 * 2**20)


def compressed(handler, request):
    say(handler, gzip.compress(b" " * 100 * 2**20), content_encoding="gzip")


def drips(handler, request):
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        time.sleep(0.1)


def notes(handler, request):
    handler.send_response(200)
    handler.send_header("content-type", "text/event-stream")
    handler.end_headers()
    note = {"jsonrpc": "2.0", "method": "notifications/message"}
    note["params"] = {"level": "info", "data": "x" * 1000}
    while True:
        handler.wfile.write(b"data: " + json.dumps(note).encode() + b"\n\n")


def garbage(handler, request):
    say(handler, b"\x00\xff<html>" * 1000, kind="text/html")


def hangs_up(handler, request):
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"jsonrpc":')
    handler.close_connection = True


def deep(handler, request):
    say(
        handler, b'{"jsonrpc":"2.0","id":1,"result":' + b'{"a":' * 10**5 + b"1" + b"}" * (10**5 + 1)
    )


@pytest.fixture
def no_thread_left():
    yield
    wait_until(lambda: not threads())


LATE = "no result after 0.3 s"
MISBEHAVIOUR = [
    (huge, "the server failed: .*an answer longer than"),
    # a fast machine decompresses it in time, and refuses the answer
    (compressed, f"{LATE}|the server failed|the MCP server '.*' has ended"),
    (drips, LATE),
    (notes, LATE),
    (garbage, "the server failed"),
    (hangs_up, "the server failed|the MCP server '.*' has ended"),
    (deep, "the server failed"),
]


def test_a_server_over_http_that_means_well(no_thread_left):
    with over_http(well) as (url, _), McpServer(url=url) as server:
        assert server.tools[0].call({}).text == "hello"


@pytest.mark.parametrize(("misbehave", "message"), MISBEHAVIOUR)
def test_calls_over_http(misbehave, message, no_thread_left):
    timeout_s = SHORT_S if message == LATE else 30.0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with (
        over_http(at_calls(misbehave)) as (url, _),
        McpServer(url=url, timeout_s=timeout_s) as server,
        within(SOON_S),
    ):
        try:
            said = server.tools[0].call({}).error
        except ServiceError as error:  # the connection has ended, and not this call alone
            said = str(error)
        assert re.match(message, said)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    # the server is in this process
    assert grown < MOST_GROWTH_KB + (300 * 1024 if misbehave is huge else 0)


@pytest.mark.parametrize(
    ("misbehave", "message"),
    [(huge, "an answer longer than"), (drips, "TimeoutError"), (hangs_up, ""), (garbage, "")],
)
def test_starts_over_http(misbehave, message, monkeypatch, no_thread_left):
    if misbehave is drips:
        monkeypatch.setattr(mcp, "START_S", 2 * SHORT_S)
    with (
        over_http(misbehave) as (url, _),
        within(SOON_S),
        pytest.raises(ConfigError, match=f"cannot be used: .*{message}"),
    ):
        McpServer(url=url)


@pytest.mark.parametrize("where", ["file:///etc/passwd", "OTHER", "http://169.254.169.254/latest"])
def test_redirects_to_elsewhere_are_not_followed(where, no_thread_left):
    with over_http(well) as (other, seen):

        def redirects(handler, request):
            handler.send_response(307)
            handler.send_header("location", other if where == "OTHER" else where)
            handler.send_header("content-length", "0")
            handler.end_headers()

        with over_http(redirects) as (url, _), pytest.raises(ConfigError, match="cannot be used"):
            McpServer(url=url)
        assert seen == []


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://x/y", "x", "http://", "//x/y"])
def test_urls_that_are_not_of_http(url):
    with pytest.raises(ConfigError, match="url begins with http:// or https://"):
        McpServer(url=url)
