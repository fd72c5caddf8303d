"""What the judge makes of a tester's report: when tests pass, what is shown, and why none is given."""

from __future__ import annotations

import pytest

from llmzoo.sandbox.confine.plain_data import NotData
from llmzoo.sandbox.judge.asserts import parse_outcome, shared_judging_reason

SAME = "def f(x):\n    return x\n"
LOUD = "import sys\ndef f(x):\n    print('look', file=sys.stderr)\n    return x\n"


def test_tests_that_never_call_the_program_do_not_pass(strongest):
    verdict = strongest.check(SAME, "assert 1 == 1\n")
    assert (verdict.status, verdict.isolation) == ("failed", "separate")
    assert [case.passed for case in verdict.cases] == [True]
    assert verdict.error == "the tests never called the program"


def test_a_value_that_is_no_plain_data_is_wrong_where_the_tests_expect_a_literal(strongest):
    """Both cases are calls with plain data; the second gives a value that cannot be sent as such."""
    program = "def f(x):\n    return range(x) if x else 0\n"
    verdict = strongest.check(program, "assert f(0) == 0\nassert f(2) == [0, 1]")
    assert (verdict.status, verdict.isolation) == ("failed", "data")
    assert [case.passed for case in verdict.cases] == [True, False]
    assert verdict.cases[1].error == "not plain data: range"


def test_what_a_wrong_program_writes_to_stderr_is_shown(strongest):
    verdict = strongest.check(LOUD, "for i in [1]:\n    assert f(i) == 2")
    assert (verdict.status, verdict.error) == ("failed", "look\n")
    assert strongest.check(LOUD, "for i in [1]:\n    assert f(i) == 1").error == ""


@pytest.mark.parametrize(
    ("tests", "why"),
    [
        ("assert f(1) == 1", ""),
        ("for x in [1]:\n    assert f(x) == 1", ""),
        (
            "from unittest import mock\nwith mock.patch('time.time'):\n    assert f(1)",
            "the tests patch time.time",
        ),
    ],
)
def test_why_tests_need_the_programs_own_interpreter(tests, why):
    assert shared_judging_reason(tests) == why


@pytest.mark.parametrize("message", [7, ["nothing", {"cases": []}], ["result", {"cases": [1]}]])
def test_a_malformed_message_is_refused(message):
    with pytest.raises(NotData, match="malformed"):
        parse_outcome(message)
