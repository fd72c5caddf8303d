"""Names of a library that the program redefines, where the tests mean the library's."""

from __future__ import annotations

import pytest
from sandboxes import AMPLE, at

YES = """
class Yes:
    def __init__(self, *a, **k): pass
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def __call__(self, *a, **k): return True
    def __iter__(self): return iter(())
    def __len__(self): return 0
    def __bool__(self): return True
    def __abs__(self): return 0
    def __lt__(self, other): return True
    __le__ = __lt__
    def __sub__(self, other): return self
    __rsub__ = __sub__
"""
NAMES = [
    "Counter",
    "deque",
    "Fraction",
    "Decimal",
    "OrderedDict",
    "date",
    "timedelta",
    "defaultdict",
]
FORMS = {
    "Counter": "assert f('aab') == Counter('aab')",
    "deque": "assert f('aab') == deque('aab')",
    "Fraction": "assert f(3) == Fraction(1, 3)",
    "Decimal": "expected = Decimal('0.5')\nassert f(3) == expected",
    "OrderedDict": "for x in 'ab':\n    assert f(x) == OrderedDict({x: 1})",
    "date": "import unittest\nclass T(unittest.TestCase):\n"
    "    def setUp(self): self.day = date(2024, 1, 2)\n"
    "    def test_day(self): self.assertEqual(f(3), self.day)",
    "timedelta": "def check(candidate):\n    assert candidate(3) == timedelta(days=3)",
    "defaultdict": "def same(a, b):\n    assert defaultdict(int, a) == defaultdict(int, b)\n"
    "same(f(3), {'a': 1})",
}
FUNCTIONS = {
    "isclose": "assert isclose(f(3), 9.5)",
    "fabs": "assert fabs(f(3) - 9.5) < 1e-6",
    "isclose in a helper": "def close(a, b):\n    assert isclose(a, b)\nclose(f(3), 9.5)",
    "isclose in a loop": "for x in [3, 4]:\n    assert isclose(f(x), x * x + 0.5)",
    "isclose in unittest": "import unittest\nclass T(unittest.TestCase):\n"
    "    def test_a(self): self.assertTrue(isclose(f(3), 9.5))",
}


@pytest.mark.parametrize("name", FORMS)
def test_a_class_of_the_library_is_not_the_programs(box, name):
    program = f"{YES}\nclass {name}(Yes): pass\ndef f(x): return {name}()"
    verdict = box.check(program, FORMS[name], "f" if "check" in FORMS[name] else None, limits=AMPLE)
    assert verdict.total >= 1
    assert not verdict.passed, verdict


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_of_the_library_is_not_the_programs(box, name):
    program = "isclose = lambda *a, **k: True\nfabs = lambda x: 0\ndef f(x): return 1.0"
    verdict = box.check(program, FUNCTIONS[name], limits=AMPLE)
    assert verdict.total >= 1
    assert not verdict.passed, verdict


HONEST = {
    "a Counter that the program imports": (
        "from collections import Counter\ndef f(x): return Counter(x)",
        "assert f('aab') == Counter('aab')\nassert f('aab') == {'a': 2, 'b': 1}",
    ),
    "a class under test": (
        "class Counter:\n    def __init__(self): self.n = 0\n    def add(self, x):\n"
        "        self.n += x\n        return self.n",
        "c = Counter()\nassert c.add(2) == 2 and c.n == 2\nassert Counter().n == 0",
    ),
    "a class under test in unittest": (
        "class Fraction:\n    def __init__(self, a, b): self.a, self.b = a, b\n"
        "    def top(self): return self.a\ndef half(x): return Fraction(x.a, x.b * 2)",
        "import unittest\nclass T(unittest.TestCase):\n"
        "    def setUp(self): self.one = Fraction(1, 3)\n"
        "    def test_top(self): self.assertEqual(self.one.top(), 1)\n"
        "    def test_half(self): self.assertEqual(half(self.one).b, 6)",
    ),
    "a function under test": ("def gcd(a, b): return 6", "x = 18\nassert gcd(12, x) == 6"),
    "a class imported from the program": (
        "class deque(list): pass\ndef f(x): return deque([x])",
        "from solution import deque, f\nassert f(3) == deque([3])\nassert isinstance(f(3), deque)",
    ),
    "the entry point": (
        "def isclose(a, b): return abs(a - b) < 5",
        "def check(candidate):\n    for x in [1, 2]:\n        assert isclose(x, 4)",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_the_programs_own_names_stay(name):
    program, tests = HONEST[name]
    verdict = at().check(program, tests, "isclose" if "check" in tests else None, limits=AMPLE)
    assert verdict.status == "passed", verdict
