"""Plain data as text and back: exact types, no behaviour of subclasses, bounded sizes."""

from __future__ import annotations

import collections
import enum
import json
import math

import pytest

from llmzoo.sandbox.confine.plain_data import (
    MAX_CHARS,
    MAX_DEPTH,
    NotData,
    dumps,
    loads,
    to_builtin,
)


def same(value):
    """Equal, and of the same types all the way down."""
    result = loads(dumps(value))
    assert repr(result) == repr(value)
    assert type(result) is type(value)
    return result


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, False, 0, -1, 2**70, -(2**70)),
        *(0.0, -0.0, 1.5, 1e308, math.inf, -math.inf, math.nan, 3j, complex(-0.0, math.inf)),
        *("", "é\n\0\u2028", "\ud800", b"", b"\x00\xff", (), [], {}, set(), frozenset()),
        *([1, [2, (3, {"a": {4}})]], (1,), [True, 1, 1.0], {(1, "x"): [None]}, {1: 2, "1": 3}),
        *([["l", 1], ["t"], "l"], {None: b"b", 1.5: 2j}, {frozenset({1}): {frozenset()}}),
    ],
)
def test_round_trip(value):
    same(value)


def test_integers_too_long_for_decimal():
    for value in (10**3000, 10**5000, -(10**5000), 2**100_000):
        result = loads(dumps([value]))
        assert result == [value]


def test_dictionaries_keep_their_order():
    assert list(loads(dumps({"b": 1, "a": 2, 3: 3}))) == ["b", "a", 3]


class Text(str):
    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __str__(self):
        return "lie"

    def __iter__(self):
        return iter("lie")

    def __len__(self):
        return 3


class Number(int):
    def __int__(self):
        return 9

    __index__ = __trunc__ = __abs__ = __int__

    def bit_length(self):
        return 0

    def __repr__(self):
        return "9"


class Real(float):
    def __float__(self):
        return 9.0

    def __repr__(self):
        return "9.0"


class Imaginary(complex):
    real = imag = 9.0


class Binary(bytes):
    def hex(self):
        return "09"

    def __bytes__(self):
        return b"9"

    def __iter__(self):
        return iter(b"9")

    def __buffer__(self, flags):
        return memoryview(b"9")


class Sequence(list):
    def __iter__(self):
        return iter([9])

    def __getitem__(self, index):
        return 9

    def __len__(self):
        return 1


class Row(tuple):
    def __iter__(self):
        return iter([9])

    def __getitem__(self, index):
        return 9


class Table(dict):
    def items(self):
        return [(9, 9)]

    def __iter__(self):
        return iter([9])

    keys = __iter__


class Group(set):
    def __iter__(self):
        return iter([9])


class Frozen(frozenset):
    def __iter__(self):
        return iter([9])


class Size(enum.IntEnum):
    BIG = 3


@pytest.mark.parametrize(
    ("value", "held"),
    [
        (Text("true"), "true"),
        (Number(5), 5),
        (Real(5.5), 5.5),
        (Imaginary(1, 2), 1 + 2j),
        (Binary(b"xy"), b"xy"),
        (Sequence([1, Number(2)]), [1, 2]),
        (Row((1, Text("a"))), (1, "a")),
        (Table({Text("k"): Sequence([1])}), {"k": [1]}),
        (Group({1, 2}), {1, 2}),
        (Frozen({1}), frozenset({1})),
        (Size.BIG, 3),
        (collections.OrderedDict(a=1), {"a": 1}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (collections.namedtuple("Point", "x y")(1, 2), (1, 2)),
        (bytearray(b"ab"), b"ab"),
    ],
)
def test_subclasses_cross_as_what_they_hold(value, held):
    result = loads(dumps([value]))[0]
    assert type(result) is type(held)
    assert repr(result) == repr(held)
    # nested, and as a key
    assert repr(loads(dumps((1, {"k": value})))) == repr((1, {"k": held}))


class Lying:
    """No integer, whatever it says of its class."""

    __class__ = property(lambda self: int)


def test_other_objects_do_not_cross():
    for value in (object(), Lying(), len, int, iter([]), range(3), ..., [object()]):
        with pytest.raises(NotData, match="not plain data"):
            dumps(value)
    with pytest.raises(NotData):
        to_builtin(Lying())


def test_cycles_and_depth():
    cycle: list = []
    cycle.append(cycle)
    with pytest.raises(NotData, match="cycle"):
        dumps(cycle)
    nested: list = []
    for _ in range(MAX_DEPTH - 1):
        nested = [nested]
    same(nested)
    with pytest.raises(NotData, match="levels"):
        dumps([nested])
    with pytest.raises(NotData, match="levels"):
        loads('["l",' * (MAX_DEPTH + 1) + "1" + "]" * (MAX_DEPTH + 1))
    with pytest.raises(NotData):
        loads("[" * 100_000)


def test_sizes():
    assert loads(dumps("x" * 1000)) == "x" * 1000
    with pytest.raises(NotData, match="at most"):
        dumps("x" * MAX_CHARS)
    with pytest.raises(NotData, match="at most"):
        loads('"' + "x" * MAX_CHARS + '"')
    with pytest.raises(NotData):
        loads("1" * 100_000)  # more digits than Python reads in decimal


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "{}", '{"a": 1}', "[]", "[1]", "[[]]", '["?"]', '["x", 1]', "nul", "[1,]"),
        *('["i"]', '["i", "zz"]', '["i", 5]', '["b", "0"]', '["b", 1]', '["b", null]'),
        *('["c", 1]', '["c", "1", "2"]', '["c", null, 1]', '["c", 1e999, []]'),
        *('["d", 1]', '["d", ["l"], 1]', '["s", ["l"]]', '["z", ["d"]]', '["l", {}]', "5 6"),
        f'["c", {"9" * 400}, 1]',
    ],
)
def test_what_dumps_does_not_write_is_refused(text):
    with pytest.raises(NotData):
        loads(text)


def test_keys_that_collide_are_refused():
    modulus = 2**61 - 1  # the hash of an integer is its remainder
    keys = [str(modulus * i) for i in range(1, 70)]
    with pytest.raises(NotData, match="collide"):
        loads('["s",' + ",".join(keys) + "]")
    others = [str(i) for i in range(2000)]  # most keys may be well-behaved
    pairs = ",".join(f"{key},0" for key in keys + others)
    with pytest.raises(NotData, match="collide"):
        loads(f'["d",{pairs}]')
    same(set(range(-1000, 1000)))
    same({float(i): i for i in range(100)})


def test_extensions_on_both_sides():
    class Handle:
        pass

    def extend(value):
        return ["h", 7] if isinstance(value, Handle) else None

    def read(tagged):
        if tagged == ["h", 7]:
            return "handle"
        raise NotData("unknown")

    text = dumps([Handle(), {"k": Handle()}, Number(1)], extend)
    assert loads(text, read) == ["handle", {"k": "handle"}, 1]
    with pytest.raises(NotData):
        loads(text)
    with pytest.raises(NotData, match="unknown"):
        loads(json.dumps(["h", 8]), read)
