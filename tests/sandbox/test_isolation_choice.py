"""The tests decide how a program is judged, whatever it returns or raises."""

from __future__ import annotations

import pytest
from sandboxes import AMPLE, at

LITERAL = "assert f(3) == 9\nassert f(4) == 16"

# each would be judged in separate isolation if a program had a say
PROGRAMS = {
    "an object": "class A: pass\ndef f(x): return A()",
    "an object that equals": "class A:\n    def __eq__(self, other): return True\ndef f(x): return A()",
    "a list of objects": "class A: pass\ndef f(x): return [A()]",
    "a function": "def f(x): return f",
    "itself": "def f(x):\n    r = []\n    r.append(r)\n    return r",
    "a range": "def f(x): return range(x)",
    "an object the second time": "def f(x): return 9 if x == 3 else object()",
    "a raised class of that name": "E = type('not plain data', (Exception,), {})\ndef f(x): raise E",
    "a raised class of such a name": (
        "E = type('not plain data: A', (Exception,), {})\ndef f(x): raise E('separate')"
    ),
    "a raised text": "def f(x): raise ValueError('not plain data')",
    "a class of a lying name": (
        "class A: pass\nA.__name__ = A.__qualname__ = 'not plain data'\ndef f(x): return A()"
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_asserts_about_literals_stay_data(box, name):
    verdict = box.check(PROGRAMS[name], LITERAL, limits=AMPLE)
    assert (verdict.isolation, verdict.total, verdict.ok) == ("data", 2, False), verdict


@pytest.mark.parametrize(
    ("program", "tests"),
    [
        ("def f(x): return range(x)", "assert list(f(3)) == [0, 1, 2]\nassert sum(f(3)) == 3"),
        ("def f(x): return (i for i in range(x))", "assert sorted(f(3)) == [0, 1, 2]"),
        ("def f(x): return map(str, range(x))", "assert tuple(f(2)) == ('0', '1')"),
        ("def f(x): return {1: x}.keys()", "assert set(f(3)) == {1}\nassert len(f(3)) == 1"),
        ("def f(x): return {1: x}.values()", "assert max(f(3)) == 3\nassert all(f(3))"),
        ("import re\ndef f(x): return re.match('a', x)", "assert f('a')\nassert f('b') is None"),
        (
            "import re\ndef f(x): return re.match('a', x)",
            "assert f('a') is not None\nassert not f('b')",
        ),
        ("from collections import deque\ndef f(x): return deque([x])", "assert f(3)[0] == 3"),
        ("from collections import deque\ndef f(x): return deque([x])", "assert f(3)[-1] == 3"),
        (
            "class A:\n    def __str__(self): return 'A'\ndef f(x): return A()",
            "assert str(f(3)) == 'A'",
        ),
        (
            "class A:\n    def __len__(self): return 4\ndef f(x): return A()",
            "assert len(f(3)) == 4",
        ),
        ("class A: pass\ndef f(x): return [A(), A()]", "assert len(f(3)) == 2\nassert any(f(3))"),
        (
            "from decimal import Decimal\ndef f(x): return Decimal(x)",
            "assert f('2.5') == 2.5\nassert f('0.1') != 0.1\nassert str(f('2.50')) == '2.50'\n"
            "assert abs(f('2.5') - 2) <= 0.5\nassert round(f('2.51'), 1) == 2.5\nassert int(f('7.9')) == 7",
        ),
        (
            "from fractions import Fraction\ndef f(x): return [Fraction(1, x)]",
            "assert f(2) == [0.5]\nassert f(4)[0] < 0.3\nassert str(f(2)[0]) == '1/2'",
        ),
    ],
)
def test_honest_values_that_are_no_plain_data_pass_as_data(program, tests):
    verdict = at().check(program, tests, limits=AMPLE)
    assert (verdict.isolation, verdict.status) == ("data", "passed"), verdict


@pytest.mark.parametrize(
    "program",
    [
        "from decimal import Decimal\ndef f(x): return Decimal('1e999999999')",
        "from decimal import Decimal\ndef f(x): return Decimal('nan')",
        "def f(x): return range(10 ** 15)",
        "class A:\n    def __len__(self): return 10 ** 15\ndef f(x): return A()",
        "class A:\n    def __iter__(self): raise SystemExit\ndef f(x): return A()",
    ],
)
def test_values_that_are_too_large_end_in_the_programs_process(program):
    tests = "assert len(f(3)) == 2" if "__len__" in program else "assert list(f(3)) == [9]"
    assert not at().check(program, tests, limits=AMPLE).ok
