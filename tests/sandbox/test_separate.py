"""Tests against a program in another process: what they see must be what one interpreter shows."""

from __future__ import annotations

import ast
import json
import textwrap

import pytest
from two_processes import Judged, judge, judge_in_one, passes_plainly


def run(program: str, tests: str, entry_point: str | None = None, prelude: str = "") -> Judged:
    dedent = textwrap.dedent
    return judge(dedent(program), dedent(tests), entry_point, prelude=dedent(prelude))


def holds(program: str, tests: str, entry_point: str | None = None, prelude: str = "") -> None:
    result = run(program, tests, entry_point, prelude)
    assert result.passed, result


# -- kinds of tests, and what a case is


def test_every_assert_is_a_case():
    result = run("def f(x): return 2 * x", "assert f(1) == 2\nassert f(2) == 5\nassert f(3) == 6")
    assert result.outcomes == [True, False, True]
    assert result.errors[1] == "AssertionError"
    assert result.calls == 3
    assert not result.passed


def test_check_is_called_with_the_entry_point():
    tests = """
    METADATA = {"author": "x"}
    def check(candidate):
        assert candidate(2) == 4
        assert True, "a control"
        for x in range(3):
            assert candidate(x) == 2 * x
        assert candidate(3) == 7, "wrong on purpose"
    """
    result = run("def double(x): return 2 * x", tests, "double")
    assert result.outcomes == [True, True, False]
    assert result.errors[2] == "AssertionError: wrong on purpose"


def test_a_check_that_the_tests_call_runs_once():
    tests = "def check(c):\n    assert c(1) == 2\ncheck(double)\n"
    result = run("def double(x): return 2 * x", tests, "double")
    assert result.passed
    assert result.calls == 1


def test_what_is_not_reached_has_failed():
    result = run("def f(x): return x", "assert f(1) == 1\nraise KeyError('no')\nassert f(2) == 2")
    assert result.outcomes == [True, False]
    assert result.errors[1] == "not reached"
    assert result.error == "KeyError: 'no'"
    result = run("def f(): return []", "for x in f():\n    assert x > 0\n")
    assert result.errors == ["not reached"]
    result = run("def f(x): return x", "if f(0):\n    assert f(1) == 1\n")
    assert result.errors == ["not reached"]


def test_a_try_is_one_case():
    tests = """
    try:
        f(-1)
        assert False, "did not raise"
    except ValueError:
        pass
    """
    holds("def f(x):\n    raise ValueError(x)", tests)
    result = run("def f(x): return x", tests)
    assert result.errors == ["AssertionError: did not raise"]


def test_unittest_methods_are_cases():
    tests = """
    import unittest
    class T(unittest.TestCase):
        @classmethod
        def setUpClass(cls): cls.stack = Stack()
        def setUp(self): self.own = Stack()
        def test_push(self):
            self.own.push(1)
            self.assertEqual(self.own.items, [1])
            self.assertEqual(len(self.own), 1)
        def test_wrong(self): self.assertEqual(self.own.items, [2])
        def test_parts(self):
            with self.subTest("a"): self.assertEqual(self.own.items, [])
            with self.subTest("b"): self.assertEqual(self.own.items, [3])
        @unittest.skip("not today")
        def test_skipped(self): pass
        @unittest.expectedFailure
        def test_expected(self): self.assertEqual(self.own.items, [2])
    if __name__ == "__main__":
        unittest.main()
    """
    program = """
    class Stack:
        def __init__(self): self.items = []
        def push(self, x): self.items.append(x)
        def __len__(self): return len(self.items)
    """
    result = run(program, tests)
    assert {name: passed for name, passed, _ in result.cases} == {
        "T.test_expected": False,
        "T.test_parts": False,
        "T.test_push": True,
        "T.test_skipped": False,
        "T.test_wrong": False,
    }


def test_functions_named_test_and_helpers():
    tests = """
    def same(a, b):
        assert a == b
    def test_one():
        assert f(1) == 1
    same(f(2), 2)
    same(f(3), 4)
    """
    result = run("def f(x): return x", tests)
    assert result.outcomes == [True, False, True]


@pytest.mark.parametrize(
    ("program", "tests", "entry_point", "error"),
    [
        ("def f(x): return x", "x = 1", None, "the tests contain no test"),
        ("def f(x): return x", "assert 1 == 1", None, "the tests never called the program"),
        ("def g(x): return x", "def check(c):\n    assert c(1)", "f", "the program defines no 'f'"),
        ("def f(x): return x", "assert f(", None, "SyntaxError"),
        ("def f(x: return x", "assert f(1)", None, "SyntaxError"),
        ("raise ValueError('at once')", "assert f(1)", None, "ValueError: at once"),
        ("import sys\nsys.exit(0)", "assert f(1)", None, "SystemExit: 0"),
        ("import os\nos._exit(0)", "assert f(1)", None, "the program ended while it was loading"),
        ("def f(x): return x", "def check(c):\n    assert c(1)", None, "without an entry point"),
    ],
)
def test_what_cannot_be_judged_says_why(program, tests, entry_point, error):
    result = run(program, tests, entry_point)
    assert not result.passed
    assert error in (result.error or "")


# -- where names come from


def test_names_of_standard_modules_are_the_modules():
    program = """
    class math:
        @staticmethod
        def isclose(*_, **__): return True
    def f(x): return 1.0
    """
    assert not run(program, "assert math.isclose(f(3), 9.0)").passed
    holds(
        "from datetime import datetime\ndef f(): return 2024",
        "assert datetime(2024, 1, 1).year == f()",
    )
    holds("import datetime\ndef f(): return 2024", "assert datetime.date(2024, 1, 1).year == f()")


def test_names_of_builtins_are_the_programs_only_where_nothing_else_is_called():
    holds("def sum(a, b): return a + b", "assert sum(1, 2) == 3\nassert sum(2, 2) == 4")
    program = "def sorted(x): return [9]\ndef f(x): return x"
    result = run(program, "assert sorted(f([2, 1])) == [1, 2]")
    assert result.passed, result
    assert not run(program, "assert sorted(f([2, 1])) == [9]").passed


def test_the_program_can_be_imported_by_the_tests():
    program = "LIMIT = 3\ndef f(x): return x + LIMIT\nclass A:\n    size = 2"
    holds(program, "from solution import f as g, A\nassert g(1) == 4\nassert A().size == 2")
    holds(program, "import solution\nassert solution.f(1) == 4\nassert solution.LIMIT == 3")
    holds(program, "from your_module import *\nassert f(1) == 4")


def test_what_the_program_imported_is_the_librarys():
    program = "from collections import Counter\nfrom math import gcd\ndef f(x): return Counter(x)"
    holds(program, "assert f('aab') == Counter('aab')\nassert gcd(4, f('bb')['b']) == 2")


def test_the_prelude_is_on_both_sides():
    prelude = "def poly(xs, x): return sum(c * x**i for i, c in enumerate(xs))"
    program = "def root(xs): return next(x for x in range(-9, 9) if poly(xs, x) == 0)"
    holds(program, "assert poly([2, 1], root([2, 1])) == 0", prelude=prelude)
    # not what the program has under that name
    lying = "def poly(xs, x): return 0\ndef root(xs): return 7"
    assert not run(lying, "assert poly([2, 1], root([2, 1])) == 0", prelude=prelude).passed


# -- values and objects


def test_data_of_many_kinds_crosses():
    program = """
    import datetime, decimal, fractions, collections, re
    def same(x): return x
    def make():
        return (datetime.date(2024, 2, 3), decimal.Decimal("1.5"), fractions.Fraction(1, 3),
                collections.deque([1]), range(3), bytearray(b"x"), b"y", {1, 2}, 3j, ..., int)
    """
    tests = """
    import datetime, decimal, fractions, collections
    assert make() == (datetime.date(2024, 2, 3), decimal.Decimal("1.5"), fractions.Fraction(1, 3),
                      collections.deque([1]), range(3), bytearray(b"x"), b"y", {1, 2}, 3j, ..., int)
    assert same(datetime.timedelta(1, 2, 3)) == datetime.timedelta(1, 2, 3)
    assert same(10 ** 5000) == 10 ** 5000
    assert same({(1, 2): [None, True, {"a": frozenset([1])}]}) == {(1, 2): [None, True, {"a": frozenset([1])}]}
    assert type(same(5)) is int
    """
    holds(program, tests)


def test_subclasses_of_builtins_compare_as_what_they_hold():
    program = """
    from collections import namedtuple, OrderedDict, defaultdict
    from enum import Enum, IntEnum
    Point = namedtuple("Point", "x y")
    class Color(Enum):
        RED = 1
        BLUE = 2
    class Size(IntEnum):
        BIG = 3
    class Stack(list):
        def push(self, x): self.append(x)
    def point(): return Point(1, 2)
    def color(): return Color.RED
    def counts():
        d = defaultdict(int)
        d["a"] += 1
        return d
    """
    tests = """
    assert point() == (1, 2)
    assert point().y == 2 and point() == Point(1, 2) and isinstance(point(), tuple)
    assert Point(3, 4)._asdict() == {"x": 3, "y": 4}
    assert color() is Color.RED and color() == Color.RED and color() != Color.BLUE
    assert Color(2) is Color.BLUE and Color["RED"].value == 1 and color().name == "RED"
    assert [c.name for c in Color] == ["RED", "BLUE"] and len(Color) == 2
    assert isinstance(color(), Color) and color() in (Color.RED,)
    assert Size.BIG == 3 and Size.BIG + 1 == 4 and Size.BIG.name == "BIG"
    assert counts() == {"a": 1}
    s = Stack(); s.push(1); s.append(2)
    assert s == [1, 2] and len(s) == 2 and s[0] == 1 and 2 in s and s + [3] == [1, 2, 3]
    """
    holds(program, tests)


def test_objects_are_proxies():
    program = """
    import functools
    @functools.total_ordering
    class Vector:
        count = 0
        def __init__(self, *xs):
            self.xs = list(xs)
            Vector.count += 1
        def __add__(self, other): return Vector(*(a + b for a, b in zip(self.xs, other.xs)))
        def __mul__(self, k): return Vector(*(a * k for a in self.xs))
        __rmul__ = __mul__
        def __eq__(self, other): return isinstance(other, Vector) and self.xs == other.xs
        def __lt__(self, other): return self.xs < other.xs
        def __hash__(self): return hash(tuple(self.xs))
        def __iter__(self): return iter(self.xs)
        def __getitem__(self, i): return self.xs[i]
        def __setitem__(self, i, x): self.xs[i] = x
        def __contains__(self, x): return x in self.xs
        def __abs__(self): return sum(x * x for x in self.xs) ** 0.5
        def __repr__(self): return f"V{self.xs}"
        def __bool__(self): return any(self.xs)
        def __call__(self, k): return self.xs[k] + 1
        def __enter__(self): return self
        def __exit__(self, *a): self.xs.clear()
        @property
        def size(self): return len(self.xs)
        @classmethod
        def zero(cls): return cls(0, 0)
        @staticmethod
        def helper(x): return x + 1
    class Sub(Vector):
        pass
    """
    tests = """
    v = Vector(3, 4)
    assert v + Vector(1, 1) == Vector(4, 5)
    assert v * 2 == Vector(6, 8) and 2 * v == Vector(6, 8) and (v * 2).xs == [6, 8]
    assert v != Vector(0, 0) and v < Vector(4, 0) and sorted([v, Vector(1)])[0] == Vector(1)
    assert list(v) == [3, 4] and v[1] == 4 and 3 in v and 5 not in v
    assert abs(v) == 5.0 and repr(v) == "V[3, 4]" and str(v) == "V[3, 4]" and f"{v}" == "V[3, 4]"
    assert v and not Vector.zero() and v(0) == 4 and v.size == 2 and Vector.helper(1) == 2
    v[0] = 7
    v.xs.append(9)
    assert v.xs == [7, 4, 9] and v.size == 3
    v.xs = [1]
    v.name = "n"
    assert v.xs == [1] and v.name == "n" and hasattr(v, "name") and not hasattr(v, "other")
    del v.name
    assert not hasattr(v, "name")
    Vector.count = 100
    Vector(1)
    assert Vector.count == 101
    with Vector(1, 2) as w:
        assert w.size == 2
    assert w.size == 0
    assert isinstance(Sub(1), Vector) and issubclass(Sub, Vector) and not isinstance(Vector(1), Sub)
    assert type(v) is Vector and type(v).__name__ == "Vector" and v.__class__ is Vector
    assert {v: 1}[Vector(1)] == 1 and len({Vector(1), Vector(1)}) == 1
    assert v.__dict__ == {"xs": [1]} and vars(v) == {"xs": [1]}
    import copy
    c = copy.deepcopy(v); c.xs.append(5)
    assert v.xs == [1] and c.xs == [1, 5]
    assert Vector.zero is not None and callable(v) and Vector.size is not None
    """
    holds(program, tests)


def test_objects_of_the_tests_own_making_answer_for_themselves():
    program = """
    class Trie:
        def __init__(self): self.words = set()
        def insert(self, w):
            self.words.add(w)
            return self
        def startswith(self, p): return any(w.startswith(p) for w in self.words)
        def __contains__(self, w): return w in self.words
    """
    tests = """
    t = Trie()
    t.insert("apple")
    assert "pear" not in Trie()
    u = Trie(); u.words = {"x"}
    assert "x" in u and u.startswith("x")
    """
    holds(program, tests)


def test_objects_without_special_methods_have_none():
    program = "class A:\n    pass\nclass B:\n    def __eq__(self, other): return True"
    tests = """
    a = A()
    assert a == a and a != A() and not callable(a)
    try:
        len(a)
        assert False
    except TypeError:
        pass
    try:
        hash(B())
        assert False
    except TypeError:
        pass
    """
    holds(program, tests)


def test_changes_of_arguments_come_back():
    program = """
    def sort(xs): xs.sort()
    def clear(d): d.clear()
    def grow(xs, *, to): to.update(xs)
    def inner(m): m[0].append(1)
    class Keeper:
        def __init__(self, xs): self.xs = xs
        def add(self, x): self.xs.append(x)
        def get(self): return self.xs
    """
    tests = """
    xs = [3, 1, 2]; alias = xs
    sort(xs)
    assert xs == [1, 2, 3] and alias is xs
    d = {"a": 1}; clear(d)
    assert d == {}
    s = {1}; grow([2, 3], to=s)
    assert s == {1, 2, 3}
    row = []; m = [row]; inner(m)
    assert row == [1]
    ys = []; k = Keeper(ys); k.add(1); ys.append(2)
    assert ys == [1, 2] and k.get() == [1, 2] and k.xs is ys
    k.xs.append(3); k.get().append(4)
    assert ys == [1, 2, 3, 4]
    """
    holds(program, tests)


def test_live_attributes():
    program = """
    class Cart:
        def __init__(self): self.items = {}
        def add(self, name, n): self.items.setdefault(name, []).append(n)
        def total(self): return sum(sum(v) for v in self.items.values())
    """
    tests = """
    c = Cart()
    items = c.items
    c.add("a", 1)
    assert items == {"a": [1]}
    c.items["b"] = [5]
    c.items["a"].append(2)
    assert c.total() == 8
    c.items = {"z": [1]}
    assert c.total() == 1
    """
    holds(program, tests)


def test_iterators_and_generators():
    program = """
    def count():
        n = 0
        while True:
            yield n
            n += 1
    def three(): return iter([1, 2, 3])
    def squares(xs): return (x * x for x in xs)
    def echo():
        got = None
        while True: got = yield got
    def bad():
        raise StopIteration
    """
    tests = """
    from itertools import islice
    assert list(islice(count(), 3)) == [0, 1, 2]
    g = count(); next(g)
    assert next(g) == 1
    assert list(three()) == [1, 2, 3] and sum(squares([1, 2])) == 5
    e = echo(); next(e)
    assert e.send(5) == 5
    t = three()
    assert [next(t), next(t), next(t), next(t, None)] == [1, 2, 3, None]
    try:
        bad()
        assert False
    except RuntimeError:
        pass
    """
    holds(program, tests)


def test_exceptions():
    program = """
    import json, sys
    class Broke(Exception):
        def __init__(self, amount):
            super().__init__(f"short of {amount}")
            self.amount = amount
    class Worse(Broke, KeyError): pass
    class Plain(ValueError):
        def __str__(self): return "plain"
    def builtin(): raise ValueError("bad", 3)
    def own(): raise Broke(5)
    def worse(): raise Worse(6)
    def plain(): raise Plain()
    def missing(): return {}["k"]
    def file(): open("/nowhere/at/all")
    def parse(): json.loads("{")
    def leave(): sys.exit(3)
    def interrupt(): raise KeyboardInterrupt
    def unicode(): b"\\xff".decode()
    def returned(): return ValueError("v")
    def passed(e): return str(e), type(e).__name__
    """
    tests = """
    import unittest, json
    class T(unittest.TestCase):
        def test_builtin(self):
            with self.assertRaises(ValueError) as c: builtin()
            self.assertEqual(c.exception.args, ("bad", 3))
            self.assertRaises(ValueError, builtin)
            self.assertRaisesRegex(ValueError, "bad", builtin)
        def test_own(self):
            with self.assertRaises(Broke) as c: own()
            self.assertEqual(str(c.exception), "short of 5")
            self.assertEqual(c.exception.amount, 5)
            with self.assertRaises(Exception): own()
        def test_worse(self):
            for kind in (Worse, Broke, KeyError):
                with self.assertRaises(kind): worse()
        def test_plain(self):
            with self.assertRaises(ValueError) as c: plain()
            self.assertEqual(str(c.exception), "plain")
        def test_library(self):
            with self.assertRaises(KeyError): missing()
            with self.assertRaises(FileNotFoundError): file()
            with self.assertRaises(json.JSONDecodeError): parse()
            with self.assertRaises(UnicodeDecodeError): unicode()
        def test_leave(self):
            with self.assertRaises(Exception): leave()
            with self.assertRaises(Exception): interrupt()
        def test_as_value(self):
            self.assertIsInstance(returned(), ValueError)
            self.assertEqual(passed(Broke(1)), ("short of 1", "Broke"))
    """
    holds(program, tests)


def test_an_exit_that_the_tests_expect_is_one():
    program = "import sys\ndef leave(): sys.exit(3)"
    tests = """
    try:
        leave()
        assert False
    except SystemExit as stop:
        assert stop.code == 3
    """
    holds(program, tests)


def test_callbacks():
    program = """
    def apply(f, *xs, **k): return f(*xs, **k)
    def by(xs, key): return sorted(xs, key=key)
    def twice(f): return lambda x: f(f(x))
    def total(xs): return sum(xs)
    def lines(stream): return [line.strip() for line in stream]
    def describe(thing): return thing.name + str(thing.size())
    def safe(f):
        try: return f()
        except ZeroDivisionError as error: return "zero: " + str(error)
    def make(cls): return isinstance(cls(), dict)
    class Bus:
        def __init__(self): self.handlers = []
        def on(self, f): self.handlers.append(f)
        def fire(self, x): return [h(x) for h in self.handlers]
    """
    tests = """
    import io
    assert apply(lambda a, b=1: a + b, 2, b=3) == 5 and apply(len, [1, 2]) == 2
    assert by(["bb", "a"], key=len) == ["a", "bb"] and by([1, -2], key=lambda x: -x) == [1, -2]
    assert twice(lambda x: x + 1)(3) == 5
    assert total(x for x in [1, 2, 3]) == 6 and total(map(int, "12")) == 3
    assert lines(io.StringIO("a\\nb\\n")) == ["a", "b"]
    class Thing:
        name = "t"
        def size(self): return 3
    assert describe(Thing()) == "t3"
    assert safe(lambda: 1 / 0) == "zero: division by zero"
    assert make(dict) is True
    seen = []
    bus = Bus(); bus.on(seen.append); bus.on(lambda x: apply(abs, x))
    assert bus.fire(-4) == [None, 4]
    assert seen == [-4]
    """
    holds(program, tests)


def test_printing_and_reading():
    program = """
    def greet(name): print("hello", name)
    def ask():
        name = input("who? ")
        print("hi " + name)
        return name
    def read():
        import sys
        return sys.stdin.read()
    """
    tests = """
    import io, sys, unittest, contextlib
    from unittest.mock import patch
    class T(unittest.TestCase):
        def test_redirect(self):
            out = io.StringIO()
            with contextlib.redirect_stdout(out): greet("you")
            self.assertEqual(out.getvalue(), "hello you\\n")
        def test_assigned(self):
            sys.stdout = out = io.StringIO()
            greet("me")
            sys.stdout = sys.__stdout__
            self.assertEqual(out.getvalue(), "hello me\\n")
        @patch("builtins.input", return_value="ann")
        def test_input(self, mocked):
            self.assertEqual(ask(), "ann")
            mocked.assert_called_once_with("who? ")
        @patch("builtins.input", side_effect=["a", "b"])
        @patch("sys.stdout", new_callable=io.StringIO)
        def test_both(self, out, _):
            ask(); ask()
            self.assertEqual(out.getvalue(), "hi a\\nhi b\\n")
        @patch("builtins.print")
        def test_print(self, mocked):
            greet("x")
            mocked.assert_called_with("hello", "x")
        def test_stdin(self):
            with patch("sys.stdin", io.StringIO("1\\n2\\n")):
                self.assertEqual(ask(), "1")
                self.assertEqual(read(), "2\\n")
            with self.assertRaises(EOFError): ask()
    """
    holds(program, tests)


def test_mocks():
    program = """
    class Repository:
        def load(self): raise OSError("no network")
    class Service:
        def __init__(self, repository): self.repository = repository
        def size(self): return len(self.repository.load())
        def log(self): self.repository.logger.info("done", level=3)
    """
    tests = """
    import unittest
    from unittest.mock import MagicMock, Mock, patch
    class T(unittest.TestCase):
        def test_method(self):
            r = Repository(); r.load = MagicMock(return_value=[1, 2])
            self.assertEqual(Service(r).size(), 2)
            r.load.assert_called_once_with()
        def test_object(self):
            m = Mock(); m.load.return_value = "abc"
            s = Service(m)
            self.assertEqual(s.size(), 3)
            s.log()
            m.logger.info.assert_called_once_with("done", level=3)
        def test_patch(self):
            with patch.object(Repository, "load", return_value=[1]) as load:
                self.assertEqual(Service(Repository()).size(), 1)
            self.assertTrue(load.called)
            with self.assertRaises(OSError): Service(Repository()).size()
        def test_without_a_mock(self):
            Repository.load = lambda self: [1, 2, 3]
            self.assertEqual(Service(Repository()).size(), 3)
    """
    holds(program, tests)


def test_seeds_are_shared():
    program = "import random\ndef draw(): return [random.random() for _ in range(3)]"
    tests = """
    import random
    random.seed(7)
    first = draw()
    random.seed(7)
    assert draw() == first
    assert first[0] == random.Random(7).random()
    """
    holds(program, tests)


def test_a_failed_assertion_of_a_callback_is_not_silenced():
    program = "def each(f):\n    try: f(1)\n    except BaseException: pass\n    return 1"
    tests = """
    def look(x):
        assert x == 2
    assert each(look) == 1
    """
    assert not run(program, tests).passed


def test_annotations_are_the_programs_own():
    program = """
    import dataclasses
    @dataclasses.dataclass
    class P:
        x: int
        y: "int" = 3
    def kinds(): return [f.type is int for f in dataclasses.fields(P)]
    """
    holds(program, "assert kinds() == [True, False]\nassert P(1) == P(1, 3)\nassert P(1).y == 3")


@pytest.mark.parametrize(
    ("tests", "reason"),
    [
        (
            "from unittest.mock import patch\n@patch('time.time')\ndef test_a(m): assert f(1)",
            "time",
        ),
        ("class D(f):\n    pass\nassert D()", "derive"),
        ("import inspect\nassert inspect.signature(f)", "inspect"),
        ("import time\ntime.time = lambda: 0\nassert f(1)", "time.time"),
        ("import asyncio\nassert asyncio.run(f(1))", "asyncio"),
        ("import os\nos.environ['A'] = '1'\nassert f(1)", "environ"),
    ],
)
def test_tests_that_need_one_interpreter_say_so(tests, reason):
    result = run("def f(x): return x", tests)
    assert reason in (result.shared_needed or "")
    assert not result.passed


# -- one interpreter


def test_one_interpreter():
    program = "import time\nclass A:\n    def now(self): return time.time()\ndef f(x): return x"
    tests = textwrap.dedent("""
    import unittest
    from unittest.mock import patch
    class T(unittest.TestCase):
        @patch("time.time", return_value=5)
        def test_a(self, _): self.assertEqual(A().now(), 5)
        def test_b(self): self.assertEqual(A().now(), 5)
    assert f([1, (2,)]) == [1, (2,)]
    assert f(3) in (2, 3)
    """)
    result = judge_in_one(program, tests)
    assert result.error is None
    assert result.outcomes == [True, True, True, False]
    result = judge_in_one(program, "def check(c):\n    assert c(1) == 1", "f")
    assert result.passed, result


# -- real programs

SLOW = {123}  # takes a dozen seconds anywhere
# third-party packages, and one whose solution draws two mines that may fall on one field
NOT_HERE = {"ClassEval_34", "ClassEval_38", "ClassEval_58"}


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.slow
def test_all_mbpp_solutions_pass(shared_data):
    failed = {}
    for record in read(shared_data / "mbpp_sanitized_dev.jsonl"):
        if record["task_id"] in SLOW:
            continue
        result = judge(record["code"], "\n".join(record["test_imports"] + record["test_list"]))
        if not result.passed:
            failed[record["task_id"]] = result
    assert not failed


@pytest.mark.slow
def test_classeval_solutions_pass(shared_data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    failed, judged = {}, 0
    for record in read(shared_data / "classeval_dev.jsonl"):
        imports = "\n".join(record["import_statement"])
        result = judge(f"{imports}\n{record['solution_code']}", record["test"])
        if record["task_id"] in NOT_HERE or "No module named" in (result.error or ""):
            continue
        judged += 1
        wrong = {name for name, passed, _ in result.cases if not passed}
        # a file that may not be written stays writable for root
        wrong -= {f"JSONProcessorTestWriteJson.test_write_json_{i}" for i in (2, 3)}
        if result.error or wrong:
            failed[record["task_id"]] = (result.error, wrong)
    assert not failed
    assert judged >= 35


class Mutate(ast.NodeTransformer):
    """Changes the n-th operator, comparison or number of a program."""

    def __init__(self, n: int):
        self.left = n

    def visit(self, node):
        node = self.generic_visit(node)
        mutable = (ast.BinOp, ast.Compare, ast.Constant)
        if isinstance(node, mutable) and not isinstance(getattr(node, "value", 0), str):
            self.left -= 1
            if self.left == 0:
                if isinstance(node, ast.BinOp):
                    node.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
                elif isinstance(node, ast.Compare):
                    node.ops = [ast.NotEq() if isinstance(node.ops[0], ast.Eq) else ast.Eq()]
                    node.comparators = node.comparators[:1]
                elif isinstance(node.value, (int, float)):
                    return ast.Constant(node.value + 1)
        return node


@pytest.mark.slow
def test_mutated_solutions_fail_where_they_fail_plainly(shared_data):
    wrong = passed = 0
    for number, record in enumerate(read(shared_data / "mbpp_sanitized_dev.jsonl")):
        if record["task_id"] in SLOW:
            continue
        tests = "\n".join(record["test_imports"] + record["test_list"])
        tree = Mutate((1, 3, 5)[number % 3]).visit(ast.parse(record["code"]))
        program = ast.unparse(ast.fix_missing_locations(tree))
        plainly = passes_plainly(f"{program}\n{tests}\n", 0.5)
        result = judge(program, tests, time_limit=60 if plainly else 2)
        assert result.passed == plainly, (record["task_id"], program, result)
        wrong, passed = wrong + (not plainly), passed + plainly
    assert wrong > 100
    assert passed > 20
