"""Runs the cases of a text of tests, ``unittest`` classes included.

A method of a ``unittest`` class passes only if the runner reports a success. A skipped test, an expected
failure and a test that stops early do not pass.
"""

from __future__ import annotations

import unittest
from typing import Any

from .cases import RECORDER, Case, Cases
from .texts import describe_error


def run_cases(cases: Cases, names: dict[str, Any], entry: Any) -> str:
    """Execute the tests in a namespace and try every case. Returns the error outside them, or "".

    ``entry``: the argument of ``check``.
    """
    names[RECORDER] = cases
    trouble = ""
    try:
        exec(compile(cases.tree, "<tests>", "exec", dont_inherit=True), names)
        if cases.check is not None and not cases.calls_check:
            names["check"](entry)
    except BaseException as error:
        trouble = describe_error(error)
    for name in cases.functions:
        with cases.add(name):
            names[name]()
    if cases.unittest:
        trouble = trouble or _run_unittests(cases, names)
    return trouble


class _Results(unittest.TestResult):
    """Records outcomes in the cases, without tracebacks, which are slow to make."""

    def __init__(self, cases: dict[unittest.TestCase, Case]):
        super().__init__()
        self._cases = cases
        self.error = ""  # of a fixture of a class or module

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        if test in self._cases:
            self._cases[test].begin()

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._end(test, None)

    def addError(self, test: Any, err: Any) -> None:
        self._end(test, describe_error(err[1]))

    def addFailure(self, test: Any, err: Any) -> None:
        self._end(test, describe_error(err[1]))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._end(test, describe_error(err[1]))

    def addSkip(self, test: Any, reason: str) -> None:
        self._end(test, f"skipped: {reason}"[:200])

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._end(test, "failed as expected, which proves nothing")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._end(test, "succeeded against expectation")

    def _end(self, test: Any, error: str | None) -> None:
        if test in self._cases:
            self._cases[test].end(error)
        else:
            self.error = self.error or f"{test}: {error}"[:500]


def _run_unittests(cases: Cases, names: dict[str, Any]) -> str:
    """Run the unittest classes that a module with these names defines. Returns the error outside of
    the tests, or ""."""
    suite = unittest.TestSuite()
    tests: dict[unittest.TestCase, Case] = {}
    for kind in dict.fromkeys(value for value in names.values() if isinstance(value, type)):
        if not issubclass(kind, unittest.TestCase) or kind.__module__ != names["__name__"]:
            continue
        for name in unittest.defaultTestLoader.getTestCaseNames(kind):
            test = kind(name)
            tests[test] = cases.add(f"{kind.__name__}.{name}")
            suite.addTest(test)
    results = _Results(tests)
    suite.run(results)
    return results.error
