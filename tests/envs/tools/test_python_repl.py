"""The Python tool: names that last, forks that replay, interpreters that end."""

from __future__ import annotations

import dataclasses

import pytest

from llmzoo.envs.tools import python_repl
from llmzoo.envs.tools.python_repl import MAX_LIVE, MAX_OUTPUT_CHARS, close_sessions, python
from llmzoo.errors import SandboxError


@pytest.fixture(autouse=True)
def _no_interpreters_left():
    yield
    close_sessions()


@pytest.fixture
def started(monkeypatch):
    """How many interpreters were started, as the length of a list."""
    kept: list[tuple[str, ...]] = []
    replayed = python_repl._replay_cells

    def counted(cells):
        kept.append(cells)
        return replayed(cells)

    monkeypatch.setattr(python_repl, "_replay_cells", counted)
    return kept


def run(code: str, state: tuple[str, ...] = ()):
    return python.call({"code": code}, state)


def test_names_last_through_an_episode(started):
    one = run("x = 6\ndef double(n):\n    return 2 * n")
    assert (one.text, one.error) == ("(no output)", None)
    two = run("print('now')\ndouble(x) + 1", one.state)
    assert two.text == "now\n13"
    three = run("x += 1; x", two.state)
    assert three.text == "7"
    assert len(three.state) == 3
    assert started == [()]


def test_a_fork_replays_and_both_go_on(started):
    base = run("values = [1]").state
    left = run("values.append(2); values", base)
    right = run("values.append(3); values", base)
    assert (left.text, right.text) == ("[1, 2]", "[1, 3]")
    assert run("sum(values)", left.state).text == "3"
    assert run("sum(values)", right.state).text == "4"
    assert run("values", base).text == "[1]"
    assert started == [(), base, base]


def test_a_replay_says_the_same_by_chance_too():
    base = run("import random\na = random.random()").state
    left = run("a, random.random()", base)
    right = run("a, random.random()", base)
    assert left.text == right.text
    assert run("random.random()").error == "NameError: name 'random' is not defined"


def test_an_episode_whose_interpreter_made_room_goes_on(started, monkeypatch):
    monkeypatch.setattr(python_repl, "MAX_LIVE", 2)
    states = [run(f"n = {n}").state for n in range(4)]
    assert len(python_repl._sessions._live) == 2
    assert [run("n", state).text for state in states] == ["0", "1", "2", "3"]
    assert MAX_LIVE >= 2


def test_equal_episodes_do_not_share_an_interpreter():
    one, two = run("items = []").state, run("items = []").state
    assert one == two
    first = run("items.append(1); items", one)
    second = run("items.append(1); items", two)
    assert first.text == second.text == "[1]"


def test_an_exception_is_read_and_loses_nothing():
    one = run("x = 5\n1 / 0\nx = 6")
    assert one.error == "ZeroDivisionError: division by zero"
    assert one.text.startswith("Traceback (most recent call last):\n")
    assert one.text.endswith("line 2, in <module>\nZeroDivisionError: division by zero")
    assert "/" not in one.text.replace("1 / 0", "")  # no path of this machine
    assert run("x", one.state).text == "5"
    two = run("print('before')\nundefined", one.state)
    assert two.text.startswith("before\n")
    assert two.error == "NameError: name 'undefined' is not defined"
    assert run("if:", two.state).error.startswith("SyntaxError")
    assert run("input()").error == "EOFError: EOF when reading a line"


def test_a_long_output_is_cut():
    reply = run("print('x' * 1_000_000)")
    assert reply.error is None
    assert len(reply.text) < MAX_OUTPUT_CHARS + 50
    deep = run("def f(n):\n    return f(n + 1)\nf(0)", reply.state)
    assert "RecursionError" in deep.error
    assert len(deep.text) < MAX_OUTPUT_CHARS + 50
    assert len(run("raise ValueError('y' * 100_000)", reply.state).text) < 3 * MAX_OUTPUT_CHARS


@pytest.mark.parametrize("code", ["while True: pass", "import time; time.sleep(60)"])
def test_a_timeout_ends_the_interpreter_and_says_so(monkeypatch, code):
    state = run("x = 1").state
    limits = dataclasses.replace(python_repl.LIMITS, time_limit=0.3)
    (session,) = python_repl._sessions._live.values()
    with monkeypatch.context() as context:
        context.setattr(session, "_limits", limits)
        context.setattr(python_repl, "LIMITS", limits)
        reply = run(code, state)
    assert reply.error == (
        "the interpreter was stopped (no result after 0.3 s); all names are lost"
    )
    assert reply.state == ()
    assert run("x", reply.state).error == "NameError: name 'x' is not defined"


def test_a_program_that_ends_the_interpreter(started):
    state = run("x = 1").state
    reply = run("import os; os._exit(3)", state)
    assert reply.error == "the interpreter was stopped (it ended); all names are lost"
    assert reply.state == ()
    assert run("x", state).text == "1"  # what went on before it, as in a fork, is not lost


def test_the_sandbox_holds():
    assert run("open('/etc/passwd').read()").error
    assert run("import socket; socket.create_connection(('127.0.0.1', 22))").error
    assert run("import subprocess; subprocess.run(['ls'])").error
    assert run("x = [0] * 10**10").error == "MemoryError"


def test_output_that_is_no_unicode_can_be_encoded():
    assert run("print('a' + chr(0xd800) + 'b')").text == "a?b"
    assert run("raise ValueError(chr(0xdfff))").error.encode()


def test_code_that_cannot_be_code():
    for code in ("\0", "x" * 20_000, "(" * 500, "'", "\\", "#" * 19_999, ""):
        assert run(code).text
    assert "longer than 20000" in run("x" * 20_001).error
    assert "at most 64 pieces" in run("1", ("1",) * 64).error
    assert python.call({"code": 3}, ()).error.startswith("argument 'code'")


def test_a_fault_of_the_machine_is_raised(monkeypatch):
    def no_session(cells):
        raise SandboxError("nothing to run in")

    monkeypatch.setattr(python_repl, "_replay_cells", no_session)
    with pytest.raises(SandboxError, match="nothing to run in"):
        run("1")
