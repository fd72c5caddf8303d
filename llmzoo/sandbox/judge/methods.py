"""Decides which methods of the program's objects may receive data of the tests.

A test that expects plain data may call ``count``, ``index``, ``find`` or ``compare`` with the expected value.
An object of the program could then decide the result, or return that value the next time. So methods that
plain data also have receive data only if they are in :data:`_MAY_RECEIVE_DATA`, or if the tests made the
object themselves. The others are carried out here, on the object's content.
"""

from __future__ import annotations

import datetime
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

from .proxies import RemoteClass, is_remote, state_of
from .sizes import is_view, make_view

_PLAIN: tuple[type, ...] = (
    *(
        int,
        float,
        complex,
        str,
        bytes,
        bytearray,
        list,
        tuple,
        dict,
        set,
        frozenset,
        range,
        memoryview,
    ),
    *(deque, Counter, OrderedDict, Decimal, Fraction),
    *(datetime.datetime, datetime.timedelta),
)
_OF_PLAIN = {name for kind in _PLAIN for name in dir(kind) if name[:2] != "__"} | {"equals"}
# they change the object, or read it by a key
_MAY_RECEIVE_DATA = {
    *("add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop"),
    *("popleft", "remove", "reverse", "rotate", "setdefault", "sort", "update", "move_to_end"),
    *("get", "copy"),
}


def restrict(owner: Any, name: str, value: Any) -> Any:
    """An attribute of a remote object, as the tests may use it."""
    if name not in _OF_PLAIN or not is_remote(value) or not callable(value):
        return value
    state = state_of(owner)
    if is_view(name) and hasattr(type(owner), "__len__") and hasattr(type(owner), "__getitem__"):
        return make_view(state.size, state.peer, lambda: state.peer.call_read_only(value))
    made = owner._remote_has_class_name if isinstance(owner, RemoteClass) else state.made
    if made or name in _MAY_RECEIVE_DATA:
        return value
    return _WithheldMethod(owner, name, value)


class _WithheldMethod:
    """A method that must not receive data: with data, it is carried out here on the content of its object."""

    def __init__(self, owner: Any, name: str, method: Callable[..., Any]):
        self._owner = owner
        self._name = name
        self._method = method

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if all(is_remote(arg) for arg in (*args, *kwargs.values())):
            return self._method(*args, **kwargs)
        content = _content(self._owner)
        if not hasattr(content, self._name):
            raise TypeError(
                f"{self._name}: an object of the program must not receive what tests expect"
            )
        return getattr(content, self._name)(*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._method, name)


def _content(owner: Any) -> Any:
    """The content of an object, from one traversal, or None."""
    if getattr(type(owner), "_remote_holds", False):
        return state_of(owner).peer.result("data", owner)
    return list(owner) if hasattr(type(owner), "__iter__") else None
