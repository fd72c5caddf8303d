"""Proxies, which the tests hold instead of the program's objects.

A proxy forwards attributes, calls and special methods to the program's process. The results are plain
data or other proxies, so ``assert f(3) == 9`` compares builtin objects. The program must never decide
whether a value that it returned is the expected one. Therefore:

- Comparisons of a proxy with data are decided here: they are never equal, and not ordered. The
  program decides about two proxies, since only it knows its objects. A test that compares two of them
  trusts the program.
- Arithmetic of a proxy with data, ``data in proxy``, and methods that plain data have too, such as
  ``count`` (:mod:`.methods`), are forwarded only for objects that the test itself made by calling a
  class. A result of such arithmetic must be an object, and that object has no number and no truth
  value, since ``abs(f(3) - 9.0) < 1e-6`` would otherwise let the program decide.
- An instance of a subclass of int, str, tuple, ... is an object of that builtin here, by value.
- An object whose reported length is not the number of its elements raises an error (:mod:`.sizes`).
- Objects never suppress an exception that the test raised, even if their ``__exit__`` returns true.
- The program is not asked for names such as ``__array_function__``. With them, libraries pass a
  comparison, with the expected value, to the object, or read memory at its address.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Protocol

from .sizes import ChangeCounter, Size

# special names that describe an object or that only tests use; the special methods that a test may
# use are defined by the class of the proxy
_DESCRIBING = {
    *("__name__", "__qualname__", "__module__", "__doc__", "__dict__", "__annotations__"),
    *("__code__", "__defaults__", "__kwdefaults__", "__wrapped__", "__self__", "__func__"),
    *("__members__", "__slots__", "__match_args__", "__abstractmethods__", "__post_init__"),
    *("__dataclass_fields__", "__dataclass_params__", "__version__", "__author__", "__all__"),
    *("__cause__", "__context__", "__notes__", "__missing__", "__del__"),
}


class Asker(ChangeCounter, Protocol):
    """Asks the program about its objects (:class:`~.tester_peer.TesterPeer`).

    ``dropped``: handles of objects that no longer have a proxy. ``call_read_only`` calls a method that changes
    nothing.
    """

    dropped: list[int]

    def result(self, word: str, *operands: Any, text: str = "", names: Any = ()) -> Any: ...
    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def call_read_only(self, method: Any) -> Any: ...
    def get(self, owner: Any, name: str) -> Any: ...
    def is_programs(self, error: BaseException) -> bool: ...


class State:
    """What is known about the object of a proxy.

    ``made``: the tests made it by calling a class. ``mixed_with_data``: it is the result of arithmetic with
    data. ``size``: what it has said about its number of elements.
    """

    __slots__ = ("handle", "made", "mixed_with_data", "peer", "size")

    def __init__(self, peer: Asker, handle: int):
        self.peer = peer
        self.handle = handle
        self.made = False
        self.mixed_with_data = False
        self.size = Size()

    def __del__(self) -> None:
        self.peer.dropped.append(self.handle)


class Remote:
    """Reads and writes the attributes of an object in the program's process."""

    __slots__ = ()
    _remote: State

    def __getattr__(self, name: str) -> Any:
        if name == "_remote":
            raise AttributeError(name)
        return self._remote.peer.get(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self._remote.peer.result("set", self, value, text=name)

    def __delattr__(self, name: str) -> None:
        self._remote.peer.result("del", self, text=name)

    def __copy__(self) -> Any:
        return call_operation_as_made("copy", self, self)

    def __deepcopy__(self, memo: object) -> Any:
        return call_operation_as_made("deepcopy", self, self)


class Proxy(Remote):
    """An object of the program that is not data."""

    __slots__ = ("__weakref__", "_remote")
    __array_ufunc__ = None  # numpy's operators then use the methods here


class PeerError(Remote):
    """An exception of a class of the program, with the text that the program sent."""

    _remote_text = ""

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:2] == "__":
            object.__setattr__(self, name, value)
        else:
            super().__setattr__(name, value)

    def __str__(self) -> str:
        return self._remote_text


class Holder:
    """An instance of a subclass of an immutable builtin, with the builtin's value and behaviour. Other
    attributes, such as the fields of a named tuple, come from the program."""

    _remote: State

    def __getattr__(self, name: str) -> Any:
        if name == "_remote":
            raise AttributeError(name)
        return self._remote.peer.get(self, name)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: object) -> Any:
        return self


class RemoteClass(type):
    """The metaclass of the classes that mirror the program's classes."""

    _remote_class: State
    _remote_has_class_name: bool  # its name in the tests begins with a capital letter

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        made = cls._remote_class.peer.call(cls, *args, **kwargs)
        if isinstance(made, (Proxy, Holder)) and cls._remote_has_class_name:
            made._remote.made = True
        return made

    def __getattr__(cls, name: str) -> Any:
        return cls._remote_class.peer.get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._remote_class.peer.result("set", cls, value, text=name)

    def __delattr__(cls, name: str) -> None:
        cls._remote_class.peer.result("del", cls, text=name)

    def __iter__(cls) -> Any:
        return remote_elements("iter", cls)

    def __reversed__(cls) -> Any:
        return remote_elements("reversed", cls)

    def __len__(cls) -> int:
        return remote_length(cls)

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        cls._remote_class.size.may_grow()
        return call_operation("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return is_remote(item) and call_operation("contains", cls, item) is True


def is_remote(value: Any) -> bool:
    """Whether a value is a proxy, a holder or a mirrored class."""
    return isinstance(value, (Remote, Holder, RemoteClass))


def state_of(value: Any) -> State:
    """The state of a remote value."""
    return value._remote_class if isinstance(value, RemoteClass) else value._remote


def may_ask(name: str) -> bool:
    """Whether the program may be asked for this attribute of a remote value."""
    return name in _DESCRIBING or not name[:2] == "__" == name[-2:]


def call_operation(operation: str, *operands: Any) -> Any:
    """Carry out one of the :mod:`.operations` in the program's process."""
    own = next(filter(is_remote, operands))
    return state_of(own).peer.result("do", *operands, text=operation)


def remote_length(own: Any) -> int:
    """The reported length of a remote value. Raises ``ValueError`` if it has said something else."""
    state = state_of(own)
    number = call_operation("len", own)
    if type(number) is not int:
        raise TypeError("a length that is no integer")
    state.size.record(number, state.peer.changes)
    return number


def remote_elements(operation: str, own: Any, *, used_up: bool = False) -> Iterator[Any]:
    """The elements of a remote value, by ``iter`` or ``reversed``. Raises ``ValueError`` at the end if
    their number is not the length."""
    state = state_of(own)

    def ask_elements() -> Iterator[Any]:
        found = call_operation(operation, own)
        if found is not own:
            yield from found
            return
        with suppress(StopIteration):  # the object is its own iterator
            while True:
                element = call_operation("next", own)
                if element is own:
                    raise ValueError("an iterator that holds itself has no end")
                yield element

    return state.size.iter_checked(ask_elements(), state.peer, used_up=used_up)


def call_operation_as_made(operation: str, own: Any, *operands: Any) -> Any:
    """Carry out an operation. Its result counts as made by the tests if ``own`` does."""
    made, mixed_with_data = own._remote.made, own._remote.mixed_with_data
    result = call_operation(operation, *operands)
    if isinstance(result, Proxy):
        result._remote.made = made
        result._remote.mixed_with_data |= mixed_with_data
    return result


class RemoteFunction(Proxy):
    """A function or bound method of the program."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote.peer.call(self, *args, **kwargs)

    def __repr__(self) -> str:
        return "<a function of the program>"
