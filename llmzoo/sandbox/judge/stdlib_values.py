"""Values of the standard library that are sent as data: dates, decimals, ranges, arrays and others.

The reader rebuilds them and compares them with its own code, so the program cannot influence the comparison.
Builtin types and exceptions are sent by name.
"""

from __future__ import annotations

import builtins
import datetime
import sys
from collections import deque
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from numbers import Number
from typing import Any

from ..confine.plain_data import Extend, NotData, dumps, loads

Decode = Callable[[list[Any]], Any]

_EXCEPTIONS: list[type] = [
    e for e in vars(builtins).values() if isinstance(e, type) and issubclass(e, BaseException)
]
PLAIN_TYPES = {
    kind.__name__: kind
    for kind in (
        *(type(None), bool, int, float, complex, str, bytes, bytearray, list, tuple, dict, set),
        *(frozenset, object, range, *_EXCEPTIONS),
    )
}
# types whose instances are sent as data; a proxy is never an instance of one of these
VALUES = (
    *(int, float, complex, str, bytes, bytearray, list, tuple, dict, set, frozenset, deque),
    *(datetime.date, datetime.time, datetime.timedelta, Decimal, Fraction, Number),
)
_SINGLE = {"Ellipsis": Ellipsis, "NotImplemented": NotImplemented}
_WRITERS: dict[type, tuple[str, Callable[[Any], str]]] = {
    datetime.datetime: ("datetime", datetime.datetime.isoformat),
    datetime.date: ("date", datetime.date.isoformat),
    datetime.time: ("time", datetime.time.isoformat),
    Decimal: ("decimal", str),
    Fraction: ("fraction", str),
    bytearray: ("bytearray", bytearray.hex),
}


def _read_path(text: str) -> Any:
    from pathlib import Path  # most programs do not need this module

    return Path(text)


_READERS: dict[str, Callable[[str], Any]] = {
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "decimal": Decimal,
    "fraction": Fraction,
    "bytearray": bytearray.fromhex,
    "path": _read_path,
}
_ARRAY_KINDS = "biufcU"  # numpy's booleans, numbers and text: never objects


def to_tag(value: Any, extend: Extend) -> list[Any] | None:
    """The tagged list of a value of one of these types, else None."""
    kind = type(value)
    if kind in _WRITERS:
        tag, write = _WRITERS[kind]
        return [tag, write(value)]
    if kind is datetime.timedelta:
        return ["timedelta", value.days, value.seconds, value.microseconds]
    if kind is range:
        return ["range", value.start, value.stop, value.step]
    if kind is deque:
        return ["deque", dumps(list(value), extend), value.maxlen]
    if kind is type(Ellipsis) or kind is type(NotImplemented):
        return ["single", repr(value)]
    if kind is type and isinstance(value, type) and PLAIN_TYPES.get(value.__name__) is value:
        return ["type", value.__name__]
    if "pathlib" in sys.modules and issubclass(kind, sys.modules["pathlib"].PurePath):
        return ["path", str(value)]
    if "numpy" in sys.modules and issubclass(
        kind, (sys.modules["numpy"].generic, sys.modules["numpy"].ndarray)
    ):
        return _array_to_tag(value)
    return None


def from_tag(tagged: list[Any], extend: Decode) -> Any:
    """The value of a tagged list. Raises :class:`NotData` for any other list."""
    tag, *parts = tagged
    try:
        if tag in _READERS:
            (text,) = parts
            if not isinstance(text, str):
                raise NotData(f"a {tag} that is not text")
            return _READERS[tag](text)
        if tag == "timedelta":
            days, seconds, microseconds = parts
            return datetime.timedelta(days, seconds, microseconds)
        if tag == "range":
            start, stop, step = parts
            return range(start, stop, step)
        if tag == "deque":
            items, length = parts
            return deque(loads(items, extend), length)
        if tag == "single":
            return _SINGLE[parts[0]]
        if tag == "type":
            return PLAIN_TYPES[parts[0]]
        if tag == "number":
            return loads(parts[0])
        if tag == "array":
            return _array_from_parts(*parts)
    except NotData:
        raise
    except Exception as error:  # the parts come from a peer that may lie
        raise NotData(f"not a value: {tag!r}, {type(error).__name__}") from None
    raise NotData(f"not a value: tag {str(tag)[:20]!r}")


def _array_to_tag(value: Any) -> list[Any] | None:
    numpy = sys.modules["numpy"]
    if isinstance(value, numpy.generic) and value.dtype.kind in _ARRAY_KINDS:
        return ["number", dumps(value.item())]
    plain = type(value) is numpy.ndarray or (isinstance(value, numpy.ndarray) and not value.size)
    if plain and value.dtype.kind in _ARRAY_KINDS:
        return ["array", value.dtype.str, list(value.shape), value.tobytes().hex()]
    return None


def _array_from_parts(dtype: Any, shape: Any, content: Any) -> Any:
    if "numpy" not in sys.modules:
        raise NotData("an array, where there is no numpy")
    numpy = sys.modules["numpy"]
    kind = numpy.dtype(str(dtype))
    if kind.kind not in _ARRAY_KINDS:
        raise NotData(f"an array of {kind}")
    return numpy.frombuffer(bytearray.fromhex(content), kind).reshape(shape)
