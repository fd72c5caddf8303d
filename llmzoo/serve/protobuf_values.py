"""Converts Python values to typed protobuf messages and back.

Booleans, integers of any size, floats (bit for bit) and strings (with any code points) keep their
types. numpy scalars become Python scalars, numpy arrays stay arrays, and tuples become lists. Any
other value raises :class:`UntypedError`; nothing is pickled.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from llmzoo.serve.generated import environments_pb2 as pb

MAX_DEPTH = 24  # levels of nested lists and mappings; protobuf parses at most 100 nested messages
_FLOATS, _STRINGS = {float}, {str}
_DTYPE_KINDS = "biufc"  # numpy's kinds for bools and numbers
_DTYPE = re.compile(rf"[<>|=]?[{_DTYPE_KINDS}]\d{{1,2}}")


class UntypedError(TypeError):
    """A value of a type that no message can hold."""


def write(value: Any, into: pb.Value, depth: int = 0) -> None:
    """Write a value to an empty message. Raises :class:`UntypedError`."""
    kind = type(value)
    if kind is str:
        _write_text(value, into)
    elif value is None:
        into.null = True
    elif kind is bool:
        into.flag = value
    elif kind is int:
        _write_integer(value, into)
    elif kind is float:
        into.real = value
    elif depth >= MAX_DEPTH:
        raise UntypedError(f"a value is nested more than {MAX_DEPTH} lists or mappings deep")
    elif kind is dict or isinstance(value, Mapping):
        if not _write_reals(value, into):
            into.map.SetInParent()
            write_entries(value, into.map.entries, depth + 1)
    elif isinstance(value, list | tuple):
        into.list.SetInParent()
        items = into.list.items
        for item in value:
            write(item, items.add(), depth + 1)
    elif isinstance(value, str):
        _write_text(str(value), into)
    elif isinstance(value, bool | np.bool_):
        into.flag = bool(value)
    elif isinstance(value, int | np.integer):
        _write_integer(int(value), into)
    elif isinstance(value, float | np.floating):
        into.real = float(value)
    elif isinstance(value, bytes | bytearray):
        into.data = bytes(value)
    elif isinstance(value, np.ndarray) and value.dtype.kind in _DTYPE_KINDS:
        into.array.dtype = value.dtype.str
        into.array.shape.extend(value.shape)
        into.array.data = value.tobytes()
    else:
        raise UntypedError(f"a value of type {kind.__module__}.{kind.__qualname__} cannot be sent")


def write_entries(values: Mapping[Any, Any], into: Any, depth: int = 0) -> None:
    """Write a mapping to an empty repeated field of entries, in order."""
    for key, value in values.items():
        entry = into.add()
        if type(key) is str:
            _write_key(key, entry)
        elif key is None or isinstance(key, str | bool | int | float | bytes | np.generic):
            write(key, entry.other_key, depth)
        else:
            raise UntypedError(f"a key of type {type(key).__qualname__} cannot be sent")
        try:
            write(value, entry.value, depth)
        except UntypedError as error:
            raise UntypedError(f"[{key!r:.60}]: {error}") from None


def read(message: pb.Value) -> Any:
    """The value of a message. Raises ``ValueError`` if the message has none."""
    kind = message.WhichOneof("kind")
    if kind == "text":
        return message.text
    if kind == "real":
        return message.real
    if kind == "null":
        return None
    if kind == "flag":
        return message.flag
    if kind == "integer":
        return message.integer
    if kind == "reals":
        return dict(zip(message.reals.keys, message.reals.values, strict=True))
    if kind == "map":
        return read_entries(message.map.entries)
    if kind == "list":
        return [read(item) for item in message.list.items]
    if kind == "data":
        return message.data
    if kind == "big_integer":
        return int.from_bytes(message.big_integer, "little", signed=True)
    if kind == "loose_text":
        return message.loose_text.decode("utf-8", "surrogatepass")
    if kind == "array":
        return _read_array(message.array)
    raise ValueError("a value without a kind, or of a kind that only a newer llmzoo knows")


def read_entries(entries: Iterable[pb.Entry]) -> dict[Any, Any]:
    return {
        read(entry.other_key) if entry.HasField("other_key") else entry.key: read(entry.value)
        for entry in entries
    }


def to_map(values: Mapping[str, Any]) -> pb.Map:
    message = pb.Map()
    write_entries(values, message.entries)
    return message


def write_rng_state(rng: random.Random, message: pb.Chance) -> None:
    _, words, gauss = rng.getstate()
    message.words.extend(words)
    if gauss is not None:
        message.gauss = gauss


def read_rng_state(message: pb.Chance) -> random.Random:
    """The random generator stored in a message. Raises ``ValueError`` for an invalid state."""
    rng = random.Random()
    gauss = message.gauss if message.HasField("gauss") else None
    rng.setstate((rng.VERSION, tuple(message.words), gauss))
    return rng


def _write_reals(values: Mapping[Any, Any], into: pb.Value) -> bool:
    """Write a mapping of strings to floats compactly. Returns False for other mappings."""
    if {*map(type, values.values())} != _FLOATS or {*map(type, values)} != _STRINGS:
        return False
    try:
        into.reals.keys.extend(values)
    except UnicodeEncodeError:
        return False
    into.reals.values.extend(values.values())
    return True


def _write_text(text: str, into: pb.Value) -> None:
    try:
        into.text = text
    except UnicodeEncodeError:  # a lone surrogate
        into.loose_text = text.encode("utf-8", "surrogatepass")


def _write_key(key: str, entry: pb.Entry) -> None:
    try:
        entry.key = key
    except UnicodeEncodeError:
        _write_text(key, entry.other_key)


def _write_integer(number: int, into: pb.Value) -> None:
    if -(2**63) <= number < 2**63:
        into.integer = number
    else:
        into.big_integer = number.to_bytes(number.bit_length() // 8 + 1, "little", signed=True)


def _read_array(array: pb.Array) -> np.ndarray:
    # accept arrays of numbers only, not of objects
    if _DTYPE.fullmatch(array.dtype) is None:
        raise ValueError(f"an array of dtype {array.dtype[:60]!r} does not hold numbers")
    dtype = np.dtype(array.dtype)
    return np.frombuffer(array.data, dtype).reshape(tuple(array.shape)).copy()
