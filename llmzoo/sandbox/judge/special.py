"""The special methods of proxies: which operations are forwarded, and which are decided here.

The reasons are in :mod:`proxies`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from .operations import ARITHMETIC, COMPARISONS, CONVERSIONS, IN_PLACE, OTHERS, UNARY
from .proxies import Proxy, RemoteClass, do, do_as_made, is_remote


def _between(operation: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        if is_remote(other):
            return do_as_made(operation, self, *operands)
        if not self._remote.made:
            return NotImplemented
        result = do(operation, *operands)
        if not isinstance(result, Proxy):
            raise TypeError(f"{operation}: what an object and data give must be an object")
        result._remote.made = result._remote.mixed = True
        return result

    return method


def _compare(operation: str) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        if not is_remote(other):
            return NotImplemented
        return self._remote.session.result("do", self, other, text=operation) is True

    return method


def _compare_held(operation: str) -> Callable[[Any, Any], Any]:
    """For a subclass of list, dict or set: what it holds is data, and is compared as such."""

    def method(self: Any, other: Any) -> Any:
        held = self._remote.session.result("data", self)
        if isinstance(other, Proxy):
            other = other._remote.session.result("data", other)
        return COMPARISONS[operation](held, other)

    return method


def _convert(operation: str) -> Callable[..., Any]:
    def method(self: Any, *settings: Any) -> Any:
        if self._remote.mixed:
            raise TypeError(f"{operation}: of an object mixed with data")
        return do(operation, self, *settings)

    return method


def _unary(operation: str) -> Callable[[Any], Any]:
    def method(self: Any) -> Any:
        result = do_as_made(operation, self, self)
        if self._remote.mixed and not isinstance(result, Proxy):
            raise TypeError(f"{operation}: of an object mixed with data")
        return result

    return method


def _plain(operation: str) -> Callable[..., Any]:
    def method(self: Any, *operands: Any) -> Any:
        return do(operation, self, *operands)

    return method


def _len(self: Any) -> int:
    length = do("len", self)
    self._remote.told = (length, self._remote.session.changes)
    return length


def _iter(self: Any) -> Iterator[Any]:
    """The elements; as many as the length last told, if nothing can have changed since."""
    count = 0
    for item in do("iter", self):
        count += 1
        yield item
    length, changes = self._remote.told
    if changes == self._remote.session.changes and length != count:
        raise ValueError(f"an object of length {length} with {count} elements")


def _enter(self: Any) -> Any:
    return do_as_made("enter", self, self)


def _between_held(operation: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        held = self._remote.session.result("data", self)
        return ARITHMETIC[operation](*((other, held) if reflected else (held, other)))

    return method


def _contains(self: Any, item: Any) -> bool:
    if is_remote(item) or (self._remote.made and not self._remote.mixed):
        return do("contains", self, item) is True
    return any(own is item or own == item for own in self)


def _contains_held(self: Any, item: Any) -> bool:
    return item in self._remote.session.result("data", self)


def _exit(self: Any, kind: Any, error: Any, trace: object) -> bool:
    session = self._remote.session
    told = (None, None, None) if kind is None else (_tellable(kind), None, None)
    silences = session.result("do", self, *told, text="exit")
    return bool(silences is True and error is not None and session.is_programs(error))


def _tellable(kind: type[BaseException]) -> type[BaseException]:
    """A class of exceptions that the program knows too: its own, or the nearest builtin one."""
    if isinstance(kind, RemoteClass):
        return kind
    return next(base for base in kind.__mro__ if base.__module__ == "builtins")


def _hash(self: Any) -> int:
    return do("hash", self)


def special_methods(special: set[str], *, hashes: bool, holds: bool = False) -> dict[str, Any]:
    """The special methods of the stand-in for a class that has those of this list."""
    methods: dict[str, Any] = {}
    between = _between_held if holds else _between
    for name in ARITHMETIC.keys() & special:
        methods[f"__{name}__"] = between(name)
        methods[f"__r{name}__"] = between(name, reflected=True)
    for name in IN_PLACE.keys() & special:
        methods[f"__{name}__"] = _between(name)
    for name in CONVERSIONS.keys() & special:
        methods[f"__{name}__"] = _convert(name)
    for name in UNARY.keys() & special:
        methods[f"__{name}__"] = _unary(name)
    if "len" in special and "bool" not in special:
        methods["__bool__"] = _convert("bool")
    for name in OTHERS.keys() & special - {"hash", "contains", "enter", "exit", "copy", "deepcopy"}:
        methods[f"__{name}__"] = _plain(name)
    if {"len", "iter"} <= special:
        methods |= {"__len__": _len, "__iter__": _iter}
    for name in COMPARISONS.keys() & special:
        methods[f"__{name}__"] = _compare_held(name) if holds else _compare(name)
    if "contains" in special:
        methods["__contains__"] = _contains_held if holds else _contains
    if {"enter", "exit"} <= special:
        methods["__enter__"] = _enter
        methods["__exit__"] = _exit
    if "call" in special:
        methods["__call__"] = lambda self, *a, **k: self._remote.session.call(self, *a, **k)
    if not hashes:
        methods["__hash__"] = None
    elif "hash" in special:
        methods["__hash__"] = _hash
    elif "__eq__" in methods:
        methods["__hash__"] = Proxy.__hash__
    return methods
