"""Checks that the lengths and elements that an object of the program reports are consistent.

A test reads a container in several steps: its length, then its elements, from the front or the back. The
program answers each step separately. Without these checks,
``len(a) == len(b) and all(x == y for x, y in zip(a, b))`` would hold for an object that reports a
length and has no elements. A reported number holds until a request may have changed the object.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol

_VIEWS = ("items", "keys", "values")


class ChangeCounter(Protocol):
    """Counts the questions that may have changed an object of the program."""

    changes: int


class Size:
    """The number of elements that an object has, as far as it is known.

    ``_found_at``: the count of changes at which it was found. ``_exact``: the object cannot have more.
    """

    __slots__ = ("_exact", "_found_at", "_number")

    def __init__(self) -> None:
        self._number = 0
        self._found_at = -1
        self._exact = True

    def record(self, number: int, changes: int) -> None:
        """Record a reported number. Raises ``ValueError`` if it contradicts an earlier one."""
        known = self._found_at == changes
        if known and (number < self._number or (self._exact and number > self._number)):
            raise ValueError(f"an object of length {self._number} with {number} elements")
        self._number, self._found_at, self._exact = number, changes, True

    def may_grow(self) -> None:
        """The object was asked for an item, which may have made it, as in a ``defaultdict``."""
        self._exact = False

    def lose_one(self) -> None:
        """One element was taken out."""
        self._number = max(0, self._number - 1)
        self._exact = False

    def iter_checked(
        self, elements: Iterator[Any], counts: ChangeCounter, *, used_up: bool = False
    ) -> Iterator[Any]:
        """The elements. At the end, their number must agree with earlier reports, unless something has changed.

        ``used_up``: the object is its own iterator, and may be empty afterwards.
        """
        begun, number = counts.changes, 0
        known = (self._number, self._found_at, self._exact)
        for element in elements:
            number += 1
            yield element
        if counts.changes == begun:
            self._number, self._found_at, self._exact = known
            self.record(number, begun)
            if used_up and number:
                self._found_at = -1


def make_view(size: Size, counts: ChangeCounter, view: Callable[[], Any]) -> Callable[[], Any]:
    """The method ``items``, ``keys`` or ``values`` of a mapping: a list, from one traversal."""

    def elements() -> list[Any]:
        found = list(view())
        size.record(len(found), counts.changes)
        return found

    return elements


def is_view(name: str) -> bool:
    return name in _VIEWS
