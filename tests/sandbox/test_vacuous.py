"""Checks that compare nothing are no passes, and honest programs pass those that compare something."""

from __future__ import annotations

import pytest
from sandboxes import AMPLE, at

NUMPY = "import numpy as np\n"
UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        "
NONE = "def f(x): return []"
ARRAY = "import numpy as np\ndef f(x): return np.zeros((0, 1))"
ZERO = "def f(x): return 0.0"

NOTHING = {
    "all, as data": (NONE, "assert all(f(3))"),
    "not any, as data": (NONE, "assert not any(f(3))"),
    "all == True, as data": (NONE, "assert all(f(3)) == True"),
    "all of a generator": (NONE, "assert all(x == y for x, y in zip(f(3), [9, 16]))"),
    "all of nothing twice": (NONE, "assert all(x > 0 for x in f(3)) and all(x < 9 for x in f(4))"),
    "all of an empty generator": ("def f(x): yield from ()", "assert all(x == 9 for x in f(3))"),
    "not any": (NONE, "assert not any(x != y for x, y in zip(f(3), [9, 16]))"),
    "all is True": (NONE, "assert all(x == 9 for x in f(3)) is True"),
    "all of map": (NONE, "import operator\nassert all(map(operator.eq, f(3), [9, 16]))"),
    "all of an object": (
        "class A:\n    def __iter__(self): return iter(())\ndef f(x): return A()",
        "y = 9\nassert all(x == y for x in f(3))",
    ),
    "all in unittest": (NONE, UNITTEST + "self.assertTrue(all(x == 9 for x in f(3)))"),
    "any in unittest": (NONE, UNITTEST + "self.assertFalse(any(x != 9 for x in f(3)))"),
    "allclose": (NONE, NUMPY + "assert np.allclose(f(3), 7)"),
    "allclose from the right": (NONE, NUMPY + "assert np.allclose(7, f(3))"),
    "allclose, imported": (NONE, "from numpy import allclose\nassert allclose(f(3), 7)"),
    "allclose by another name": (NONE, NUMPY + "same = np.allclose\nassert same(f(3), [7])"),
    "isclose": (NONE, NUMPY + "assert np.isclose(f(3), 7).all()"),
    "all of isclose": (NONE, NUMPY + "assert np.all(np.isclose(f(3), 7))"),
    "np.all": (ARRAY, NUMPY + "assert np.all(f(3) == np.array([9, 16]))"),
    ".all()": (ARRAY, NUMPY + "assert (f(3) == np.array([9, 16])).all()"),
    "not np.any": (ARRAY, NUMPY + "assert not np.any(f(3) != np.array([9, 16]))"),
    "broadcasting": (ARRAY, NUMPY + "assert np.allclose(f(3), [9, 16])"),
    "broadcasting a sum": (ARRAY, NUMPY + "assert np.abs(f(3) - np.array([9, 16])).sum() < 1e-6"),
    "broadcasting a norm": (ARRAY, NUMPY + "assert np.linalg.norm(f(3) - np.array([9, 16])) < 1e-6"),
    "broadcasting from the left": (ARRAY, NUMPY + "assert np.sum(np.array([9, 16]) - f(3)) == 0"),
    "broadcasting a list": (
        "def f(x): return [[], []]",
        NUMPY + "assert np.linalg.norm(np.array(f(3)) - np.array([[9], [16]])) < 1e-6",
    ),
    "assert_allclose": (NONE, NUMPY + "np.testing.assert_allclose\ndef test_a():\n"
                        "    np.testing.assert_allclose(f(3), 7)"),
    "assert_equal": (NONE, "from numpy import testing\ndef test_a(): testing.assert_array_equal(f(3), 7)"),
    "a tolerance, as data": (ZERO, "assert abs(f(3) - 0.001) < 0.01"),
    "a tolerance from the other side": (ZERO, "assert 10 >= abs(9 - f(3))"),
    "a tolerance of isclose, as data": (ZERO, "import math\nassert math.isclose(f(3), 9, abs_tol=10)"),
    "a relative tolerance": (ZERO, "import math\nassert math.isclose(f(3), 9, rel_tol=1)"),
    "a tolerance": (ZERO, "for x in [3]:\n    assert abs(f(x) - 0.001) <= 0.01"),
    "a tolerance of allclose": (ZERO, NUMPY + "assert np.allclose(f(3), 1e-9)"),
    "a tolerance of allclose, given": (ZERO, NUMPY + "assert np.allclose(f(3), [1, 2], atol=3)"),
    "a tolerance of allclose, by place": (ZERO, NUMPY + "assert np.allclose(f(3), [1, 2], 0, 3)"),
    "places": (ZERO, UNITTEST + "self.assertAlmostEqual(f(3), 0.001, places=2)"),
    "a delta": (ZERO, UNITTEST + "self.assertAlmostEqual(f(3), 9, delta=10)"),
    "a loop in a method": (NONE, UNITTEST + "for x, y in zip(f(3), [9]): self.assertEqual(x, y)"),
    "a loop in a function": (NONE, "def test_a():\n    for x in f(3):\n        assert x == 9"),
    "a comprehension of asserts": (NONE, UNITTEST + "[self.assertEqual(x, 9) for x in f(3)]"),
    "a condition in a method": (ZERO, UNITTEST + "if f(3):\n            self.assertEqual(f(3), 9)"),
    "a helper that loops": (
        NONE, "def assert_same(a, b):\n    for x, y in zip(a, b):\n        assert x == y\n"
        "assert_same(f(3), [9])",
    ),
    "a loop with a try": (
        NONE, "for x in f(3):\n    try:\n        assert x == 9\n    except ValueError:\n        pass",
    ),
    "no assertion": (ZERO, UNITTEST + "f(3)"),
    "an early return": (ZERO, UNITTEST + "y = f(3)\n        if y == 0: return\n        self.assertEqual(y, 9)"),
}  # fmt: skip


@pytest.mark.parametrize("name", NOTHING)
def test_what_compares_nothing_is_no_pass(box, name):
    program, tests = NOTHING[name]
    verdict = box.check(program, tests, limits=AMPLE)
    assert verdict.total == 1, verdict
    assert not verdict.passed, verdict
    assert not verdict.error, verdict


HONEST = {
    "all": ("def f(x): return [x]", "assert all(f(3))\nassert all(x == 3 for x in f(3))"),
    "any": ("def f(x): return [0]", "assert not any(f(3))\nassert not any(x for x in f(3))"),
    "all beside a comparison": (
        NONE, "a, b = f(3), []\nassert len(a) == len(b) and all(x == y for x, y in zip(a, b))",
    ),
    "all stops": ("def f(x): return x", "import itertools\nassert not all(f(x) for x in itertools.count())"),
    "nothing where nothing is expected": (
        ARRAY, NUMPY + "assert np.allclose(f(3), np.zeros((0, 1))) and np.allclose([], [])\n"
        "assert np.array_equal(f(3), np.zeros((0, 1))) and f(3).shape == (0, 1) and f(3).size == 0\n"
        "assert isinstance(f(3), np.ndarray) and (f(3) * 2).sum() == 0 and f(3).tolist() == []\n"
        "assert np.concatenate([f(3), [[1.0]]]).tolist() == [[1.0]] and len(f(3)) == 0",
    ),
    "an array goes back": (
        "import numpy as np\ndef f(x): return np.zeros(x)\ndef g(a): return a.size",
        NUMPY + "assert g(f(0)) == 0 and g(np.array([])) == 0 and g(f(2)) == 2",
    ),
    "close": (
        "def f(x): return x / 3",
        NUMPY + "import math\nassert np.allclose(f(3), 1) and np.isclose([f(3)], [1.0], atol=0.1).all()\n"
        "assert abs(f(3) - 1.1) < 0.2 and math.isclose(f(3), 1.01, abs_tol=0.1)\n"
        "assert abs(f(0) - 0) < 5 and np.allclose(f(0), 0, atol=1)\n"
        "assert abs(f(3) - 1) < 2 and np.allclose([f(3), 0], [1, 6e-17])\n"
        "assert np.allclose(f(3e-9), 1e-9)\nassert abs(f(0) - 6.1e-17) < 1e-9",
    ),
    "almost": (
        "def f(x): return x / 3",
        UNITTEST + "self.assertAlmostEqual(f(3), 1, places=2)\n"
        "        self.assertAlmostEqual(f(0.003), 0.001, places=2)\n"
        "        self.assertAlmostEqual(f(27), 9, delta=10)",
    ),
    "exceptions": (
        "def f(x):\n    if x < 0: raise ValueError('no')\n    return x",
        "try:\n    f(-1)\n    assert False\nexcept ValueError:\n    pass\n" + UNITTEST
        + "with self.assertRaises(ValueError): f(-1)\n"
        "    def test_b(self): self.assertRaises(ValueError, f, -1)\n"
        "    def test_c(self):\n        try: f(-1)\n        except ValueError: pass\n"
        "        else: self.fail('did not raise')\n"
        "    def test_d(self):\n        if f(1) != 1: raise AssertionError\n",
    ),
    "helpers": (
        "def f(x): return [x]",
        "def assert_same(a, b):\n    for x, y in zip(a, b):\n        assert x == y\n"
        "assert_same(f(3), [3])\ndef test_a(): assert_same(f(4), [4])",
    ),
    "mocks": (
        "def f(m): m.go(1)",
        "from unittest.mock import Mock\nimport unittest\nclass T(unittest.TestCase):\n"
        "    def test_a(self):\n        m = Mock()\n        f(m)\n        m.go.assert_called_once_with(1)",
    ),
    "numpy.testing": (
        "def f(x): return [x]",
        "from numpy.testing import assert_allclose, assert_array_equal, assert_equal\n"
        "def test_a(): assert_allclose(f(3), [3])\ndef test_b(): assert_array_equal(f(3), [3])\n"
        "def test_c(): assert_equal(f(3), [3])\ndef test_d(): assert_allclose(f(3), 3.1, atol=0.2)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
def test_honest_programs_pass(name):
    program, tests = HONEST[name]
    verdict = at().check(program, tests, limits=AMPLE)
    assert verdict.status == "passed", verdict
