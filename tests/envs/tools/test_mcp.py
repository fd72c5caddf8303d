"""Tools of an MCP server, which is started for the tests."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from llmzoo.envs.tools.call_syntax import ToolCall
from llmzoo.envs.tools.mcp import McpServer, mcp_tools
from llmzoo.envs.tools.toolbox import make_toolbox
from llmzoo.errors import ConfigError, MissingExtraError, ServiceError

SERVER = [sys.executable, str(Path(__file__).with_name("mcp_server.py"))]


@pytest.fixture(scope="module")
def server():
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    with McpServer(command=SERVER) as running:
        yield running


@pytest.fixture(scope="module")
def tools(server):
    return {tool.name: tool for tool in server.tools}


def test_the_tools_are_listed_with_their_schemas(tools):
    assert list(tools) == ["add", "fail", "count", "wait", "end"]
    assert tools["add"].schema() == {
        "type": "function",
        "function": {
            "name": "add",
            "description": "Add two numbers.",
            "parameters": {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {"default": 1, "type": "integer"}},
                "required": ["a"],
            },
        },
    }


def test_calls_reach_the_server(tools):
    assert tools["add"].call({"a": 2}).text == "3"
    assert tools["add"].call({"a": 2, "b": 5}).text == "7"
    assert [tools["count"].call({}).text for _ in range(2)] == ["1", "2"]


def test_they_stand_beside_other_tools(server):
    box = make_toolbox(["calculator", server.tools])
    reply, states = box.call(ToolCall("add", {"a": 2}), box.start())
    assert reply.text == "3"
    assert states == box.start()


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ({"a": "2"}, "argument 'a': '2' is not of type 'integer'"),
        ({"a": True}, "argument 'a': True is not of type 'integer'"),
        ({"a": [1]}, "argument 'a': [1] is not of type 'integer'"),
        ({}, "'a' is a required property"),
    ],
)
def test_arguments_are_checked_before_they_are_sent(tools, arguments, error):
    assert tools["add"].call(arguments).error == error


def test_an_error_of_the_server_is_read(tools):
    reply = tools["fail"].call({"text": "no such thing"})
    assert "no such thing" in reply.error
    assert reply.text == reply.error
    assert len(tools["fail"].call({"text": "x" * 20_000}).error) < 350


def test_a_call_that_takes_too_long_is_an_error(server, tools, monkeypatch):
    with monkeypatch.context() as context:
        context.setattr(server, "_timeout_s", 0.2)
        assert tools["wait"].call({"seconds": 1}).error == "no result after 0.2 s"
    assert tools["wait"].call({"seconds": 0}).text == "done"


@pytest.mark.slow
def test_a_server_that_ends_and_one_that_is_closed():
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    server = McpServer(command=SERVER)
    named = {tool.name: tool for tool in server.tools}
    assert named["end"].call({}).error.startswith("the server failed")
    assert named["add"].call({"a": 1}).error.startswith("the server")
    server.close()
    with pytest.raises(ServiceError, match="has ended"):
        named["add"].call({"a": 1})
    server.close()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"command": ["/nowhere/at/all"]}, "cannot be used"),
        ({"command": [sys.executable, "-c", ""]}, "cannot be used"),
        ({"url": "http://127.0.0.1:9/mcp"}, "cannot be used"),
        ({}, "either a command or a url"),
        ({"command": ["x"], "url": "http://x"}, "either a command or a url"),
        ({"command": []}, "either a command or a url"),
    ],
)
def test_a_server_that_cannot_be_used_says_why(arguments, message):
    pytest.importorskip("mcp", reason="the extra mcp is not installed")
    with pytest.raises(ConfigError, match=message):
        mcp_tools(**arguments)


@pytest.mark.slow
def test_missing_mcp_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(MissingExtraError, match=r"llmzoo-marl\[mcp\]"):
        mcp_tools(command=SERVER)
