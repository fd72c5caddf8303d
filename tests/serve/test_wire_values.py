"""Values go over the wire as what they are, or not at all."""

from __future__ import annotations

import math
import random
from datetime import date

import numpy as np
import pytest

from llmzoo.serve import protobuf_values
from llmzoo.serve.generated import environments_pb2 as pb


def there_and_back(value):
    message = pb.Value()
    protobuf_values.write(value, message)
    return protobuf_values.read(pb.Value.FromString(message.SerializeToString()))


def typed(value):
    """A value with the types of all that is in it, and the order of mappings."""
    if isinstance(value, dict):
        return [(typed(key), typed(held)) for key, held in value.items()]
    if isinstance(value, list):
        return [typed(held) for held in value]
    return type(value), value


PLAIN = [
    *(None, True, False, 0, 1, -1, 2**63 - 1, -(2**63), 0.0, 1.0, 0.1, 1e308, 5e-324, math.inf),
    *(
        "",
        "a",
        "Größe 漢字 🙂 \x00\u202e",
        b"",
        b"\xff\x00",
        [],
        {},
        [[]],
        {"a": {}},
        [None, [True, 1]],
    ),
    {"b": 1, "a": [1.0, "1", b"1", 1, True, None], "": {"c": {"d": []}}},
    *({"b": 1.0, "a": -0.0}, {"b": 1.0, "a": 1}, {"b": 1.0, 2: 1.0}, {"": 0.5}, {"a": math.inf}),
    {1: "int", True + 1: "two", None: 0, 1.5: "x", b"k": "y", "1": "text"},
]


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_a_plain_value_comes_back_as_it_was(value):
    assert typed(there_and_back(value)) == typed(value)


def test_bools_and_ints_are_never_taken_for_each_other():
    assert typed(there_and_back([True, 1, 1.0, False, 0, 0.0])) == [
        *((bool, True), (int, 1), (float, 1.0), (bool, False), (int, 0), (float, 0.0))
    ]


def test_the_sign_of_nothing_and_what_is_no_number():
    assert math.copysign(1, there_and_back(-0.0)) == -1
    assert math.isnan(there_and_back(math.nan))


@pytest.mark.parametrize("bits", [63, 64, 65, 127, 128, 20_000])
def test_integers_of_any_size(bits):
    for number in (2**bits, -(2**bits), 2**bits - 1, -(2**bits) - 1, 255 << bits):
        assert there_and_back(number) == number


def test_text_with_lone_surrogates():
    for text in ("\ud800", "a\udfff", "\ud83d \ude42"):
        assert there_and_back(text) == text
        assert there_and_back({text: text}) == {text: text}
        assert there_and_back({"a": 1.0, text: 2.0}) == {"a": 1.0, text: 2.0}


def test_tuples_become_lists_and_subclasses_what_they_are_made_of():
    class Word(str):
        pass

    assert typed(there_and_back(((1, 2), Word("x")))) == typed([[1, 2], "x"])


def test_scalars_of_numpy_become_pythons():
    received = there_and_back([np.bool_(True), np.int8(-3), np.uint64(2**64 - 1), np.float32(0.5)])
    assert typed(received) == typed([True, -3, 2**64 - 1, 0.5])


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6, dtype=np.int16).reshape(2, 3),
        np.array([[0.1], [np.inf]], dtype=np.float32),
        np.array([], dtype=np.float64),
        np.array(7),
        np.array([True, False]),
        np.arange(4, dtype=">i4"),
        np.arange(12).reshape(3, 4).T,  # not as memory lies
        np.array([1 + 2j]),
    ],
    ids=lambda a: f"{a.dtype}{a.shape}",
)
def test_arrays_of_numbers_stay_arrays(array):
    received = there_and_back(array)
    assert (received.dtype, received.shape) == (array.dtype, array.shape)
    assert np.array_equal(received, array)
    assert received.flags.writeable  # a copy of one's own


@pytest.mark.parametrize(
    ("value", "named"),
    [
        ({1, 2}, "builtins.set"),
        (object(), "builtins.object"),
        (date(2025, 1, 1), "datetime.date"),
        (lambda: 0, "builtins.function"),
        (np.array([object()]), "numpy.ndarray"),
        (np.array(["text"]), "numpy.ndarray"),
        (np.zeros(1, dtype=[("a", int)]), "numpy.ndarray"),
        (1j, "builtins.complex"),
        ({"a": [{"b": {3}}]}, r"\['a'\]: \['b'\]: a value of type builtins.set"),
        ({(1, 2): 3}, "a key of type tuple"),
    ],
    ids=lambda value: str(type(value)),
)
def test_a_value_that_cannot_be_sent_is_refused_by_type(value, named):
    with pytest.raises(protobuf_values.UntypedError, match=named):
        there_and_back(value)


def test_depth_has_an_end_on_both_sides():
    value: list = []
    for _ in range(protobuf_values.MAX_DEPTH - 1):
        value = [value]
    assert there_and_back(value) == value
    with pytest.raises(protobuf_values.UntypedError, match="deep"):
        there_and_back([[value]])


def test_a_mapping_in_itself_ends():
    value: dict = {}
    value["self"] = value
    with pytest.raises(protobuf_values.UntypedError, match="deep"):
        there_and_back(value)


def test_an_array_of_objects_is_not_read():
    for dtype in ("O", "|O8", "V8", "f4,f4", "U1", "M8[s]"):
        message = pb.Value(array=pb.Array(dtype=dtype, shape=[1], data=b"\0" * 8))
        with pytest.raises(ValueError, match="does not hold numbers"):
            protobuf_values.read(message)


def test_a_value_of_no_kind_is_not_taken_for_nothing():
    with pytest.raises(ValueError, match="without a kind"):
        protobuf_values.read(pb.Value())


def test_any_nest_of_values():
    rng = random.Random(0)

    def nest(depth):
        kind = rng.randrange(8 if depth else 6)
        if kind == 6:
            return [nest(depth - 1) for _ in range(rng.randrange(4))]
        if kind == 7:
            return {rng.choice("abcdefgh"): nest(depth - 1) for _ in range(rng.randrange(4))}
        return rng.choice([None, True, rng.getrandbits(80), rng.random(), "é", b"\x80", -1, False])

    for _ in range(300):
        value = nest(4)
        assert typed(there_and_back(value)) == typed(value)


def test_chance_goes_on_where_it_was():
    rng = random.Random(3)
    rng.gauss(0, 1)  # leaves a second one for later
    message = pb.Chance()
    protobuf_values.write_rng_state(rng, message)
    received = protobuf_values.read_rng_state(pb.Chance.FromString(message.SerializeToString()))
    assert [received.gauss(0, 1), received.random(), received.getrandbits(100)] == [
        *(rng.gauss(0, 1), rng.random(), rng.getrandbits(100))
    ]
    with pytest.raises(ValueError, match="vector"):
        protobuf_values.read_rng_state(pb.Chance(words=[1, 2, 3]))
