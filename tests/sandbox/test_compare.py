"""Comparing outputs and values: where a tolerance applies, and where none does."""

from __future__ import annotations

import pytest

from llmzoo.sandbox.judge.compare import outputs_equal, values_equal


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("0.5", "0.5000001"),
        ("0.333333333", "0.3333333"),
        ("2.50", "2.5"),
        ("2.5", "+2.5"),
        ("1234567.5", "1234567.9"),  # within 1e-6 of it
        ("0.0", "0"),
        ("-0.0", "0.0"),
        ("3.0", "3"),
        ("1.5e3", "1500"),
        ("1e-7", "1.0e-7"),
        (".5", "0.5"),
        ("nan", "nan"),
        ("1e999", "1e999"),
        ("a  b\n", "a b"),
        ("20", "20.0"),
        ("-20", "-20.00"),
        ("7", "7."),
        ("0", "-0.0"),
        ("100000", "100000.0"),
        ("9" * 30, "9" * 30 + ".0"),
    ],
)
def test_outputs_that_are_the_same(expected, got):
    assert outputs_equal(expected, got, "tokens")


@pytest.mark.parametrize(
    ("expected", "got"),
    [
        ("9" * 310, "1e999"),
        ("9" * 310, "inf"),
        ("123456789012345", "1.234567e14"),
        ("123456789012345", "123456700000000.0"),
        ("100000", "1e5"),
        ("100000", "100_000"),
        ("20", "20.5"),
        ("20", "20.0000001"),
        ("20", "-20.0"),
        ("20", "020.0"),
        ("05", "5.0"),
        ("20", "20.0x"),
        ("20", "２０.0"),
        ("20", ".0"),
        ("16", "0x10"),
        ("3", "３"),
        ("3", "03"),
        ("3.5", "３.５"),
        ("1000.5", "1_000.5"),
        ("3.5", "inf"),
        ("3.5", "nan"),
        ("0.5", "1/2"),
        ("1.0e400", "1.0e500"),
        ("1.0e400", "inf"),
        ("inf", "1e999"),
        ("nan", "NaN"),
        ("1.5", "1.5" + "0" * 10_000),
        ("0.5", "0.5 0.5"),
        ("v1.0", "v1.00"),
    ],
)
def test_outputs_that_differ(expected, got):
    assert not outputs_equal(expected, got, "tokens")


@pytest.mark.parametrize(
    ("expected", "got", "alike"),
    [
        (0.5, 0.5000001, True),
        (3.0, 3, True),
        (3, 3.0, True),
        (3, 3.0000001, False),  # a whole number has no tolerance
        (10**15, 1e15 + 1e8, False),
        (10**15, 1e15, True),
        (10**400, float("inf"), False),
        (1.0, 10**400, False),
        (float("inf"), 10**400, False),
        (float("inf"), float("inf"), True),
        (float("nan"), float("nan"), True),
        (True, 1.0000001, False),
        ([1, 0.5], [1, 0.50000001], True),
        ([1, 0.5], (1, 0.5), False),
        ({"a": 2}, {"a": 2.0000001}, False),
        (1 + 2j, 1 + 2.0000001j, True),
        (1 + 2j, complex("inf"), False),
        (1 + 2j, 10**400, False),
        (1 + 2j, complex(-1.7e308, 1.7e308), False),
        (complex(-1.7e308, 1.7e308), complex(-1.7e308, 1.7e308), True),
        (complex("inf"), 1 + 0j, False),
        (complex("inf"), complex("inf"), True),
        (complex("inf"), 10**400, False),
        (complex("nan"), complex("nan"), True),
        (complex("nan"), 1, False),
    ],
)
def test_values(expected, got, alike):
    assert values_equal(expected, got) is alike


NUMBERS = [
    part(size)
    for size in (0.0, 1.5, 1.7e308, float("inf"), float("nan"))
    for part in (float, lambda x: -x, complex, lambda x: complex(-x, x), lambda x: complex(1, x))
] + [True, 0, 1, -3, 10**400, -(10**400)]


def test_every_number_can_be_compared_with_every_other():
    for n, expected in enumerate(NUMBERS):
        for m, got in enumerate(NUMBERS):
            if n == m:
                assert values_equal(expected, got), expected
                assert values_equal([expected], [got]), expected
            elif values_equal(expected, got):  # a number that stands here twice, such as 0.0 and 0j
                assert expected == got or (expected != expected and got != got), (expected, got)
