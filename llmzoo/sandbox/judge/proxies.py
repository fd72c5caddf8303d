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
- An object whose length, as last told, is not the number of its elements is no value:
  ``len(a) == len(b) and all(x == y for x, y in zip(a, b))`` would hold for no elements at all.
- Objects never silence an exception of the test's own, though their ``__exit__`` says so.
- Names such as ``__array_function__`` are not looked up at the program. Libraries ask for them to
  hand a comparison, with the expected value, to the object; or to read memory at its address.
"""

from __future__ import annotations

from typing import Any, Protocol

# methods of builtin types that say whether what a test expects is right, or give it back
_DECIDING = {
    *("startswith", "endswith", "issubset", "issuperset", "isdisjoint"),
    *("difference", "symmetric_difference", "union", "intersection", "equals"),
}
# the special names that describe an object, or that only a test asks for; the special methods that
# a test may use are defined by the stand-in's class
_DESCRIBING = {
    *("__name__", "__qualname__", "__module__", "__doc__", "__dict__", "__annotations__"),
    *("__code__", "__defaults__", "__kwdefaults__", "__wrapped__", "__self__", "__func__"),
    *("__members__", "__slots__", "__match_args__", "__abstractmethods__", "__post_init__"),
    *("__dataclass_fields__", "__dataclass_params__", "__version__", "__author__", "__all__"),
    *("__cause__", "__context__", "__notes__", "__missing__", "__del__"),
}


class Asker(Protocol):
    """Asks the program about its objects (:class:`~.tester_peer.TesterPeer`).

    ``changes``: how many questions may have changed an object. ``dropped``: handles of objects that
    have no proxy any more.
    """

    changes: int
    dropped: list[int]

    def result(self, word: str, *operands: Any, text: str = "", names: Any = ()) -> Any: ...
    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any: ...
    def get(self, owner: Any, name: str) -> Any: ...
    def is_programs(self, error: BaseException) -> bool: ...


class State:
    """What is known of a proxy's object. ``made``: by the tests, by calling a class; ``mixed``: it
    came of arithmetic with data of the tests. ``told``: its length as last told, and at what count
    of the session's changes."""

    __slots__ = ("handle", "made", "mixed", "peer", "told")

    def __init__(self, peer: Asker, handle: int):
        self.peer = peer
        self.handle = handle
        self.made = False
        self.mixed = False
        self.told = (0, -1)

    def __del__(self) -> None:
        self.peer.dropped.append(self.handle)


class Remote:
    """Attributes of an object of the program, read and written where it lives."""

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
        return do_as_made("copy", self, self)

    def __deepcopy__(self, memo: object) -> Any:
        return do_as_made("deepcopy", self, self)


class Proxy(Remote):
    """An object of the program that is no data."""

    __slots__ = ("__weakref__", "_remote")
    __array_ufunc__ = None  # numpy's operators leave it to the methods here


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
        if name == "_remote":
            raise AttributeError(name)
        return self._remote.peer.get(self, name)

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
        made = cls._remote_class.peer.call(cls, *args, **kwargs)
        if isinstance(made, (Proxy, Holder)) and cls._remote_named:
            made._remote.made = True
        return made

    def __getattr__(cls, name: str) -> Any:
        return cls._remote_class.peer.get(cls, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._remote_class.peer.result("set", cls, value, text=name)

    def __delattr__(cls, name: str) -> None:
        cls._remote_class.peer.result("del", cls, text=name)

    def __iter__(cls) -> Any:
        return do("iter", cls)

    def __len__(cls) -> int:
        return do("len", cls)

    def __bool__(cls) -> bool:
        return True

    def __getitem__(cls, key: Any) -> Any:
        return do("getitem", cls, key)

    def __contains__(cls, item: Any) -> bool:
        return is_remote(item) and do("contains", cls, item) is True


def is_remote(value: Any) -> bool:
    """Whether a value stands for something of the program."""
    return isinstance(value, (Remote, Holder, RemoteClass))


def state_of(value: Any) -> State:
    """The state of what :func:`is_remote`."""
    return value._remote_class if isinstance(value, RemoteClass) else value._remote


def may_ask(value: Any, name: str) -> bool:
    """Whether the program is asked for an attribute of what :func:`is_remote`."""
    if name[:2] == "__" == name[-2:]:
        return name in _DESCRIBING
    own = value._remote_named if isinstance(value, RemoteClass) else value._remote.made
    return own or name not in _DECIDING


def do(operation: str, *operands: Any) -> Any:
    """Carry out one of the :mod:`operations` where the objects live."""
    own = next(filter(is_remote, operands))
    return state_of(own).peer.result("do", *operands, text=operation)


def do_as_made(operation: str, own: Any, *operands: Any) -> Any:
    """What an operation gives, as much of the tests' making as the object ``own`` is."""
    made, mixed = own._remote.made, own._remote.mixed
    result = do(operation, *operands)
    if isinstance(result, Proxy):
        result._remote.made = made
        result._remote.mixed |= mixed
    return result


class Function(Proxy):
    """A function or bound method of the program."""

    __slots__ = ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._remote.peer.call(self, *args, **kwargs)

    def __repr__(self) -> str:
        return "<a function of the program>"
