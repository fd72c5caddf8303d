"""What is read in an answer of a crowd; worked out by hand."""

from __future__ import annotations

import pytest

from llmzoo.envs.crowd.actions import read_answer
from llmzoo.envs.text import MalformedError


def read(line):
    if line == "bad":
        raise MalformedError("bad is not allowed")
    return line if line in ("left", "wait", "3") else None


def answer(text, members=("a_0",), named=False, message_chars=10):
    return read_answer(text, members, read, named=named, message_chars=message_chars)


@pytest.mark.parametrize(
    "text",
    [
        "left",
        "  **left**.",
        "- left",
        "Action: left",
        "My action: `left`",
        "The answer is left",
        "I wait until later.\nleft\nThat is all.",
        "left\nleft",
    ],
)
def test_an_action_is_read(text):
    found = answer(text)
    assert (found.values, found.problems) == ({"a_0": "left"}, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "no action"),
        ("left or wait", "no action"),
        ("left\nwait", "more than one action"),
        ("bad", "bad is not allowed"),
        ("bad\nleft", "bad is not allowed"),
        ("x" * 20_001, "longer than 20000 characters"),
    ],
)
def test_what_cannot_be_read(text, problem):
    found = answer(text)
    assert (found.values, found.problems) == ({}, (problem,))


@pytest.mark.parametrize(
    ("text", "message", "problems"),
    [
        ("say after you\nleft", "after you", ()),
        ("left\nSay: go on", "go on", ()),
        ("left\nsay", "", ("an empty message",)),
        ("left\nsay one\nsay two", "", ("more than one message",)),
        ("left\nsay eleven chars", "", ("a message of 12 characters, 10 are allowed",)),
    ],
)
def test_messages(text, message, problems):
    found = answer(text)
    assert found.values == {"a_0": "left"}
    assert found.problems == problems
    assert found.message == message


def test_without_messages_a_message_is_prose():
    found = answer("say hello\nleft", message_chars=0)
    assert (found.values, found.message, found.problems) == ({"a_0": "left"}, "", ())


def test_one_agent_names_its_members():
    found = answer("a_0: left\nB_1 = wait\nc_2 3\nd_3: left", ("a_0", "b_1", "c_2"), named=True)
    assert found.values == {"a_0": "left", "b_1": "wait", "c_2": "3"}
    found = answer("a_0: left\na_0: wait\nleft\nb_1: bad", ("a_0", "b_1", "c_2"), named=True)
    assert found.values == {}
    assert found.problems == (
        "a_0: more than one action",
        "b_1: bad is not allowed",
        "c_2: no action",
    )
