"""What the tests hold instead of the program's objects.

A proxy forwards attributes, calls and special methods to the program's process. What comes back is
plain data or another proxy, so that ``assert f(3) == 9`` compares builtin objects. The program must
never learn what a test expects and be asked whether that is right. Hence:

- ``==``, ``!=``, ``<`` and their like between a proxy and data are decided here: never equal, not
  ordered. Between two proxies the program decides, for only it knows what its objects are (a test
  that compares two of them believes the program).
- Arithmetic between a proxy and data, ``data in proxy``, and methods such as ``startswith`` are
  forwarded only for objects that the test itself made by calling a class, as long as nothing but
  that call gave them to it. A result of arithmetic that is data is refused, and one that is an
  object gives no number and no truth value: ``abs(f(3) - 9.0) < 1e-6`` takes a number.
- An instance of a subclass of int, str, tuple, ... is an object of that builtin here, by value.
- Objects never silence an exception of the test's own, though their ``__exit__`` says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .operations import ARITHMETIC, COMPARISONS, CONVERSIONS, IN_PLACE, OTHERS

if TYPE_CHECKING:
    from .tester_peer import Session


# methods of builtin types that say whether what a test expects is right
_DECIDING = ("startswith", "endswith", "issubset", "issuperset", "isdisjoint")


class State:
    """What is known of a proxy's object. ``made``: by the tests, by calling a class; ``mixed``: it
    came of arithmetic with data of the tests."""

    __slots__ = ("handle", "made", "mixed", "session")

    def __init__(self, session: Session, handle: int):
        self.session = session
        self.handle = handle
        self.made = False
        self.mixed = False

    def __del__(self) -> None:
        self.session.dropped.append(self.handle)


class Remote:
    """Attributes of an object of the program, read and written where it lives."""

    __slots__ = ()
    _remote: State

    def __getattr__(self, name: str) -> Any:
        if name == "_remote" or (name in _DECIDING and not self._remote.made):
            raise AttributeError(name)
        return self._remote.session.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._remote.session.result("set", self, value, text=name)

    def __delattr__(self, name: str) -> None:
        self._remote.session.result("del", self, text=name)

    def __copy__(self) -> Any:
        return _as_made("copy", self, self)

    def __deepcopy__(self, memo: object) -> Any:
        return _as_made("deepcopy", self, self)


class Proxy(Remote):
    """An object of the program that is no data."""

    __slots__ = ("__weakref__", "_remote")


class RemoteError(Remote):
    """An exception of a class that the program defines; its text is what the program said."""

    _remote_text = ""

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:2] == "__":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def __str__(self) -> str:
        return self._remote_text


class Holder:
    """An instance of a subclass of an immutable builtin: the builtin's value and behaviour, and
    what else the subclass gives, such as the fields of a named tuple, asked of the program."""

    _remote: State

    def __getattr__(self, name: str) -> Any:
        return self._remote.session.get(self, name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self


class RemoteClass(type):
    """The metaclass of what stands for the program's classes.

    ``isinstance`` and ``issubclass`` go by the classes here, which mirror the program's.
    """

    _remote_class: State
    _remote_named: bool  # the tests know it, by a class's name, as a class

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls._remote_class.session.call(cls, *args, **kwargs)
        if isinstance(made, Proxy) and cls._remote_named:
            made._remote.made = True
        return made

    def __getattr__(cls, name: str) -> Any:
        return cls._remote_class.session.get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._remote_class.session.result("set", cls, value, text=name)

    def __delattr__(cls, name: str) -> None:
        cls._remote_class.session.result("del", cls, text=name)

    def __iter__(cls) -> Any:
        return _do("iter", cls)

    def __len__(cls) -> int:
        return _do("len", cls)

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return _do("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return is_remote(item) and _do("contains", cls, item) is True


def is_remote(value: Any) -> bool:
    """Whether a value stands for something of the program."""
    return isinstance(value, (Remote, Holder, RemoteClass))


def state_of(value: Any) -> State:
    """The state of what :func:`is_remote`."""
    return value._remote_class if isinstance(value, RemoteClass) else value._remote


def _do(operation: str, *operands: Any) -> Any:
    own = next(filter(is_remote, operands))
    return state_of(own).session.result("do", *operands, text=operation)


def _between(operation: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        operands = (other, self) if reflected else (self, other)
        if is_remote(other):
            return _as_made(operation, self, *operands)
        if not self._remote.made:
            return NotImplemented
        result = _do(operation, *operands)
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
        return _do(operation, self, *settings)

    return method


def _plain(operation: str) -> Callable[..., Any]:
    def method(self: Any, *operands: Any) -> Any:
        return _do(operation, self, *operands)

    return method


def _as_made(operation: str, own: Any, *operands: Any) -> Any:
    """What an operation gives, as much of the tests' making as the object ``own`` is."""
    made = own._remote.made
    result = _do(operation, *operands)
    if isinstance(result, Proxy):
        result._remote.made = made
    return result


def _enter(self: Any) -> Any:
    return _as_made("enter", self, self)


def _between_held(operation: str, reflected: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: Any, other: Any) -> Any:
        held = self._remote.session.result("data", self)
        return ARITHMETIC[operation](*((other, held) if reflected else (held, other)))

    return method


def _contains(self: Any, item: Any) -> bool:
    if is_remote(item) or (self._remote.made and not self._remote.mixed):
        return _do("contains", self, item) is True
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
    return _do("hash", self)


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
    if "len" in special and "bool" not in special:
        methods["__bool__"] = _convert("bool")
    for name in OTHERS.keys() & special - {"hash", "contains", "enter", "exit", "copy", "deepcopy"}:
        methods[f"__{name}__"] = _plain(name)
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


class Function(Proxy):
    """A function or bound method of the program."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote.session.call(self, *args, **kwargs)

    def __repr__(self) -> str:
        return "<a function of the program>"
