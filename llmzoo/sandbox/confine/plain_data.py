"""Writes plain data as text and reads it back. Nothing else leaves a confined process.

Plain data are None, bool, int, float, complex, str, bytes, list, tuple, dict, set and frozenset,
nested. An instance of a subclass is sent as the builtin value that it holds, without its own
``__eq__``. The text is JSON; types that JSON lacks are lists that begin with a tag. Reading builds
builtin objects and nothing else.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

MAX_DEPTH = 100
MAX_CHARS = 8_000_000  # length of the text of one value
_DECIMAL_DIGITS = 4_000  # Python refuses to read or write longer integers in decimal
_COLLIDING = 64  # keys of a set or dict that may share a hash; with more, it takes quadratic time

# packed values are trees, so nothing in them contains itself
_ENCODER = json.JSONEncoder(separators=(",", ":"), check_circular=False)

Extend = Callable[[Any], list[Any] | None]


class NotData(ValueError):
    """A value is not plain data, or a text does not hold plain data."""


def dumps(value: Any, extend: Extend | None = None) -> str:
    """The text of a value.

    ``extend`` may return a tagged list for an object that is not plain data, or None. Raises
    :class:`NotData` for any other object, a cycle, more than 100 levels or 8,000,000 characters.
    """
    text = _ENCODER.encode(_pack(value, MAX_DEPTH, extend))
    if len(text) > MAX_CHARS:
        raise NotData(f"a value of {len(text)} characters; at most {MAX_CHARS} are allowed")
    return text


def loads(text: str, extend: Callable[[list[Any]], Any] | None = None) -> Any:
    """The value of a text. Raises :class:`NotData` for anything that :func:`dumps` does not write.

    ``extend`` reads tagged lists of its counterpart. It raises :class:`NotData` for unknown ones.
    """
    if len(text) > MAX_CHARS:
        raise NotData(f"a value of {len(text)} characters; at most {MAX_CHARS} are allowed")
    try:
        packed = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotData(f"not a value: {type(error).__name__}") from None
    return _unpack(packed, MAX_DEPTH, extend)


def _pack(value: Any, depth: int, extend: Extend | None) -> Any:
    kind = type(value)
    if value is None or kind is bool or kind is str or kind is float:
        return value
    if kind is int:
        return value if value.bit_length() < 3 * _DECIMAL_DIGITS else ["i", hex(value)]
    if depth == 0:
        raise NotData(f"more than {MAX_DEPTH} levels, or a cycle")
    if kind is list:
        return ["l", *[_pack(item, depth - 1, extend) for item in value]]
    if kind is tuple:
        return ["t", *[_pack(item, depth - 1, extend) for item in value]]
    if kind is dict:
        packed: list[Any] = ["d"]
        for key, item in value.items():
            packed.append(_pack(key, depth - 1, extend))
            packed.append(_pack(item, depth - 1, extend))
        return packed
    if kind is set or kind is frozenset:
        return ["s" if kind is set else "z", *[_pack(item, depth - 1, extend) for item in value]]
    if kind is bytes:
        return ["b", value.hex()]
    if kind is complex:
        return ["c", value.real, value.imag]
    if extend is not None:
        extended = extend(value)
        if extended is not None:
            return extended
    return _pack(to_builtin(value), depth - 1, extend)


_REAL = complex.real.__get__
_IMAGINARY = complex.imag.__get__
# These read the value of an instance of a subclass without calling a method that it overrides.
_READERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (int, int.__index__),
    (float, float.__float__),
    (complex, lambda value: complex(_REAL(value), _IMAGINARY(value))),
    (str, str.__str__),
    (bytes, lambda value: bytes.__getitem__(value, slice(None))),
    (bytearray, lambda value: bytes(bytearray.__getitem__(value, slice(None)))),
    (list, lambda value: list.__getitem__(value, slice(None))),
    (tuple, lambda value: tuple.__getitem__(value, slice(None))),
    (dict, lambda value: dict(dict.items(value))),
    (set, lambda value: set(set.__iter__(value))),
    (frozenset, lambda value: frozenset(frozenset.__iter__(value))),
)


def to_builtin(value: Any) -> Any:
    """The builtin value of an instance of a builtin type or of a subclass of one.

    A bytearray becomes bytes, and a numpy scalar a Python number. Raises :class:`NotData` for any
    other object.
    """
    kind = type(value)  # isinstance would believe a false __class__
    for base, read in _READERS:
        if issubclass(kind, base):
            return read(value)
    numpy = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, (numpy.bool_, numpy.number)):
        return value.item()
    raise NotData(f"an object of type {kind.__name__!r} is not plain data")


def check_keys(keys: Sequence[Any]) -> None:
    """Raise :class:`NotData` if a set of these keys would take quadratic time, or cannot be hashed."""
    try:
        hashes = Counter(map(hash, keys))
    except TypeError as error:
        raise NotData(f"not a value: {error}") from None
    if len(keys) > _COLLIDING and max(hashes.values()) > _COLLIDING:
        raise NotData("keys chosen to collide")


def _unpack(packed: Any, depth: int, extend: Callable[[list[Any]], Any] | None) -> Any:
    if not isinstance(packed, list):
        if isinstance(packed, dict):
            raise NotData("not a value: a JSON object")
        return packed
    if depth == 0:
        raise NotData(f"more than {MAX_DEPTH} levels")
    if not packed or not isinstance(packed[0], str):
        raise NotData("not a value: a list without a tag")
    tag, count = packed[0], len(packed)
    if tag in ("l", "t", "s", "z", "d"):
        items = [_unpack(item, depth - 1, extend) for item in packed[1:]]
        if tag == "l":
            return items
        if tag == "t":
            return tuple(items)
        keys = items[::2] if tag == "d" else items
        check_keys(keys)
        if tag == "d":
            if len(keys) * 2 != len(items):
                raise NotData("not a value: a key without its item")
            return dict(zip(keys, items[1::2], strict=True))
        return set(items) if tag == "s" else frozenset(items)
    try:
        if tag == "i" and count == 2:
            return int(packed[1], 16)
        if tag == "b" and count == 2:
            return bytes.fromhex(packed[1])
        if tag == "c" and count == 3:
            return complex(packed[1], packed[2])
    except (TypeError, ValueError, OverflowError):
        raise NotData(f"not a value: {tag!r} with wrong contents") from None
    if extend is not None:
        return extend(packed)
    raise NotData(f"not a value: tag {tag[:20]!r}")
