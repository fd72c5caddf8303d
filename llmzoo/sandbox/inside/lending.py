"""What a program may do with an object of the tests that was passed to it.

The least that the object is good for: a function is called, an iterator advanced, and only of text
streams, mocks and objects of the tests' own classes are attributes read, public ones. Modules,
frames and code are never lent, so no way leads from a callback to what the tests expect.
"""

from __future__ import annotations

import io
import sys
import types
from collections.abc import Iterator
from typing import Any

_DATA = (int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset)
_NEVER = (types.ModuleType, types.FrameType, types.CodeType, types.TracebackType)
_FUNCTIONS = (
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
)
_STREAMS = (io.StringIO, io.BytesIO, io.TextIOWrapper)


def known_place(value: Any, tests: str) -> tuple[str, str] | None:
    """Module and name of a class or function that the program's interpreter has as well."""
    if not isinstance(value, (type, *_FUNCTIONS)):
        return None
    owner = value if isinstance(value, (type, *_FUNCTIONS[:2])) else value.__objclass__
    module, name = owner.__module__, value.__qualname__
    if module is None or module == tests or module not in sys.modules:
        return None
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = vars(found).get(part)
        if found is None:
            return None
    return (module, name) if found is value else None


def use(value: Any, tests: str) -> str | None:
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


def may_read(value: Any, name: str) -> bool:
    """Whether the program may read this attribute of a lent object.

    Of a mock only what the tests or the program made up, for its own methods record and assert.
    """
    if name.startswith("_"):
        return False
    return type(value).__module__ != "unittest.mock" or name not in dir(type(value))
