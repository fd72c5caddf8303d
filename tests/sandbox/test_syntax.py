"""Syntax trees in threads."""

from __future__ import annotations

import ast
import sys
import threading
from pathlib import Path

import pytest

from llmzoo.sandbox import syntax

SOURCE = "\n".join(f"x{i} = (a + b * {i}) // (c - [1, 2, {{3: 4}}][{i}])" for i in range(60))


class Junk:
    """Garbage whose end lets another thread run."""

    def __init__(self):
        self.me = self

    def __del__(self):
        for _ in range(50):
            pass


def errors_of_threads(parse, rounds):
    """The errors of two threads that parse at once, from different depths of the stack."""
    errors = []

    def at(depth):
        return parse(SOURCE) if depth == 0 else at(depth - 1)

    def work(depth):
        for _ in range(rounds):
            _ = [Junk() for _ in range(20)]
            try:
                at(depth)
            except SystemError as error:
                errors.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=work, args=(depth,)) for depth in (0, 7)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    return errors


@pytest.mark.slow
def test_threads_parse_at_once():
    """ast.parse itself fails here within seconds on Python 3.11 and 3.12."""
    assert errors_of_threads(syntax.parse, 150) == []


def test_a_parse_that_another_package_disturbs_is_repeated(monkeypatch):
    answers = iter([SystemError("AST constructor recursion depth mismatch"), ast.parse("1")])

    def disturbed(source, mode):
        answer = next(answers)
        if isinstance(answer, SystemError):
            raise answer
        return answer

    monkeypatch.setattr(ast, "parse", disturbed)
    assert isinstance(syntax.parse("1"), ast.Module)


def test_errors_are_those_of_python():
    with pytest.raises(SyntaxError):
        syntax.parse("def")
    assert isinstance(syntax.parse("1 + 2", mode="eval"), ast.Expression)


def test_environments_parse_through_it():
    package = Path(syntax.__file__).parents[1]
    sources = {path: path.read_text() for path in (package / "envs").rglob("*.py")}
    assert sum("syntax.parse(" in source for source in sources.values()) >= 8
    assert [path.name for path, source in sources.items() if "ast.parse(" in source] == []
