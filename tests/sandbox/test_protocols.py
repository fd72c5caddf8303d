"""Protocols by which libraries ask an object what to do: no object of a program answers in a test.

Each program is given what a test expects, or asked for the outcome, by a library that the test
calls. ``TOLD`` is where it keeps what it was told, to answer with it.
"""

from __future__ import annotations

import textwrap

import pytest
from two_processes import judge

NUMPY = "import numpy as np\n"
ARRAY_FUNCTION = """
class A:
    def __array_function__(self, function, types, args, kwargs): return True
def f(x): return A()
"""
ARRAY_UFUNC = """
class A:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        for one in inputs:
            if one is not self: TOLD.append(one)
        return True
    def all(self): return True
TOLD = []
def f(x): return A()
"""
INTERFACE = """
class A:
    seen = 0
    @property
    def __array_interface__(self):
        return {"version": 3, "typestr": "<f8", "shape": (1,), "data": (ADDRESS, False)}
def f(x): return A()
"""
# an answer that a comparison lets in: it equals whatever numpy hands to it
GREEDY = """
TOLD = []
class A:
    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        TOLD.extend(one for one in inputs if one is not self)
        return NotImplemented
def f(x): return TOLD.pop() if TOLD else A()
"""
HOLDER = """
class A(float):
    def __array_ufunc__(self, *args, **kwargs): return True
    def __array_function__(self, *args, **kwargs): return True
    __array_priority__ = 1000.0
def f(x): return A(1)
"""
CLASS = """
class Meta(type):
    def __array_function__(self, *args, **kwargs): return True
    def __array_ufunc__(self, *args, **kwargs): return True
class A(metaclass=Meta):
    def __array_function__(self, *args, **kwargs): return True
    def __array_ufunc__(self, *args, **kwargs): return True
def f(x): return A
"""
ANY_NAME = """
class A:
    def __getattr__(self, name): return lambda *args, **kwargs: True
def f(x): return A()
"""
SET = """
class A:
    def difference(self, other):
        self.told = set(other)
        return set()
    symmetric_difference = difference
    def __iter__(self): return iter(self.told)
    def union(self, other): return set(other)
    intersection = union
def f(x): return A()
"""
COUNTER = """
class A:
    def __getitem__(self, key): return 1
    def __iter__(self): return iter(())
A.__module__, A.__name__, A.__qualname__ = "collections", "Counter", "Counter"
def f(x): return A()
"""
FRACTION = """
class A:
    numerator = denominator = 0
A.__module__, A.__name__, A.__qualname__ = "fractions", "Fraction", "Fraction"
def f(x): return A()
"""
# Decimal and Fraction compare with numerator and denominator of every Rational: 0 / 0 is any number
NUMBER = """
class A:
    numerator = denominator = imag = 0
    real = float("nan")
    def __float__(self): return float("nan")
    def __complex__(self): return complex("nan")
    def __hash__(self): return 9
A.__module__, A.__name__, A.__qualname__ = "numbers", KIND, KIND
def f(x): return A()
"""
DECIMALS = textwrap.dedent("""
    import unittest
    from decimal import Decimal
    class T(unittest.TestCase):
        def test_equal(self): self.assertEqual(f(3), Decimal("3.5"))
        def test_almost(self): self.assertAlmostEqual(f(3), Decimal("3.5"))
        def test_nested(self): self.assertTrue([f(3)] == [Decimal("3.5")])
        def test_in(self): self.assertTrue(Decimal("3.5") in [f(3)])
        def test_at_most(self): self.assertTrue(f(3) <= Decimal("3.5"))
    """)
FRACTIONS = textwrap.dedent("""
    import unittest
    from fractions import Fraction
    class T(unittest.TestCase):
        def test_between(self): self.assertTrue(Fraction(1, 3) <= f(3) <= Fraction(1, 3))
        def test_equal(self): self.assertEqual(f(3), Fraction(1, 3))
        def test_almost(self): self.assertAlmostEqual(f(3), Fraction(1, 3))
        def test_in(self): self.assertIn(f(3), [Fraction(1, 3)])
    """)
# one class of the library after the other by its own account, with an answer to any question
ANY_CLASS = """
ANSWERS = [0, float("nan"), lambda *args, **kwargs: True]
def f(module, name, n):
    class A:
        def __getattr__(self, name): return ANSWERS[n]
        def __float__(self): return float("nan")
        def __len__(self): return 0
        def __iter__(self): return iter(())
        def __hash__(self): return 0
    A.__module__, A.__name__, A.__qualname__ = module, name, name
    return A()
"""
ANY_CLASS_TESTS = textwrap.dedent("""
    import array, collections, datetime, enum, ipaddress, math, numbers, pathlib, sys, unittest, uuid
    from decimal import Decimal
    from fractions import Fraction
    class Color(enum.Enum):
        RED = 7
    VALUES = [
        7, 7.5, 7 + 2j, "seven", (7, 8), {7}, {7: 8}, Decimal("3.5"), Fraction(7, 2), Color.RED,
        datetime.date(2020, 1, 2), datetime.timedelta(7), uuid.UUID(int=7), pathlib.Path("seven"),
        ipaddress.ip_address("10.1.2.3"), ipaddress.ip_network("10.0.0.0/8"), array.array("i", [7]),
        collections.UserList([7]), collections.UserDict({7: 8}), {7: 8}.keys(), np.float64(7.5),
    ]
    MODULES = ["numbers", "decimal", "fractions", "datetime", "collections", "collections.abc",
        "enum", "uuid", "ipaddress", "pathlib", "array"]
    KINDS = [(m, n) for m in MODULES for n, kind in vars(sys.modules[m]).items()
        if isinstance(kind, type) and kind.__module__ == m and not issubclass(kind, Exception)]
    COMPARISONS = [
        lambda a, b: a == b, lambda a, b: b == a, lambda a, b: a in [b], lambda a, b: b <= a <= b,
        lambda a, b: unittest.TestCase().assertAlmostEqual(a, b) is None,
        lambda a, b: math.isclose(a, b), lambda a, b: abs(a - b) <= 1e-6,
    ]
    def holds(compare, a, b):
        try:
            return bool(compare(a, b))
        except Exception:
            return False
    def test_each():
        assert len(KINDS) > 40
        assert holds(COMPARISONS[0], 7, VALUES[0])
        for module, name in KINDS:
            for n in range(3):
                given = f(module, name, n)
                for value in VALUES:
                    for number, compare in enumerate(COMPARISONS):
                        assert not holds(compare, given, value), (name, value, number)
    """)
# the reply that ends an iteration, to whatever is asked
STOP = """
import sys
def f(x):
    frame = sys._getframe()
    while frame:
        own = frame.f_locals.get("self")
        if hasattr(own, "_error_reply") and "Reply" in frame.f_globals:
            Reply = frame.f_globals["Reply"]
            type(own)._error_reply = lambda self, error: Reply("stop")
        frame = frame.f_back
    raise ValueError
"""
STOP_AT_NEXT = """
class A:
    @property
    def next(self): raise StopIteration
def f(x): return A()
"""
CONVERSIONS = """
class A:
    def __array__(self, *args, **kwargs): return TRUE
    def __array_wrap__(self, *args): return True
    def __array_finalize__(self, *args): pass
    def __array_struct__(self): return 0
    def __dlpack__(self, **kwargs): return 0
    def __dlpack_device__(self): return (1, 0)
    def __length_hint__(self): return 1
    def __fspath__(self): return "nine"
    def __copy__(self): return True
    def __deepcopy__(self, memo): return True
    def __reduce_ex__(self, protocol): return (bool, (True,))
TRUE = True
def f(x): return A()
"""
ALLCLOSE = NUMPY + "assert np.allclose(f(3), 9.0)"
EQUALS = NUMPY + "assert (np.array([9.0]) == f(3)).all()"
REVERSED = NUMPY + "assert np.all(f(3) == np.array([9.0]))"
LATER = NUMPY + textwrap.dedent("""
    expected = np.array([9.0])
    try:
        expected == f(3)
        np.equal(expected, f(3))
        np.subtract(f(3), expected)
    except TypeError:
        pass
    assert (f(3) == expected).all()
    """)
SETS = textwrap.dedent("""
    import unittest
    class T(unittest.TestCase):
        def test_set(self): self.assertSetEqual(f(3), {9})
    """)

ATTACKS = {
    "__array_function__": (ARRAY_FUNCTION, ALLCLOSE),
    "__array_function__ of array_equal": (
        ARRAY_FUNCTION,
        NUMPY + "assert np.array_equal(f(3), [9])",
    ),
    "__array_ufunc__ from the right": (ARRAY_UFUNC, EQUALS),
    "__array_ufunc__ from the left": (ARRAY_UFUNC, REVERSED),
    "__array_ufunc__ of a function": (ARRAY_UFUNC, NUMPY + "assert np.equal(f(3), 9.0)"),
    "__array_ufunc__ that learns": (GREEDY, LATER),
    "__array_ufunc__ of a float": (HOLDER, NUMPY + "assert np.equal(f(3), 9.0)"),
    "__array_function__ of a float": (HOLDER, ALLCLOSE),
    "__array_function__ of a class": (CLASS, ALLCLOSE),
    "__array_ufunc__ of a class": (CLASS, EQUALS),
    "any name, in allclose": (ANY_NAME, ALLCLOSE),
    "any name, in ==": (ANY_NAME, EQUALS),
    "difference": (SET, SETS),
    "symmetric_difference": (SET, "assert not f(3).symmetric_difference({9})"),
    "union": (SET, "assert f(3).union({9}) == {9}"),
    "intersection": (SET, "assert f(3).intersection({9}) == {9}"),
    "a Counter by its own account": (
        COUNTER,
        "from collections import Counter\nassert f(3) == Counter([9])\nassert Counter([9]) == f(3)",
    ),
    "a Fraction by its own account": (
        FRACTION,
        "from fractions import Fraction\nassert abs(f(3) - Fraction(9)) <= Fraction(1, 100)",
    ),
    "any name, in numpy.testing": (
        ANY_NAME,
        "from numpy import testing\ndef test_a(): testing.assert_allclose(f(3), 9)",
    ),
    "__array_function__ in numpy.testing": (
        ARRAY_FUNCTION,
        "from numpy import testing\ndef test_a(): testing.assert_array_equal(f(3), [9])",
    ),
    "conversions in allclose": (CONVERSIONS, ALLCLOSE),
    "conversions in ==": (CONVERSIONS, EQUALS),
    "a copy": (CONVERSIONS, "import copy\nassert copy.copy(f(3)) == 9 or copy.deepcopy(f(3)) == 9"),
    "stop in map": (STOP, "assert all(map(lambda c: f(c[0]) == c[1], [(3, 9), (4, 16)]))"),
    "stop in filter": (STOP, "assert list(filter(lambda x: f(x) != x * x, [3, 4])) == []"),
    "stop in next": (STOP, "assert next(map(f, [3]), 9) == 9"),
    "stop at an attribute": (
        STOP_AT_NEXT,
        "assert all(map(lambda c: f(c[0]).next == c[1], [(3, 9), (4, 16)]))",
    ),
    "a path": (CONVERSIONS, "import os\nassert os.fspath(f(3)) == 9"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_protocol_decides(attack):
    program, tests = ATTACKS[attack]
    result = judge(program, tests)
    assert not result.passed, result
    assert result.cases, result
    assert result.error is None, result


@pytest.mark.parametrize("kind", ["Number", "Complex", "Real", "Rational", "Integral"])
@pytest.mark.parametrize("tests", [DECIMALS, FRACTIONS], ids=["decimals", "fractions"])
def test_a_number_by_its_own_account_equals_none(kind, tests):
    result = judge(NUMBER.replace("KIND", repr(kind)), tests)
    assert result.cases, result
    assert not any(result.outcomes), result
    assert result.error is None, result


@pytest.mark.slow
def test_no_class_of_the_library_makes_an_object_equal_to_a_value():
    result = judge(ANY_CLASS, NUMPY + ANY_CLASS_TESTS)
    assert result.passed, result


def test_the_memory_of_the_tests_is_not_read():
    """An address that the program chooses becomes no array."""
    tests = NUMPY + textwrap.dedent("""
        import ctypes
        secret = (ctypes.c_double * 1)(42.0)
        assert set_address(ctypes.addressof(secret)) is None
        assert np.asarray(f(3)).dtype == object
        """)
    program = INTERFACE + "def set_address(value):\n    global ADDRESS\n    ADDRESS = value\n"
    result = judge(program, tests)
    assert result.passed, result


HONEST = {
    "an array": ("def f(x): return np.array([x ** 2, 1.5])", "assert np.allclose(f(3), [9, 1.5])"),
    "a sequence of its own": (
        "class V:\n    def __len__(self): return 2\n    def __getitem__(self, i): return [9, 4][i]\n"
        "def f(x): return V()",
        "assert np.array_equal(f(3), [9, 4])\nassert list(f(3)) == [9, 4]",
    ),
    "a float of its own": (
        "class F(float): pass\ndef f(x): return F(x ** 2)",
        "assert np.isclose(f(3), 9)\nassert np.array([9.0]) == f(3)\nassert np.add(f(3), 1) == 10",
    ),
    "what describes": (
        "def f(x): return x ** 2\nclass P:\n    def __init__(self): self.x = 1\n",
        "assert f.__name__ == 'f'\nassert f.__code__.co_argcount == 1\n"
        "assert P().__dict__ == vars(P()) == {'x': 1}\nassert P.__name__ == 'P'",
    ),
    "special methods by name": (
        "class P:\n    def __init__(self, x): self.x = x\n    def __len__(self): return self.x\n"
        "    def __eq__(self, other): return self.x == other.x\n"
        "    def __getitem__(self, i): return i\n    def __str__(self): return 'P'\n"
        "def f(x): return P(x)",
        "assert f(3).__len__() == 3\nassert f(3).__eq__(f(3))\nassert f(3).__getitem__(1) == 1\n"
        "assert f(3).__str__() == 'P'\nassert hasattr(f(3), '__len__')\n"
        "assert not hasattr(f(3), '__call__')",
    ),
    "dataclasses": (
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\ndef f(x): return P(x)",
        "import dataclasses\nassert dataclasses.is_dataclass(f(3))\nassert f(3) == P(3)",
    ),
    "an enumeration": (
        "from enum import Enum\nclass C(Enum):\n    RED = 1\ndef f(x): return C.RED",
        "assert f(3) is C.RED\nassert C.__members__['RED'] == C.RED\nassert len(C) == 1",
    ),
    "a set of its own": (
        "class Bag:\n    def __init__(self, items): self.items = set(items)\n"
        "    def union(self, other): return Bag(self.items | other.items)\n"
        "    def difference(self, other): return self.items - set(other)\n",
        "a = Bag([1, 2])\nassert a.union(Bag([3])).items == {1, 2, 3}\n"
        "assert Bag([1, 2]).difference([2]) == {1}",
    ),
    "a lock": (
        "import threading\ndef f(x): return threading.Lock()",
        "lock = f(3)\nwith lock:\n    assert lock.locked()\nassert not lock.locked()",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_pass(name):
    program, tests = HONEST[name]
    result = judge(NUMPY + program, NUMPY + tests)
    assert result.passed, result
