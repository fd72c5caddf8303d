"""What a verdict tells of a program can be written to a file, whatever the program said."""

from __future__ import annotations

import pytest
from sandboxes import AMPLE, at

RAISES = "def f(x): raise ValueError('a\\ud800')"
FAILS = "raise ValueError('a\\ud800')"
TESTS = {
    "literal": "assert f(3) == 9",
    "separate": "expected = 9\nassert f(3) == expected",
}


@pytest.mark.parametrize("tests", TESTS.values(), ids=list(TESTS))
@pytest.mark.parametrize("program", [RAISES, FAILS], ids=["raised in a call", "raised at loading"])
def test_a_lone_surrogate_is_escaped(program, tests):
    result = at(3).check(program, tests, limits=AMPLE)
    said = [result.error, *(case.error for case in result.cases)]
    assert any("ValueError: a\\ud800" in text for text in said), said
    for text in said:
        text.encode("utf-8")
