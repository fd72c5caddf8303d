"""What a program holds instead of the objects that the tests passed to it.

What may be done with each kind is decided on the other side, see :mod:`lending`.
"""

from __future__ import annotations

import io
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .exports import Exports


class Borrowed:
    """An object of the tests that was passed to the program."""

    def __init__(self, exports: Exports, number: int):
        self._exports = exports
        self._number = number


class _Callback(Borrowed):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._exports.back("invoke", self, *args, *kwargs.values(), names=list(kwargs))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)


class _Stream(Borrowed):
    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return self._exports.back("advance", self)


class _Thing(_Stream):
    def __getattr__(self, name: str) -> Any:
        return self._exports.back("read", self, text=name)


class _Mock(_Thing):
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._exports.back("invoke", self, *args, *kwargs.values(), names=list(kwargs))


BORROWED = {"call": _Callback, "iterate": _Stream, "read": _Thing, "mock": _Mock}


class Stdin(io.TextIOBase):
    """Standard input, which the tests may have replaced."""

    def __init__(self, exports: Exports):
        self._exports = exports

    def readable(self) -> bool:
        return True

    def readline(self, size: int = -1) -> str:  # type: ignore[override]
        return self._exports.back("readline")

    def read(self, size: int = -1) -> str:  # type: ignore[override]
        return "".join(iter(self.readline, ""))
