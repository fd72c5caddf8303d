"""Detects that a program has tampered with the interpreter in which it is judged.

This makes it harder to fake a pass. A program that knows these checks can avoid them, so verdicts from
a shared interpreter are marked as such.
"""

from __future__ import annotations

import builtins
import gc
import signal
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from .cases import Cases
from .run_cases import run_cases

_CONTROLS = """
import unittest
assert 1 == 1
assert 1 == 2
assert not 1
class Control(unittest.TestCase):
    def test_equal(self):
        self.assertEqual(1, 2)
    def test_false(self):
        self.assertTrue(0)
    def test_raises(self):
        with self.assertRaises(ValueError):
            pass
    def test_true(self):
        self.assertTrue(1)
"""
_EXPECTED = [True, False, False, False, False, False, True]


def make_tamper_check(modules: Iterable[types.ModuleType]) -> Callable[[], str]:
    """Record the state of the interpreter. The returned function says what has changed, or ""."""
    recorded = {module: dict(_members(module)) for module in (builtins, *modules)}
    state = _interpreter_state()

    def find_change() -> str:
        for module, members in recorded.items():
            now = dict(_members(module))
            for name, value in members.items():
                if now.get(name) is not value:
                    return f"{module.__name__}.{name} has been changed"
        if vars(builtins).keys() - recorded[builtins].keys() - {"_"}:
            return "builtins have been added"
        for name, value in _interpreter_state().items():
            if value != state[name]:
                return f"{name} has been changed"
        return ""

    return find_change


def run_controls() -> str:
    """Run tests that must pass and tests that must fail. Returns an error, or ""."""
    cases = Cases(_CONTROLS)
    trouble = run_cases(cases, {"__name__": "controls"}, None)
    if trouble or [case.passed for case in cases.cases] != _EXPECTED:
        return "tests that must fail pass here, or the reverse"
    return ""


def _members(module: types.ModuleType) -> Iterable[tuple[str, Any]]:
    """Names and values in a module and in its classes and functions."""
    for name, value in list(vars(module).items()):
        yield name, value
        own = getattr(value, "__module__", None) == module.__name__
        if not own or module is builtins:
            continue
        if isinstance(value, type):
            for inner, member in list(vars(value).items()):
                yield f"{name}.{inner}", member
                yield from _function_code(f"{name}.{inner}", member)
        yield from _function_code(name, value)


def _function_code(name: str, value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, types.FunctionType):
        yield f"{name}.__code__", value.__code__
        yield f"{name}.__defaults__", value.__defaults__


def _interpreter_state() -> dict[str, Any]:
    """Settings that change how the interpreter runs code."""
    tools = getattr(sys, "monitoring", None)  # from Python 3.12 on
    return {
        "the trace function": sys.gettrace(),
        "the profile function": sys.getprofile(),
        "the monitoring": [tools.get_tool(i) for i in range(6)] if tools else [],
        "the number of threads": len(sys._current_frames()),
        "the collector's callbacks": list(gc.callbacks),
        "the import hooks": [list(map(id, sys.meta_path)), list(map(id, sys.path_hooks))],
        "the recursion limit": sys.getrecursionlimit() >= 100,
        "the signal handlers": [signal.getsignal(number) for number in signal.valid_signals()],
    }
