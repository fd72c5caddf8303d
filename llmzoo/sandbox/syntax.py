"""Python text as a syntax tree, also where several threads ask at once."""

from __future__ import annotations

import ast
import threading
from typing import Any

_LOCK = threading.RLock()  # one thread at a time; a collection of garbage in it may ask again
_TRIES = 20  # other packages parse without this lock


def parse(source: str, *, mode: str = "exec") -> Any:
    """:func:`ast.parse`, safe in threads.

    CPython before 3.13 counts the depth of a tree in one place for all threads, and raises ``SystemError``
    where two build trees at once (python/cpython#106905). Raises what ``ast.parse`` raises otherwise.
    """
    with _LOCK:
        for _ in range(_TRIES - 1):
            try:
                return ast.parse(source, mode=mode)
            except SystemError:
                continue
        return ast.parse(source, mode=mode)
