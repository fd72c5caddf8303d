"""Decides what a program may do with the objects that the tests passed to it.

It may call functions, advance iterators, and read public attributes of text streams, mocks and objects
of the tests' own classes. It never gets modules, frames or code, so a callback gives no access to the
expected values.
"""

from __future__ import annotations

import builtins
import io
import sys
import types
from collections.abc import Iterator
from typing import Any

from ..confine.plain_data import NotData

_DATA = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
_NEVER = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_STREAMS = (io.StringIO, io.BytesIO, io.TextIOWrapper)


class CapabilityPolicy:
    """The objects that a program may use, and the streams through which it prints and reads.

    ``tests``: name of the module in which the tests run.
    """

    def __init__(self, tests: str):
        self._tests = tests
        self._objects: list[tuple[Any, str]] = []
        self._numbers: dict[int, int] = {}
        self._stdin, self._stdout, self._input = sys.stdin, sys.stdout, builtins.input

    def to_reference(self, value: Any) -> list[Any] | None:
        """The tagged list that stands for an object, or None if it is data or the program may not use it."""
        if known := _importable_name(value, self._tests):
            return ["known", *known]
        capability = _capability(value, self._tests)
        if capability is None:
            return None
        number = self._numbers.setdefault(id(value), len(self._objects))
        if number == len(self._objects):
            self._objects.append((value, capability))
        return ["mine", number, capability]

    def get_object(self, number: int) -> Any:
        if not 0 <= number < len(self._objects):
            raise NotData("an object that was not passed")
        return self._objects[number][0]

    def perform(self, word: str, text: str, operands: list[Any], names: list[str]) -> Any:
        """Carry out a request of the program, if it is allowed. Exceptions pass through."""
        if word == "printed":
            return self.forward_output(text)
        if word == "readline":
            return self._readline()
        if word == "input":
            return self._ask_for_input(*operands)
        values = operands[: len(operands) - len(names)]
        settings = dict(zip(names, operands[len(values) :], strict=True))
        if word == "print":
            return builtins.print(*values, **settings)
        number = self._numbers.get(id(values[0]))
        if number is None:
            raise TypeError("no object that the tests have passed")
        value, capability = self._objects[number]
        if word == "invoke" and capability in ("call", "mock"):
            return value(*values[1:], **settings)
        if word == "advance" and capability in ("iterate", "read"):
            return next(value)
        if word == "read" and capability in ("read", "mock") and _may_read(value, text):
            return getattr(value, text)
        raise AttributeError(text)

    def forward_output(self, text: str) -> None:
        """Pass on what the program has printed, if a test captures it."""
        if text and sys.stdout is not self._stdout:
            sys.stdout.write(text)

    def _readline(self) -> str:
        return "" if sys.stdin is self._stdin else sys.stdin.readline()

    def _ask_for_input(self, prompt: Any) -> str:
        if builtins.input is not self._input:
            return builtins.input(prompt)
        self.forward_output(str(prompt))
        line = self._readline()
        if not line:
            raise EOFError("EOF when reading a line")
        return line.removesuffix("\n")


def _importable_name(value: Any, tests: str) -> tuple[str, str] | None:
    """Module and name of a class or function that the program's interpreter also has."""
    if not isinstance(value, (type, *_FUNCTIONS)):
        return None
    owner = value if isinstance(value, (type, *_FUNCTIONS[:2])) else value.__objclass__
    module, name = owner.__module__, value.__qualname__
    if module is None or module == tests or module not in sys.modules:
        return None
    named: Any = sys.modules[module]
    for part in name.split("."):
        named = vars(named).get(part)
        if named is None:
            return None
    return (module, name) if named is value else None


def _capability(value: Any, tests: str) -> str | None:
    """How a program may use an object: "call", "iterate", "read", "mock" (read and call), None."""
    kind = type(value)
    if isinstance(value, (*_DATA, *_NEVER)):
        return None
    if kind.__module__ == "unittest.mock":
        return "mock"
    if isinstance(value, _STREAMS):
        return "read"
    if isinstance(value, (type, types.MethodType, *_FUNCTIONS)):
        return "call"
    if kind.__module__ == tests:
        if "unittest" in sys.modules and issubclass(kind, sys.modules["unittest"].TestCase):
            return None
        return "mock" if callable(value) else "read"
    if isinstance(value, Iterator):
        return "iterate"
    return "call" if callable(value) else None


def _may_read(value: Any, name: str) -> bool:
    """Whether the program may read this attribute of an object that was passed to it.

    A mock's own methods, which record and assert, are not readable.
    """
    if name.startswith("_"):
        return False
    return type(value).__module__ != "unittest.mock" or name not in dir(type(value))
