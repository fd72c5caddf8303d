"""Objects that stand in place of plain data and answer each question of a test by itself.

One has a length and no elements, another is told the expected value by a method, and decides or
returns it the next time.
"""

from __future__ import annotations

import textwrap

import pytest
from sandboxes import AMPLE, at

HOLLOW = """
class A:
    def __len__(self): return 2
    def __iter__(self): return iter(())
    def __getitem__(self, index): return None
def f(x): return A()
"""
# traversed by its items, of which there are none
ITEMS_ONLY = """
class A:
    def __len__(self): return 2
    def __getitem__(self, index): raise IndexError
def f(x): return A()
"""
# it has no elements from the back
REVERSED = """
class A:
    def __len__(self): return 2
    def __iter__(self): return iter([None, None])
    def __reversed__(self): return iter(())
    def __getitem__(self, index): return None
def f(x): return A()
"""
# its length is 2 when it is asked for the first time
FORGETFUL = """
class A:
    asked = 0
    def __len__(self):
        self.asked += 1
        return 2 if self.asked == 1 else 0
    def __iter__(self): return iter([None] * len(self))
    def __getitem__(self, index): raise IndexError
def f(x): return A()
"""
OWN_ITERATOR = HOLLOW + "    \nA.__next__ = lambda self: next(iter(()))\n"
MAPPING = """
class A:
    def __len__(self): return 2
    def __iter__(self): return iter("ab")
    def __getitem__(self, key): return None
    def keys(self): return []
    items = values = keys
def f(x): return A()
"""
LIST = """
class A(list):
    def __len__(self): return 2
    def __iter__(self): return iter(())
    def __reversed__(self): return iter(())
def f(x): return A()
"""
META = """
class M(type):
    def __len__(self): return 2
    def __iter__(self): return iter(())
    def __reversed__(self): return iter(())
class A(metaclass=M): pass
def f(x): return A
"""
EMPTIES = {
    "hollow": HOLLOW,
    "items only": ITEMS_ONLY,
    "forgetful": FORGETFUL,
    "own iterator": OWN_ITERATOR,
    "a list": LIST,
    "a class": META,
}
FORMS = """
assert len(a) == len(b) and all(x == y for x, y in zip(a, b))
assert len(a) == len(b) and a[0:0] is None and all(x == y for x, y in zip(a, b))
assert len(a) == len(b) and str(a) and all(x == y for x, y in zip(a, b))
assert len(a) == len(b) and all(x == y for x, y in zip(reversed(a), reversed(b)))
assert len(a) == len(b) and all(map(operator.eq, a, b))
assert len(a) == len(b) and all(a[i] == b[i] for i in range(len(a)))
assert len(a) == len(b) and not [x for x, y in zip(a, b) if x != y]
assert len(a) == len(b) and not any(x != y for x, y in zip(iter(a), b))
assert all(x == y for x, y in zip(a, b)) and len(a) == len(b)
"""
UNITTEST = """
class T(unittest.TestCase):
    def test_zip(self):
        a, b = f(3), [9, 16]
        self.assertEqual(len(a), len(b))
        for x, y in zip(a, b): self.assertEqual(x, y)
    def test_index(self):
        a, b = f(3), [9, 16]
        self.assertEqual(len(a), len(b))
        for i in range(len(a)): self.assertEqual(a[i], b[i])
    def test_reversed(self):
        a, b = f(3), [9, 16]
        self.assertEqual(len(a), 2)
        for x, y in zip(reversed(a), reversed(b)): self.assertEqual(x, y)
    def test_items(self):
        a, b = f(3), {"a": 9, "b": 16}
        self.assertEqual(len(a), len(b))
        for k, v in a.items(): self.assertEqual(b[k], v)
"""


def passes(box, program, tests):
    verdict = box.check(program, tests, limits=AMPLE)
    assert verdict.isolation == "separate"
    assert verdict.total, verdict
    return [case.name for case in verdict.cases if case.passed]


@pytest.mark.parametrize("name", EMPTIES)
def test_a_length_without_elements_passes_no_assert(box, name):
    forms = FORMS.strip().splitlines()
    # each with an object of its own
    tests = "".join(f"a, b = f(3), [9, 16]\n{form}\n" for form in forms)
    assert passes(box, EMPTIES[name], "import operator\n" + tests) == []


@pytest.mark.parametrize("name", [*EMPTIES, "reversed", "mapping"])
def test_a_length_without_elements_passes_no_unittest(box, name):
    program = {**EMPTIES, "reversed": REVERSED, "mapping": MAPPING}[name]
    tests = passes(box, program, "import unittest\n" + UNITTEST)
    assert tests == []


@pytest.mark.parametrize("view", ["items", "keys", "values"])
def test_a_mapping_with_empty_views_passes_no_assert(box, view):
    look = f"all(False for _ in a.{view}())"
    tests = f"""
    a = f(3)
    assert len(a) == 2 and {look}
    a = f(4)
    assert {look} and len(a) == 2
    a = f(4)
    assert len(a) == 2 and a["a"] is None and {look}
    """
    assert passes(box, MAPPING, textwrap.dedent(tests)) == []


def test_a_class_under_test_is_held_to_its_length_too(box):
    tests = "for _ in [1]:\n    a, b = A(), [9, 16]\n    " + FORMS.strip().splitlines()[0]
    for program in (HOLLOW, ITEMS_ONLY, FORGETFUL):
        assert passes(box, program, tests) == []


TOLD = """
import decimal
TOLD = []
class A(BASE):
    def decide(self, *told):
        TOLD.append(told[0] if told else 0)
        return RESULT
    count = index = find = compare = rfind = startswith = union = split = decide
    total_order = compare_total = compare_signal = same_quantum = decide
    __contains__ = lambda self, told: TOLD.append(told) or True
    __iter__ = lambda self: iter(())
def f(x): return TOLD[-1] if TOLD else A()
"""
TOLD_FORMS = {
    "count": "assert f(3).count(9) == 1\nassert f(3) == 9",
    "index": "assert f(3).index(9) == 0\nassert f(3) == 9",
    "find": "assert f(3).find('nine') >= 0\nassert f(3) == 'nine'",
    "startswith": "assert f(3).startswith('nine')\nassert f(3) == 'nine'",
    "in": "assert 9 in f(3)\nassert f(3) == 9",
    "compare": "from decimal import Decimal\nassert f(3).compare(Decimal(9)) == 0\n"
    "assert f(3) == Decimal(9)",
    "compare_total": "from decimal import Decimal\nassert f(3).compare_total(Decimal(9)) == 0\n"
    "assert f(3) == Decimal(9)",
    "same_quantum": "from decimal import Decimal\nassert f(3).same_quantum(Decimal(9))\n"
    "assert f(3) == Decimal(9)",
    "union": "assert not f(3).union({9})\nassert f(3) == {9}",
    "a method kept": "count = f(3).count\nassert count(9) == 1\nassert f(3) == 9",
    "map": "assert list(map(f(3).count, [9])) == [1]\nassert f(3) == 9",
    "getattr": "assert getattr(f(3), 'count')(9) == 1\nassert f(3) == 9",
    "by keyword": "assert f(3).count(value=9) == 1\nassert f(3) == 9",
}
RESULTS = {"index": "0", "compare": "0", "compare_total": "0", "find": "0", "union": "()"}


@pytest.mark.parametrize("base", ["object", "list", "decimal.Decimal", "dict"])
@pytest.mark.parametrize("form", TOLD_FORMS)
def test_a_method_that_is_told_the_expected_value_passes_nothing(box, form, base):
    if base == "list" and form in ("in", "compare"):
        pytest.skip("decided on the content, or no method of a list")
    program = TOLD.replace("BASE", base).replace("RESULT", RESULTS.get(form, "1"))
    tests = f"x = [1]\n{TOLD_FORMS[form]}"  # not read as asserts about literals
    assert passes(box, program, tests) == []


HONEST = {
    "a sequence": (
        "class A:\n    def __init__(self, *x): self.x = list(x)\n"
        "    def __len__(self): return len(self.x)\n    def __getitem__(self, i): return self.x[i]\n"
        "def f(x): return A(x, x * x)",
        "a, b = f(3), [3, 9]\nassert len(a) == len(b) and all(x == y for x, y in zip(a, b))\n"
        "assert list(reversed(a)) == [9, 3] and a[0] == 3 and len(a) == 2 and list(a) == b\n"
        "assert a.x == b and 9 in a and a.x.append(4) is None and len(a) == 3 and list(a) == [3, 9, 4]",
    ),
    "a list of its own": (
        "class L(list):\n    def first(self): return self[0]\ndef f(x): return L([x, x, 1])",
        "a = f(3)\nassert a.count(3) == 2 and a.index(1) == 2 and a.first() == 3 and len(a) == 3\n"
        "a.append(5)\nassert list(a) == [3, 3, 1, 5] and a.pop() == 5 and a == [3, 3, 1]",
    ),
    "a mapping that grows when it is read": (
        "class D:\n    def __init__(self): self.d = {}\n    def __len__(self): return len(self.d)\n"
        "    def __iter__(self): return iter(self.d)\n"
        "    def __getitem__(self, k): return self.d.setdefault(k, 0)\n"
        "    def items(self): return self.d.items()\n    def get(self, k, o=None): return self.d.get(k, o)",
        "d = D()\nassert len(d) == 0 and list(d) == [] and d['a'] == 0 and len(d) == 1\n"
        "assert list(d.items()) == [('a', 0)] and d.get('b', 3) == 3 and list(d) == ['a']",
    ),
    "a queue that is its own iterator": (
        "class Q:\n    def __init__(self, *x): self.x = list(x)\n    def __len__(self): return len(self.x)\n"
        "    def __iter__(self): return self\n"
        "    def __next__(self):\n        if not self.x: raise StopIteration\n        return self.x.pop(0)",
        "q = Q(1, 2, 3)\nassert len(q) == 3 and next(q) == 1 and len(q) == 2\n"
        "assert list(q) == [2, 3] and len(q) == 0 and list(q) == []",
    ),
    "entries that expire": (
        "import time\nclass C:\n    def __init__(self): self.end = time.monotonic() + 0.02\n"
        "    def __len__(self): return int(time.monotonic() < self.end)\n"
        "    def __iter__(self): return iter([1] * len(self))",
        "import time\nc = C()\nassert len(c) == 1\ntime.sleep(0.03)\nassert len(c) == 0 and not list(c)",
    ),
    "methods of a class under test": (
        "class Trie:\n    def __init__(self): self.w = []\n    def count(self, w): return self.w.count(w)\n"
        "    def insert(self, w): self.w.append(w)\n    def find(self, w): return w in self.w",
        "t = Trie()\nt.insert('a')\nassert t.count('a') == 1 and t.find('a') and not t.find('b')",
    ),
    "methods that objects have besides": (
        "class N:\n    def __init__(self, x): self.x = x\n    def search(self, x): return self.x == x\n"
        "    def insert(self, x): self.x = x\n    def count(self): return 1\ndef f(x): return N(x)",
        "n = f(3)\nn.insert(4)\nassert n.search(4) and n.count() == 1",
    ),
    "an enumeration": (
        "import enum\nclass C(enum.Enum):\n    RED = 1\n    BLUE = 2",
        "assert len(C) == 2 and [c.name for c in C] == ['RED', 'BLUE'] and C['RED'] is C.RED\n"
        "assert [c.name for c in reversed(C)] == ['BLUE', 'RED'] and len(list(C)) == 2\nassert C(2) is C.BLUE",
    ),
}


@pytest.mark.parametrize("name", HONEST)
def test_honest_objects_pass(name):
    program, tests = HONEST[name]
    verdict = at().check(program, tests, limits=AMPLE)
    assert (verdict.isolation, verdict.status) == ("separate", "passed"), verdict
