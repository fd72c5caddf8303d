"""Mutable containers that both processes hold a copy of, kept alike at every exchange.

A list that a test passes to the program, or that it reads from an attribute, is one object when
both live in one interpreter: whoever changes it, the other sees it. Here each side has its own.
Before a frame leaves, the sender names the containers that have changed since the last frame; the
receiver changes its copies in place, inner containers included where they lie at the same place.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from typing import Any

from ..confine.values import Extend, NotData, dumps

MAX_KEPT = 1_000  # containers watched at a time
MAX_CHARS = 2_000_000  # of one that is watched; a longer one crosses by value alone
_KINDS = (list, dict, set, bytearray, deque, defaultdict, OrderedDict, Counter)


class _Kept:
    __slots__ = ("container", "text")

    def __init__(self, container: Any, text: str):
        self.container = container
        self.text = text


class Mirrors:
    """The watched containers of one side. ``own``: 0 or 1, so that both sides give other keys."""

    def __init__(self, own: int, extend: Extend):
        self._extend = extend
        self._next = own
        self._kept: dict[int, _Kept] = {}
        self._keys: dict[int, int] = {}

    def key(self, value: Any) -> int | None:
        """The key of a container that is watched."""
        return self._keys.get(id(value))

    def watch(self, value: Any) -> int | None:
        """Watch a container about to be sent for the first time; None where it cannot be watched."""
        if type(value) not in _KINDS:
            return None
        key, self._next = self._next, self._next + 2
        return key if self.keep(key, value) else None

    def keep(self, key: int, value: Any) -> bool:
        """Watch a container under the key that it came or goes with."""
        if type(value) not in _KINDS or key in self._kept or len(self._kept) >= MAX_KEPT:
            return False
        text = dumps(value, self._extend)
        if len(text) > MAX_CHARS:
            return False
        self._kept[key] = _Kept(value, text)
        self._keys[id(value)] = key
        return True

    def forget(self, key: int) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._keys.pop(id(kept.container), None)

    def get(self, key: Any) -> Any:
        """The container of a key; raises :class:`NotData` for an unknown one."""
        if not isinstance(key, int) or key not in self._kept:
            raise NotData("a container that nobody has sent")
        return self._kept[key].container

    def changed(self) -> list[tuple[int, Any]]:
        """The containers changed since the last frame, to be sent with the next one."""
        found = []
        for key, kept in list(self._kept.items()):
            try:
                text = dumps(kept.container, self._extend)
            except NotData:  # no longer plain data: each side has its own from now on
                self.forget(key)
                continue
            if text != kept.text:
                kept.text = text
                found.append((key, kept.container))
        return found

    def unused(self) -> list[int]:
        """Forget, and give the keys of, the containers that nobody on this side can reach any more."""
        # what is left then: the attribute of the record, and the argument of getrefcount
        keys = [key for key, kept in self._kept.items() if sys.getrefcount(kept.container) <= 2]
        for key in keys:
            self.forget(key)
        return keys

    def change(self, key: Any, new: Any) -> None:
        """Make a watched container what the other side says that it is now."""
        if key not in self._kept:
            return  # forgotten meanwhile
        kept = self._kept[key]
        _copy_into(kept.container, new)
        kept.text = dumps(kept.container, self._extend)


def _copy_into(old: Any, new: Any) -> None:
    """Change a container in place to hold what another holds; raises NotData for another kind."""
    if isinstance(old, dict) and isinstance(new, dict):
        merged = {key: _merged(old.get(key), value) for key, value in new.items()}
        old.clear()
        old.update(merged)
    elif isinstance(old, set) and isinstance(new, set):
        old.clear()
        old.update(new)
    elif isinstance(old, bytearray) and isinstance(new, bytearray):
        old[:] = new
    elif isinstance(old, list) and isinstance(new, list):
        old[:] = [_merged(a, b) for a, b in zip(old, new, strict=False)] + new[len(old) :]
    elif isinstance(old, deque) and isinstance(new, deque):
        old.clear()
        old.extend(new)
    else:
        raise NotData(f"a {type(old).__name__} that became a {type(new).__name__}")


def _merged(old: Any, new: Any) -> Any:
    if type(old) is type(new) and type(new) in (list, dict, set, bytearray, deque):
        _copy_into(old, new)
        return old
    return new
