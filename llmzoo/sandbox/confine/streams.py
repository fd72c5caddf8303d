"""The standard streams under their names in the file system, where there is no such file system.

Programs open ``/dev/stdin``. Level 3 has no ``/proc`` for it to lead to, and level 1 opens no paths.
As with a pipe, all openings of a stream share its position.
"""

from __future__ import annotations

import builtins
import functools
import io
import os
from collections.abc import Callable
from typing import Any

_NUMBERS = {
    f"{folder}{name}": number
    for number, stream in enumerate(("stdin", "stdout", "stderr"))
    for folder, name in (("/dev/", stream), ("/dev/fd/", number), ("/proc/self/fd/", number))
}


def install() -> None:
    """Let ``open``, ``io.open`` and ``os.open`` know the names, before other modules take them."""
    plain, low = io.open, os.open
    opener = _Opener(plain, plain)
    vars(builtins)["open"] = vars(io)["open"] = opener
    vars(os)["open"] = _Opener(low, lambda number, *args, **named: number)


class _Opener:
    """An object, because a function would become a method as an attribute of a class."""

    def __init__(self, plain: Callable[..., Any], standard: Callable[..., Any]):
        functools.update_wrapper(self, plain)
        self._plain = plain
        self._standard = standard

    def __call__(self, file: Any, *args: Any, **named: Any) -> Any:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        number = _NUMBERS.get(path) if path is not None else None
        if number is None:
            return self._plain(file, *args, **named)
        return self._standard(os.dup(number), *args, **named)
