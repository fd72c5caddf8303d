"""Classes that mirror the program's classes, with their special methods, and its exceptions.

The program describes its classes, and may lie. A description always results in a class of proxies, never in
one of the tests' own classes. An exception never becomes one that controls an interpreter or a test runner
(``SystemExit``, ``StopIteration``, ``unittest.SkipTest``). :mod:`.proxies` says why some special methods are
forwarded to the program and others are decided here.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from typing import Any

from ..confine.plain_data import NotData
from .operations import ARITHMETIC, COMPARISONS, CONVERSIONS, IN_PLACE, OTHERS, UNARY
from .proxies import (
    Holder,
    PeerError,
    Proxy,
    RemoteClass,
    State,
    call_operation,
    call_operation_as_made,
    is_remote,
    remote_elements,
    remote_length,
)
from .stdlib_values import VALUES

_IMMUTABLE = {t.__name__: t for t in (int, float, complex, str, bytes, tuple, frozenset)}
_CONTAINERS = ("list", "dict", "set", "bytearray")
_STEERING = (StopIteration, StopAsyncIteration)
_RUNNERS = ("unittest", "pytest", "_pytest")


class ProgramExit(Exception):
    """Replaces SystemExit, KeyboardInterrupt and GeneratorExit raised by the program."""


def mirror(state: State, described: Any) -> type:
    """The class for a description (``Exports._describe``). Raises NotData for another form."""
    try:
        name, own_bases, builtin, special, hashes, known = described
        own_bases = tuple(base for base in own_bases if isinstance(base, RemoteClass))
        special = {part for part in special if type(part) is str}
        if (library := _library_class(known)) and issubclass(library, Exception):
            return library
        namespace: dict[str, Any] = {"__module__": "candidate"}
        namespace |= {"_remote_class": state, "_remote_has_class_name": False}
        error = _exception(builtin)
        root: type
        base: type | None
        if error is not None:
            root, base = PeerError, nearest_known_class(error)
        elif builtin in _IMMUTABLE:
            root, base = Holder, _IMMUTABLE[builtin]
            special &= {"str", "repr", "format"}
        else:
            root, base = Proxy, None
            namespace["__slots__"] = ()
        if error is None:
            holds = builtin in _CONTAINERS
            namespace["_remote_holds"] = holds
            namespace.update(_special_methods(special, hashes=hashes is True, holds=holds))
        if library is not None and root is Proxy and not _may_be_value_class(library):
            namespace["__class__"] = property(lambda self: library)
        return _make_class(str(name)[:100], own_bases, root, base, namespace)
    except (TypeError, ValueError) as problem:
        raise NotData(f"no description of a class: {problem}") from None


def nearest_known_class(kind: type[BaseException]) -> type[Exception]:
    """The class of Python or a library to raise in the tests for an exception of this class."""
    kind = next(
        base
        for base in kind.__mro__
        if issubclass(base, BaseException) and not isinstance(base, RemoteClass)
    )
    if issubclass(kind, _STEERING):
        return RuntimeError  # as a generator does with a StopIteration inside it
    if not issubclass(kind, Exception):
        return ProgramExit
    return Exception if kind.__module__.partition(".")[0] in _RUNNERS else kind


def _may_be_value_class(kind: type) -> bool:
    """Whether plain values may be instances of this class.

    A plain value trusts an object of such a class in a comparison: Decimal and Fraction multiply by the
    numerator and denominator of any ``numbers.Rational``, and 0 / 0 would equal any number.
    """
    try:
        return issubclass(kind, VALUES) or any(issubclass(value, kind) for value in VALUES)
    except TypeError:  # a protocol, of which no object is a direct instance
        return True


def _make_class(
    name: str, own_bases: tuple[Any, ...], root: type, base: type | None, namespace: dict[str, Any]
) -> type:
    bases = own_bases if any(issubclass(b, root) for b in own_bases) else (*own_bases, root)
    if base is not None and not any(issubclass(b, base) for b in bases):
        bases = (*bases, base)
    try:
        return RemoteClass(name, bases, namespace)
    except TypeError:  # these bases cannot be combined here
        return RemoteClass(name, (root,) if base is None else (root, base), namespace)


def _exception(name: Any) -> type[BaseException] | None:
    named = vars(builtins).get(name) if isinstance(name, str) else None
    return named if isinstance(named, type) and issubclass(named, BaseException) else None


def _library_class(known: Any) -> type | None:
    """The class of that name in a module of the standard library that is loaded here."""
    if not known:
        return None
    module, name = known
    if str(module).partition(".")[0] not in sys.stdlib_module_names or module == "builtins":
        return None
    named = vars(sys.modules[module]).get(name) if module in sys.modules else None
    if not isinstance(named, type) or module.partition(".")[0] in _RUNNERS:
        return None
    return named if named.__module__ == module and named.__name__ == name else None


def _binary(operation: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        if is_remote(other):
            return call_operation_as_made(operation, self, *operands)
        if not self._remote.made:
            return NotImplemented
        result = call_operation(operation, *operands)
        if not isinstance(result, Proxy):
            raise TypeError(f"{operation}: what an object and data give must be an object")
        result._remote.made = result._remote.mixed_with_data = True
        return result

    return method


def _compare(operation: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not is_remote(other):
            return NotImplemented
        return self._remote.peer.result("do", self, other, text=operation) is True

    return method


def _compare_held(operation: str) -> Callable[[Any, Any], Any]:
    """For a subclass of list, dict or set, whose content is compared as data."""

    def method(self: Any, other: Any) -> Any:
        held = self._remote.peer.result("data", self)
        if isinstance(other, Proxy):
            other = other._remote.peer.result("data", other)
        return COMPARISONS[operation](held, other)

    return method


def _convert(operation: str) -> Callable[..., Any]:
    def method(self: Any, *settings: Any) -> Any:
        if self._remote.mixed_with_data:
            raise TypeError(f"{operation}: of an object mixed with data")
        return call_operation(operation, self, *settings)

    return method


def _unary(operation: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        result = call_operation_as_made(operation, self, self)
        if self._remote.mixed_with_data and not isinstance(result, Proxy):
            raise TypeError(f"{operation}: of an object mixed with data")
        return result

    return method


def _forward(operation: str) -> Callable[..., Any]:
    def method(self: Any, *operands: Any) -> Any:
        return call_operation(operation, self, *operands)

    return method


def _size_methods(special: set[str]) -> dict[str, Any]:
    """The methods by which elements are counted and traversed, of a class that has a length.

    A class without ``__iter__`` is traversed by its items, as in Python.
    """
    used_up = "next" in special
    methods: dict[str, Any] = {
        "__len__": remote_length,
        "__iter__": lambda self: remote_elements("iter", self, used_up=used_up),
    }
    if "bool" not in special:
        methods["__bool__"] = lambda self: remote_length(self) > 0
    if special & {"reversed", "getitem"}:
        methods["__reversed__"] = lambda self: remote_elements("reversed", self)
    if "getitem" in special:
        methods["__getitem__"] = _getitem
    if used_up:
        methods["__next__"] = _next
    return methods


def _getitem(self: Any, key: Any) -> Any:
    self._remote.size.may_grow()
    return call_operation("getitem", self, key)


def _next(self: Any) -> Any:
    self._remote.size.lose_one()
    return call_operation("next", self)


def _binary_held(operation: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        held = self._remote.peer.result("data", self)
        return ARITHMETIC[operation](*((other, held) if reflected else (held, other)))

    return method


def _contains(self: Any, item: Any) -> bool:
    if is_remote(item) or (self._remote.made and not self._remote.mixed_with_data):
        return call_operation("contains", self, item) is True
    return any(element is item or element == item for element in self)


def _contains_held(self: Any, item: Any) -> bool:
    return item in self._remote.peer.result("data", self)


def _exit(self: Any, kind: Any, error: Any, trace: object) -> bool:
    peer = self._remote.peer
    exit_arguments = (
        (None, None, None) if kind is None else (_nearest_known_exception(kind), None, None)
    )
    silences = peer.result("do", self, *exit_arguments, text="exit")
    return bool(silences is True and error is not None and peer.is_programs(error))


def _nearest_known_exception(kind: type[BaseException]) -> type[BaseException]:
    """A class of exceptions that the program knows: its own, or the nearest builtin one."""
    if isinstance(kind, RemoteClass):
        return kind
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def _special_methods(special: set[str], *, hashes: bool, holds: bool = False) -> dict[str, Any]:
    """The special methods of the mirror of a class that has these operations."""
    methods: dict[str, Any] = {}
    between = _binary_held if holds else _binary
    for name in ARITHMETIC.keys() & special:
        methods[f"__{name}__"] = between(name)
        methods[f"__r{name}__"] = between(name, reflected=True)
    for name in IN_PLACE.keys() & special:
        methods[f"__{name}__"] = _binary(name)
    for name in CONVERSIONS.keys() & special:
        methods[f"__{name}__"] = _convert(name)
    for name in UNARY.keys() & special:
        methods[f"__{name}__"] = _unary(name)
    if "len" in special and "bool" not in special:
        methods["__bool__"] = _convert("bool")
    for name in OTHERS.keys() & special - {"hash", "contains", "enter", "exit", "copy", "deepcopy"}:
        methods[f"__{name}__"] = _forward(name)
    if "len" in special and special & {"iter", "getitem"}:
        methods |= _size_methods(special)
    for name in COMPARISONS.keys() & special:
        methods[f"__{name}__"] = _compare_held(name) if holds else _compare(name)
    if "contains" in special:
        methods["__contains__"] = _contains_held if holds else _contains
    if {"enter", "exit"} <= special:
        methods["__enter__"] = lambda self: call_operation_as_made("enter", self, self)
        methods["__exit__"] = _exit
    if "call" in special:
        methods["__call__"] = lambda self, *a, **k: self._remote.peer.call(self, *a, **k)
    if not hashes:
        methods["__hash__"] = None
    elif "hash" in special:
        methods["__hash__"] = _forward("hash")
    elif "__eq__" in methods:
        methods["__hash__"] = Proxy.__hash__
    return methods
