"""The facts that a syntax tree tells, and what they are worth, by worked examples."""

from __future__ import annotations

import pytest

from llmzoo.envs.coding.functions import scoring
from llmzoo.envs.coding.functions.scoring import (
    Facts,
    collect_facts,
    does_work,
    find_uses,
    returns_value,
    reward_components,
)
from llmzoo.envs.coding.programs import functions

AUX = "def aux(x):\n    return x + 1"


def only(source):
    (function,) = functions(source).values()
    return function


def main(body):
    lines = "\n".join(f"    {line}" for line in body.split("\n"))
    return only(f"def f(a, b=None):\n{lines}")


def test_the_weights_are_the_published_ones():
    for scale, full in (("paper", 4.0), ("unit", 1.0)):
        positive = [weight for weight in scoring.WEIGHTS[scale].values() if weight > 0]
        assert sum(positive) == pytest.approx(full)
        assert scoring.FULL[scale] == full
    assert min(scoring.WEIGHTS["paper"].values()) == -0.5


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (AUX, True),
        ("def aux(x):\n    yield x", True),
        ("def aux(x):\n    if x:\n        return x", True),
        ("def aux(x):\n    x + 1", False),
        ("def aux(x):\n    return", False),
        ("def aux(x):\n    return None", False),
        ("def aux(x):\n    def inner():\n        return x", False),
        ("def aux(x):\n    if False:\n        return x", False),
        ("def aux(x):\n    g = lambda: x\n    pass", False),
        ("def aux(x):\n    return 5", True),
        ("def aux(x):\n    y = x\n    return None\n    return y", False),
    ],
)
def test_returns_value(source, expected):
    assert returns_value(only(source)) is expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return aux(a)", ["used"]),
        ("return aux(a) + aux(b)", ["used", "used"]),
        ("return list(map(aux, a))", ["used"]),
        ("aux(a)\nreturn a", ["ignored"]),
        ("x = aux(a)\nreturn a", ["ignored"]),
        ("_ = aux(a)\nreturn a", ["ignored"]),
        ("x: int = aux(a)\nreturn a", ["ignored"]),
        ("x: int = aux(a)\nreturn x", ["used"]),
        ("x = aux(a)\nreturn x", ["used"]),
        ("out = []\nout.append(aux(a))\nreturn out", ["used"]),
        ("[aux(x) for x in a]\nreturn a", ["ignored"]),
        ("aux(a)\nreturn aux(b)", ["ignored", "used"]),
        ("if aux(a):\n    return b", ["used"]),
        ("yield aux(a)", ["used"]),
        ("b += aux(a)\nreturn b", ["used"]),
        ("[b.append(aux(x)) for x in a]\nreturn b", ["used"]),
        ("return a", []),
        ("return a\naux(a)", []),
        ("if False:\n    return aux(a)\nreturn a", []),
        ("while 0:\n    aux(a)\nreturn a", []),
        ("aux = len\nreturn aux(a)", []),
        ("def aux(x):\n    return x\nreturn aux(a)", []),
        ("return (lambda aux: aux(a))(len)", []),
        ("return 'aux(a)'", []),
        ("assert aux(a)\nreturn a", []),
    ],
)
def test_uses(body, expected):
    assert find_uses(main(body), "aux") == expected


def test_an_argument_called_aux_is_not_the_helper():
    assert find_uses(only("def f(aux):\n    return aux(1)"), "aux") == []


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return aux(a)", False),
        ("x = aux(a)\nreturn x", False),
        ("'''Says something.'''\nreturn list(aux(a, b))", False),
        ("assert a > 0\nreturn aux(a)", False),
        ("x: list[int] = aux(a)\nreturn x", False),
        ("try:\n    return aux(a)\nexcept ValueError:\n    return None", False),
        ("return aux(a)\nreturn a + 1", False),
        ("if True:\n    return aux(a)\nreturn a + 1", False),
        ("return (aux(a), -1)", False),
        ("n = 1 + 1\nreturn aux(a)", False),
        ("while False:\n    a += 1\nreturn aux(a)", False),
        ("return aux(a) + 1", True),
        ("return -aux(a)", True),
        ("return [aux(x) for x in a]", True),
        ("return sum(aux(a))", True),
        ("if a:\n    return aux(a)\nreturn b", True),
        ("return aux(a)[0]", True),
        ("return aux(a.strip())", True),
        ("return f'{aux(a)}'", True),
        ("for x in a:\n    b = aux(x)\nreturn b", True),
    ],
)
def test_does_work(body, expected):
    assert does_work(main(body), ["aux"]) is expected


def read(*sources, helpers=("aux",)):
    result = {name: node for source in sources for name, node in functions(source).items()}
    return collect_facts(result, helpers, "f", parses=True)


def test_facts_of_good_and_bad_programs():
    good = "def f(a):\n    return [aux(x) for x in a]"
    assert read(AUX, good) == Facts(1.0, True, True, 1.0, True, 0.0, 1.0)
    assert read(good) == Facts(0.0, True, True, 0.0, False, 0.0, 1.0)  # asked for, not written
    assert read(AUX) == Facts(1.0, False, True, 0.0, False, 0.0)
    assert read(AUX, "def f(a):\n    aux(a)\n    return a[0]") == Facts(
        1.0, True, True, 1.0, True, 1.0, 1.0
    )


def test_several_helpers_count_by_their_share():
    source = "def f(a):\n    aux_1(a)\n    return aux(a) + 1"
    result = read(AUX, "def aux_1(x):\n    x", source, helpers=("aux", "aux_1"))
    assert result == Facts(0.5, True, True, 1.0, True, 0.5, 1.0)


@pytest.mark.parametrize(
    ("result", "passed", "paper", "unit"),
    [
        (Facts(1, True, 1, 1, True, 0, 1), 1.0, 0.4 + 0.6 + 0.5 + 1.0 + 0.5 + 1.0, 1.0),
        (Facts(1, True, 1, 1, True, 0, 1), 0.25, 1.5 + 2.5 / 4, 0.04 + 0.96 / 4),
        (Facts(1, True, 1, 1, True, 0, 1), 0.0, 0.4 + 0.6 + 0.5, 0.04),
        (Facts(1, True, 1, 1, False, 0, 1), 1.0, 3.0, 0.04 + 0.384 + 0.192),
        (Facts(1, True, 1, 1, True, 1, 1), 1.0, 3.5, 1.0 - 0.192),
        (Facts(1, True, 1, 1, True, 1, 1), 0.5, 1.5 + 0.5 * 2.0, 0.04 + 0.5 * 0.768),
        (Facts(0, True, 1, 0, False, 0), 1.0, 2.1, 0.02 + 0.384),
        (Facts(0, True, 0.5, 0, False, 0), 0.5, 0.6 + 0.25 + 0.5, 0.0125 + 0.192),
        (Facts(1, False, 1, 0, False, 0), 0.0, 0.9, 0.025),
        (Facts(), 0.0, 0.0, 0.0),
        (Facts(0.5, True, 1, 1.0, True, 0.5, 1), 1.0, 0.2 + 0.6 + 0.5 + 2.5 - 0.25, 0.995 - 0.096),
    ],
)
def test_parts(result, passed, paper, unit):
    for scale, worth in (("paper", paper), ("unit", unit)):
        assert sum(reward_components(result, passed, scale).values()) == pytest.approx(worth)
        assert list(reward_components(result, passed, scale)) == list(scoring.WEIGHTS[scale])


@pytest.mark.parametrize(
    ("share", "floor", "worth"),
    [(1.0, 0.5, 1.0), (0.75, 0.5, 0.25), (0.5, 0.5, 0.0), (0.2, 0.5, 0.0), (0.5, 0.0, 0.25)],
)
def test_what_passed_tests_count(share, floor, worth):
    assert scoring.score_tests(share, floor) == pytest.approx(worth)
