"""What the fakes pretend to solve, each with a right and a wrong solution as controls.

Nearly all ask for ``running_sum(numbers)``, tested in the ways that data sets test.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class CodingTask:
    name: str
    mode: Literal["check", "calls", "stdio"]
    right: str
    wrong: str
    tests: str = ""
    entry_point: str | None = None
    cases: tuple[Any, ...] = ()  # (function, args, expected) or (stdin, expected)


RIGHT = """
def running_sum(numbers):
    sums, total = [], 0
    for number in numbers:
        total += number
        sums.append(total)
    return sums
"""

WRONG = """
def running_sum(numbers):
    return list(numbers)
"""

LITERAL = """
def check(candidate):
    assert candidate([1, 2, 3]) == [1, 3, 6]
    assert candidate([5, -5, 7]) == [5, 0, 7]
    assert candidate([2, 2]) == [2, 4]
"""

COMPUTED = """
def check(candidate):
    cases = [([1, 2, 3], [1, 3, 6]), ([5, -5, 7], [5, 0, 7]), ([2, 2], [2, 4])]
    for numbers, expected in cases:
        got = candidate(numbers)
        assert len(got) == len(expected)
        assert all(abs(a - b) < 1e-9 for a, b in zip(got, expected))
"""

MAPPED = """
def check(candidate):
    cases = [([1, 2, 3], [1, 3, 6]), ([5, -5, 7], [5, 0, 7]), ([2, 2], [2, 4])]
    assert all(map(lambda case: candidate(case[0]) == case[1], cases))
"""

DECIMALS_RIGHT = """
from decimal import Decimal


def running_sum(numbers):
    return sum(map(Decimal, numbers))
"""

DECIMALS = """
from decimal import Decimal


def check(candidate):
    assert candidate(["1", "2.5"]) == Decimal("3.5")
    assert [candidate(["5", "-5", "7.25"])] == [Decimal("7.25")]
    assert Decimal("0.3") <= candidate(["0.1", "0.2"]) <= Decimal("0.3")
"""

UNITTEST = """
import unittest


class TestRunningSum(unittest.TestCase):
    def test_short(self):
        self.assertEqual(running_sum([1, 2, 3]), [1, 3, 6])

    def test_negative(self):
        self.assertEqual(running_sum([5, -5, 7]), [5, 0, 7])

    def test_type(self):
        self.assertIsInstance(running_sum([2, 2]), list)
        self.assertTrue(running_sum([2, 2])[1] == 4)
"""

ARRAYS = """
import numpy as np


def check(candidate):
    assert np.allclose(candidate([1, 2, 3]), [1, 3, 6])
    assert (np.array([5, 0, 7]) == candidate([5, -5, 7])).all()
    assert np.array_equal(candidate([2, 2]), [2, 4])
"""

SETS_RIGHT = RIGHT.replace("return sums", "return set(sums)")

SETS = """
import unittest


class TestRunningSum(unittest.TestCase):
    def test_short(self):
        self.assertSetEqual(running_sum([1, 2, 3]), {1, 3, 6})

    def test_negative(self):
        self.assertSetEqual(running_sum([5, -5, 7]), {0, 5, 7})
"""

PATCHED = """
import unittest
from unittest import mock


class TestRunningSum(unittest.TestCase):
    def test_short(self):
        with mock.patch("time.time", return_value=1):
            self.assertEqual(running_sum([1, 2, 3]), [1, 3, 6])

    def test_negative(self):
        self.assertEqual(running_sum([5, -5, 7]), [5, 0, 7])
"""

CALLBACK_RIGHT = """
def running_sum(function, numbers):
    total, sums = 0, []
    for number in numbers:
        total += function(number)
        sums.append(total)
    return sums
"""

CALLBACK_WRONG = """
def running_sum(function, numbers):
    return [function(number) for number in numbers]
"""

CALLBACK = """
CASES = [([1, 2, 3], [2, 5, 9]), ([5, -5, 7], [6, 2, 10]), ([2, 2], [3, 6])]


def increase(number):
    return number + 1


def check(candidate):
    for numbers, expected in CASES:
        assert candidate(increase, numbers) == expected
"""

STACK_RIGHT = """
class Stack:
    def __init__(self):
        self.items = []

    def push(self, item):
        self.items.append(item)

    def pop(self):
        if not self.items:
            raise IndexError("empty")
        return self.items.pop()

    def is_empty(self):
        return not self.items
"""

STACK_WRONG = STACK_RIGHT.replace("self.items.pop()", "self.items.pop(0)")

STACK_TESTS = """
import unittest


class TestStack(unittest.TestCase):
    def test_order(self):
        stack = Stack()
        stack.push(1)
        stack.push(2)
        self.assertEqual(stack.pop(), 2)
        self.assertEqual(stack.pop(), 1)

    def test_empty(self):
        stack = Stack()
        self.assertTrue(stack.is_empty())
        stack.push("a")
        self.assertFalse(stack.is_empty())

    def test_pop_of_empty(self):
        with self.assertRaises(IndexError):
            Stack().pop()
"""

STDIO_RIGHT = """
total = 0
for word in input().split():
    total += int(word)
    print(total)
"""


def _running_sum(name: str, tests: str, right: str = RIGHT, wrong: str = WRONG) -> CodingTask:
    """A task whose tests check the function ``running_sum``."""
    return CodingTask(
        name=name, mode="check", right=right, wrong=wrong, tests=tests, entry_point="running_sum"
    )


TASKS: dict[str, CodingTask] = {
    task.name: task
    for task in (
        _running_sum("literal", LITERAL),
        _running_sum("computed", COMPUTED),
        _running_sum("mapped", MAPPED),
        _running_sum("callback", CALLBACK, CALLBACK_RIGHT, CALLBACK_WRONG),
        _running_sum("arrays", ARRAYS),
        CodingTask(
            name="sets",
            mode="check",
            right=SETS_RIGHT,
            wrong=WRONG.replace("list(", "set("),
            tests=SETS,
        ),
        _running_sum(
            "decimals", DECIMALS, DECIMALS_RIGHT, DECIMALS_RIGHT.replace("sum(map", "max(map")
        ),
        CodingTask(name="patched", mode="check", right=RIGHT, wrong=WRONG, tests=PATCHED),
        CodingTask(name="unittest", mode="check", right=RIGHT, wrong=WRONG, tests=UNITTEST),
        CodingTask(
            name="class", mode="check", right=STACK_RIGHT, wrong=STACK_WRONG, tests=STACK_TESTS
        ),
        CodingTask(
            name="calls",
            mode="calls",
            right=RIGHT,
            wrong=WRONG,
            cases=(
                ("running_sum", [[1, 2, 3]], [1, 3, 6]),
                ("running_sum", [[5, -5, 7]], [5, 0, 7]),
                ("running_sum", [[0.5, 0.25]], [0.5, 0.75]),
            ),
        ),
        CodingTask(
            name="stdio",
            mode="stdio",
            right=STDIO_RIGHT,
            wrong="print(input())",
            cases=(("1 2 3\n", "1\n3\n6\n"), ("5 -5 7\n", "5\n0\n7\n")),
        ),
    )
}
