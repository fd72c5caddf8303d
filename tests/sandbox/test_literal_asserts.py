"""Asserts read as calls: which texts convert, and that each means what it means in Python."""

from __future__ import annotations

import json
import math

import pytest

from llmzoo.sandbox.judge.literal_asserts import read_call_cases


def one(test: str, entry_point: str | None = None):
    cases = read_call_cases(test, entry_point)
    assert cases is not None
    (case,) = cases
    return case


def test_a_call_its_arguments_and_its_name():
    case = one("assert f([1, -2], (3,), k={'a': 2.5}) == {1, 2}, 'no set'")
    assert case.function == "f"
    assert case.args == ([1, -2], (3,))
    assert case.kwargs == {"k": {"a": 2.5}}
    assert case.name == "assert f([1, -2], (3,), k={'a': 2.5}) == {1, 2}, 'no set'"
    assert case.is_correct({2, 1})
    assert not case.is_correct([1, 2])


VALUES = [
    *(None, True, False, 0, 1, 2, -1, 3, 1.0, 0.5, 2.0000001, math.nan, math.inf, 1j, 10**400),
    *("", "a", "ab", "1", b"a", [], [1], [1, 2], [2, 1], [1, [2]], (), (1,), (1, 2), [True], [1.0]),
    *({}, {"a": 1}, {1: 2}, {1: 2.0}, set(), {1, 2}, frozenset({1, 2}), [math.nan], [[1], [2]]),
    *(["a", 1], [None], {"a": [1, (2,)]}, "None", [3, 2, 1], 2.004),
]

CONDITIONS = """
f(0) == 1 // f(0) == True // f(0) == 1.0 // f(0) == [1, 2] // f(0) == (1, 2) // f(0) == 'a'
f(0) == {1, 2} // f(0) == {1: 2} // f(0) == {'a': [1, (2,)]} // f(0) == None // f(0) == []
f(0) != 1 // 1 == f(0) // [1, 2] == f(0) // f(0) is None // f(0) is True // f(0) is not None
None is f(0) // f(0) // not f(0) // not f(0) == 1 // not not f(0) // f(0) < 2 // f(0) >= 2
f(0) in [1, 2] // f(0) not in (1, 'a') // f(0) in 'abc' // f(0) == float('nan')
abs(f(0) - 2) < 1e-6 // abs(f(0) - 2.0) <= 0.01 // abs(f(0)) == 1 // f(0) - 1 == 0
math.isclose(f(0), 2) // math.isclose(f(0), 2, rel_tol=0.01) // math.isclose(2, f(0))
math.isclose(f(0), 2, abs_tol=1, rel_tol=0) // round(f(0), 2) == 2.0 // round(f(0)) == 2
set(f(0)) == {1, 2} // set(f(0)) == set([2, 1]) // sorted(f(0)) == [1, 2] // len(f(0)) == 2
tuple(f(0)) == (1, 2) // list(f(0)) == [1, 2] // sorted(set(f(0))) == [1, 2] // sum(f(0)) == 3
str(f(0)) == '1' // bool(f(0)) is True // int(f(0)) == 1 // float(f(0)) == 1.0 // f(0)[0] == 1
max(f(0)) == 2 // all(f(0)) // any(f(0)) == True // f(0)[1:] == [2] // f(0) == [float('nan')]
f(0) == 10 ** 400 // f(0) == [0] * 2 + [1] // f(0) == -1 // f(0) == 1 + 0j // f(0) == (1, 2) or 1
"""


@pytest.mark.parametrize("condition", CONDITIONS.strip().replace("\n", " // ").split(" // "))
def test_every_condition_means_what_it_means_in_python(condition):
    cases = read_call_cases(f"import math\nassert {condition}", None)
    if " or " in condition:
        assert cases is None
        return
    assert cases is not None
    (case,) = cases
    for value in VALUES:
        try:
            expected = bool(eval(condition, {"f": lambda _, value=value: value, "math": math}))
        except Exception:
            expected = False
        if condition == "all(f(0))" and value is not None and value in ("", [], (), {}, set()):
            expected = False  # beyond Python: a check that compares nothing is no pass
        assert case.is_correct(value) is expected, (condition, value)


@pytest.mark.parametrize(
    "test",
    [
        *(
            "assert f(1) == f(2)",
            "assert f(x) == 1",
            "x = 3\nassert f(3) == 1",
            "assert f(g(1)) == 1",
        ),
        *(
            "assert f(1) == 1 and f(2) == 2",
            "assert 0 < f(1) < 2",
            "assert a.f(1) == 1",
            "assert 1 == 1",
        ),
        *(
            "for i in range(3):\n    assert f(i) == i",
            "def g(): pass\nassert f(1) == 1",
            "x = 1",
            "",
        ),
        *(
            "assert f(*[1]) == 1",
            "assert f(**{'a': 1}) == 1",
            "assert f(lambda: 1) == 1",
            "assert f(1",
        ),
        *(
            "assert f(1) is 3",
            "assert f(1) == [x for x in (1,)]",
            "assert f(f'{1}') == 1",
            "assert f(...)",
        ),
        *("from solution import f\nassert f(1) == 1", "import numpy\nassert f(1) == 1"),
        *("from math import *\nassert f(1) == 1", "assert sorted(f(1), key=len) == [1]"),
        *(
            "assert f(10 ** 10 ** 10) == 1",
            "assert f('x' * 10 ** 9) == 1",
            "assert f({[]: 1}) == 1",
        ),
        *("assert f(1 / 0) == 1", "assert sum(f(1), []) == [1]", "assert cmath.isclose(f(1), 1)"),
        *(
            "from operator import truth as sorted\nassert sorted(f(1)) == [1]",
            "import unittest\nf(1)",
        ),
        *(
            "assert f(1) == 1\nraise ValueError",
            "assert f(1) == 1\nassert f(y) == 1",
            "f(1)\nassert f(1)",
        ),
        *("assert (x := f(1)) == 1", "async def g(): pass\nassert f(1)", "assert f(1) == 1; del f"),
    ],
)
def test_other_texts_do_not_convert(test):
    assert read_call_cases(test, None) is None


def test_check():
    tests = """
METADATA = {'author': 'x'}


def check(candidate):
    "Two cases."
    assert True, "This prints if this assert fails 1 (good for debugging!)"
    assert candidate([1.0, 2.0], 0.3) == True
    assert candidate([1.0],
                     0.5) == False, "across lines"
    assert double(2) == 4
"""
    cases = read_call_cases(tests, "close")
    assert cases is not None
    assert [case.function for case in cases] == ["close", "close", "double"]
    assert cases[1].name == 'assert candidate([1.0], 0.5) == False, "across lines"'
    assert read_call_cases(tests + "\ncheck(close)\n", "close") is not None
    assert read_call_cases(tests, None) is None
    assert (
        read_call_cases("def check(candidate):\n    assert candidate(1) == 1\nassert f(1)", "f")
        is None
    )
    loop = "def check(candidate):\n    for i in range(3):\n        assert candidate(i) == i"
    assert read_call_cases(loop, "f") is None


def test_builtins_that_the_program_replaces():
    cases = read_call_cases("assert sum(10, 15) == 6\nassert sum(4, 6) == 3", None)
    assert cases is not None
    assert [case.function for case in cases] == ["sum", "sum"]
    assert one("assert sorted([2, 1]) == [1, 2]", "sorted").function == "sorted"
    assert one("assert sorted(f([2, 1])) == [1, 2]").function == "f"
    assert read_call_cases("assert sum(1, 2) == 3\nassert max(1, 2) == 2", None) is None


def test_math_is_pythons_without_an_import():
    assert one("assert math.isclose(f(1), 2.0)").is_correct(2.0)
    assert one("from math import isclose as near\nassert near(f(1), 2.0)").is_correct(2.0)
    assert one("import math as m\nassert m.isclose(f(1), 2.0)").is_correct(2.0)


def test_hostile_values_are_judged_at_once():
    modulus = 2**61 - 1
    colliding = [modulus * i for i in range(100_000)]
    assert not one("assert set(f(1)) == {1}").is_correct(colliding)
    nested: list = []
    for _ in range(90):
        nested = [nested]
    assert not one("assert f(1) == [1]").is_correct(nested)
    assert not one("assert abs(f(1) - 0.5) < 1e-6").is_correct(10**5000)
    assert not one("assert str(f(1)) == '1'").is_correct(10**5000)
    assert not one("assert int(f(1)) == 1").is_correct("9" * 1_000_000)
    assert not one("assert f(1) == 1.0").is_correct(10**5000)


def test_every_mbpp_test_converts(shared_data):
    lines = (shared_data / "mbpp_sanitized_dev.jsonl").read_text().splitlines()
    for record in map(json.loads, lines):
        cases = read_call_cases("\n".join(record["test_imports"] + record["test_list"]), None)
        assert cases is not None, record["task_id"]
        assert len(cases) == len(record["test_list"])
