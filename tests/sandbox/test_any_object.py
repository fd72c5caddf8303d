"""An object that has every method which Python, numpy or unittest may ask for passes no test.

Each form below compares it with data in a way that tests are written in.
"""

from __future__ import annotations

import pytest
from two_processes import judge

KINDS = (int, float, complex, str, bytes, bytearray, list, dict, set, tuple, object, range)
MORE = """
__array_function__ __array_ufunc__ __array_interface__ __array_struct__ __array__ __array_wrap__
__array_finalize__ __array_priority__ __dlpack__ __buffer__ __dlpack_device__ __length_hint__
__fspath__ __radd__ __rsub__ __ror__ __copy__ __deepcopy__ __instancecheck__ __subclasscheck__
__call__ __next__ __matmul__ __missing__ __get__ __index__ __isub__ __ior__ __round__ all any sum
shape dtype ndim size astype tolist item data keys values _typ numerator denominator most_common
elements equals
"""
METHODS = {name for kind in KINDS for name in dir(kind)} | set(MORE.split())
# these make, name or describe a class, and must stay
KEPT = """
__class__ __new__ __init__ __getattribute__ __setattr__ __delattr__ __dict__ __doc__ __module__
__name__ __qualname__ __subclasses__ __repr__
"""
ANSWERS = {
    "yes": "    def method(self, *args, **kwargs): return True",
    "zero": "    def method(self, *args, **kwargs): return 0",
    "itself": "    def method(self, *args, **kwargs): return self",
    # keeps what it is told, and gives it back in the form that is asked for
    "what it is told": """
    def method(self, *args, **kwargs):
        TOLD.extend(arg for arg in args if not isinstance(arg, Any))
        told = TOLD[-1] if TOLD else 0
        items = told if hasattr(told, "__iter__") else []
        if name in ("__len__", "__length_hint__"): return len(items)
        if name in ("__hash__", "__index__", "__int__"): return told if type(told) is int else 0
        if name == "__float__": return float(told) if type(told) in (int, float) else 0.0
        if name in ("__bool__", "__contains__", "__eq__", "__le__", "__ge__"): return True
        if name == "__ne__": return False
        if name in ("__str__", "__format__"): return str(told)
        if name == "__iter__": return iter(items)
        if name in ("difference", "__sub__", "__rsub__", "__xor__", "__rxor__"): return set()
        return told""",
}
PROGRAM = """
TOLD = []
class Any: pass
def make(name):
{answer}
    return method
for name in {names!r}:
    try: setattr(Any, name, make(name))
    except (AttributeError, TypeError): pass
def f(x): return Any()
"""
IMPORTS = """
import collections, copy, datetime, decimal, fractions, functools, math, operator, statistics
import numpy as np
from numpy import testing
from unittest import TestCase
"""
FORMS = """
self.assertEqual(f(3), [9, 16]) // self.assertEqual([9, 16], f(3))
self.assertSequenceEqual(f(3), [9, 16]) // self.assertSequenceEqual([9, 16], f(3))
self.assertListEqual(f(3), [9, 16]) // self.assertTupleEqual(f(3), (9, 16))
self.assertSetEqual(f(3), {9, 16}) // self.assertSetEqual({9, 16}, f(3))
self.assertCountEqual(f(3), [9, 16]) // self.assertCountEqual([9, 16], f(3))
self.assertDictEqual(f(3), {9: 16}) // self.assertMultiLineEqual(f(3), "nine")
self.assertIn(9, f(3)) // self.assertIn(f(3), [9, 16]) // self.assertIs(f(3), 9)
self.assertAlmostEqual(f(3), 9.0) // self.assertAlmostEqual(9.0, f(3), delta=0.1)
self.assertGreater(f(3), 8) // self.assertLess(8, f(3)) // self.assertGreaterEqual(f(3), 8)
self.assertFalse({9, 16} - f(3)) // self.assertFalse({9, 16} ^ f(3)) // self.assertFalse(f(3) ^ {9})
self.assertIsInstance(f(3), (int, float, list, str, dict)) // self.assertRegex(f(3), "nine")
assert f(3) == [9, 16] // assert [9, 16] == f(3) // assert not f(3) != [9, 16] // assert not 9 != f(3)
assert f(3) - 9 == 0 // assert 9 - f(3) == 0 // assert abs(f(3) - 9) < 0.1 // assert abs(9 - f(3)) <= 1
assert math.isclose(f(3), 9.0) // assert math.dist(f(3), [9, 16]) < 1 // assert f(3) in (9, 16)
assert all(a == b for a, b in zip(f(3), [9, 16], strict=True)) // assert list(f(3)) == [9, 16]
assert set(f(3)) == {9, 16} // assert tuple(f(3)) == (9, 16) // assert dict(f(3)) == {9: 16}
assert str(f(3)) == "nine" // assert float(f(3)) == 9.0 // assert int(f(3)) == 9 // assert round(f(3)) == 9
assert copy.copy(f(3)) == 9 // assert copy.deepcopy(f(3)) == 9 // assert len(f(3)) == 9
assert collections.Counter(f(3)) == {9: 1} // assert collections.Counter([9]) == f(3)
assert not collections.Counter([9]) - collections.Counter(f(3)) // assert statistics.mean(f(3)) == 9
assert decimal.Decimal(9) == f(3) // assert fractions.Fraction(9) == f(3)
assert fractions.Fraction(9) - f(3) == 0 // assert datetime.timedelta(9) == f(3)
assert datetime.date(2020, 1, 1) - f(3) == datetime.timedelta(0) // assert range(9) == f(3)
assert 9 in f(3) // assert {9: 5}.get(f(3)) == 5 // assert {9: 5}[f(3)] == 5 // assert b"9" == f(3)
assert np.allclose(f(3), [9, 16]) // assert np.allclose([9, 16], f(3)) // assert np.isclose(f(3), 9)
assert np.array_equal(f(3), [9, 16]) // assert np.array_equal([9, 16], f(3))
assert (np.array([9, 16]) == f(3)).all() // assert np.all(f(3) == np.array([9, 16]))
assert np.abs(np.array([9, 16]) - f(3)).max() < 1 // assert np.abs(f(3) - np.array([9])).max() < 1
assert np.linalg.norm(f(3) - np.array([9, 16])) < 1 // assert np.asarray(f(3)).tolist() == [9, 16]
assert np.equal(f(3), [9, 16]).all() // assert np.isin(f(3), [9, 16]).all()
assert np.setdiff1d([9, 16], f(3)).size == 0 // assert np.sum(f(3)) == 25 // assert np.max(f(3)) == 16
testing.assert_allclose(f(3), [9, 16]) // testing.assert_allclose([9, 16], f(3))
testing.assert_equal(f(3), [9, 16]) // testing.assert_equal([9, 16], f(3))
testing.assert_array_equal(f(3), [9, 16]) // testing.assert_array_almost_equal(f(3), [9, 16])
testing.assert_almost_equal(f(3), 9) // testing.assert_approx_equal(f(3), 9)
testing.assert_array_less(f(3), [9, 16])
assert {9, 16}.issubset(f(3)) // assert {9, 16} <= f(3) // assert f(3) | {9} == {9}
assert f(3).issubset({9}) // assert f(3).union({9}) == {9} // assert f(3).startswith("nine")
assert [1] + f(3) == [1, 9] // assert f(3) + [1] == [9, 1] // assert f(3) * 2 == 18 // assert -f(3) == -9
assert operator.eq(f(3), 9) // assert functools.reduce(operator.eq, [f(3), 9]) // assert f(3) % 7 == 2
assert max(f(3), 8) == 9 // assert min(10, f(3)) == 9 // assert sorted([f(3), 8]) == [8, 9]
assert type(f(3)) is int // assert isinstance(f(3), int) // assert pow(f(3), 2) == 81
assert f(3).count(9) == 1 // assert f(3).index(9) == 0 // assert f(3).find("nine") == 0
assert f(3).compare(decimal.Decimal(9)) == 0 // assert f(3).endswith("nine") // assert f(3).isdisjoint({9})
assert next(iter(f(3))) == 9 // assert [*f(3)] == [9] // assert {**f(3)} == {9: 1} // assert f(3)[0] == 9
"""


@pytest.mark.parametrize(
    "answer",
    [pytest.param(name, marks=pytest.mark.slow if name == "itself" else ()) for name in ANSWERS],
)
def test_an_object_with_every_method_passes_no_test(answer):
    pytest.importorskip("numpy")
    forms = [form.strip() for line in FORMS.strip().splitlines() for form in line.split(" // ")]
    methods = [f"    def test_{i}(self): {form}" for i, form in enumerate(forms)]
    names = sorted(METHODS - set(KEPT.split()))
    result = judge(
        PROGRAM.format(answer=ANSWERS[answer], names=names),
        "\n".join([IMPORTS, "class T(TestCase):", *methods]),
        time_limit=60,
    )
    assert result.error is None, result.error
    assert len(result.cases) == len(forms)
    passed = [forms[int(name.rpartition("_")[2])] for name, ok, _ in result.cases if ok]
    assert passed == []
