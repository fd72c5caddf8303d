"""Keeps the two processes' copies of a mutable container equal.

Within one interpreter, a test and a program that share a list see each other's changes. Here each side
has a copy. A frame names the containers that have changed since the last frame, and the receiver
changes its copies in place, including inner containers at the same position.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from ..confine.plain_data import Extend, NotData, dumps

MAX_WATCHED = 1_000  # containers watched at a time
MAX_CHARS = 2_000_000  # of a watched container; a longer one is sent by value
_KINDS = (list, dict, set, bytearray, deque, defaultdict, OrderedDict, Counter)


class _WatchedContainer:
    __slots__ = ("container", "text")

    def __init__(self, container: Any, text: str):
        self.container = container
        self.text = text


class SharedContainers:
    """The watched containers of one side. ``side``: 0 or 1, so that the sides assign different keys."""

    def __init__(self, side: int, extend: Extend):
        self._extend = extend
        self._next = side
        self._watched: dict[int, _WatchedContainer] = {}
        self._keys: dict[int, int] = {}

    def key(self, value: Any) -> int | None:
        """The key of a watched container, or None."""
        return self._keys.get(id(value))

    def watch(self, value: Any) -> int | None:
        """Watch a container that is sent for the first time. Returns its new key, or None if it is not watched."""
        if type(value) not in _KINDS:
            return None
        key, self._next = self._next, self._next + 2
        return key if self.watch_as(key, value) else None

    def watch_as(self, key: int, value: Any) -> bool:
        """Watch a container under this key. Returns whether it can be watched."""
        if type(value) not in _KINDS or key in self._watched or len(self._watched) >= MAX_WATCHED:
            return False
        text = dumps(value, self._extend)
        if len(text) > MAX_CHARS:
            return False
        self._watched[key] = _WatchedContainer(value, text)
        self._keys[id(value)] = key
        return True

    def forget(self, key: int) -> None:
        watched = self._watched.pop(key, None)
        if watched is not None:
            self._keys.pop(id(watched.container), None)

    def get(self, key: Any) -> Any:
        """The container of a key. Raises :class:`NotData` for an unknown key."""
        if not isinstance(key, int) or key not in self._watched:
            raise NotData("a container that was not sent")
        return self._watched[key].container

    def take_changes(self) -> list[tuple[int, Any]]:
        """The containers that have changed since the last frame, with their keys."""
        changed = []
        for key, watched in list(self._watched.items()):
            try:
                text = dumps(watched.container, self._extend)
            except NotData:  # no longer plain data: the copies are independent from now on
                self.forget(key)
                continue
            if text != watched.text:
                watched.text = text
                changed.append((key, watched.container))
        return changed

    def forget_unused(self) -> list[int]:
        """Forget the containers that this side no longer references, and return their keys."""
        # two references remain: the attribute of the record and the argument of getrefcount
        keys = [
            key for key, watched in self._watched.items() if sys.getrefcount(watched.container) <= 2
        ]
        for key in keys:
            self.forget(key)
        return keys

    def apply_change(self, key: Any, new: Any) -> None:
        """Give a watched container the content that the other side sent."""
        if key not in self._watched:
            return  # forgotten meanwhile
        watched = self._watched[key]
        _copy_into(watched.container, new)
        watched.text = dumps(watched.container, self._extend)


def _copy_into(old: Any, new: Any) -> None:
    """Copy the content of a container into another. Raises NotData if their types differ."""
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {key: _merge(old.get(key), value) for key, value in new.items()}
        old.clear()
        old.update(merged)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray) and isinstance(new, bytearray):
        old[:] = new
    elif isinstance(old, list) and isinstance(new, list):
        old[:] = [_merge(a, b) for a, b in zip(old, new, strict=False)] + new[len(old) :]
    elif isinstance(old, deque) and isinstance(new, deque):
        old.clear()
        old.extend(new)
    else:
        raise NotData(f"a {type(old).__name__} that became a {type(new).__name__}")


def _merge(old: Any, new: Any) -> Any:
    if type(old) is type(new) and type(new) in (list, dict, set, bytearray, deque):
        _copy_into(old, new)
        return old
    return new
