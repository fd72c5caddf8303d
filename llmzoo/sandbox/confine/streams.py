"""Lets programs open the standard streams by path, such as ``/dev/stdin``.

Level 3 has no ``/proc`` that ``/dev/stdin`` could point to, and level 1 opens no paths. As with a
pipe, everything that opens a stream shares its position.
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
    """Replace ``open``, ``io.open`` and ``os.open``, before other modules import them."""
    builtin_open, os_open = io.open, os.open
    opener = _Opener(builtin_open, builtin_open)
    vars(builtins)["open"] = vars(io)["open"] = opener
    vars(os)["open"] = _Opener(os_open, lambda number, *args, **kwargs: number)


class _Opener:
    """A callable object. A function would become a method as an attribute of a class."""

    def __init__(self, builtin_open: Callable[..., Any], open_descriptor: Callable[..., Any]):
        functools.update_wrapper(self, builtin_open)
        self._open_path = builtin_open
        self._open_descriptor = open_descriptor

    def __call__(self, file: Any, *args: Any, **kwargs: Any) -> Any:
        path = os.fspath(file) if isinstance(file, (str, os.PathLike)) else None
        number = _NUMBERS.get(path) if path is not None else None
        if number is None:
            return self._open_path(file, *args, **kwargs)
        return self._open_descriptor(os.dup(number), *args, **kwargs)
