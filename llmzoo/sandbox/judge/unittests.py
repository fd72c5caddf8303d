"""unittest classes as cases: a method passes when the runner has said that it succeeded.

Skipped, expected to fail, stopped half-way: all that is no success.
"""

from __future__ import annotations

import unittest
from typing import Any

from .cases import Case, Cases
from .texts import in_words


class _Results(unittest.TestResult):
    """Writes the runner's words into the cases; keeps no tracebacks, which are slow to make."""

    def __init__(self, cases: dict[unittest.TestCase, Case]):
        super().__init__()
        self._cases = cases
        self.error = ""  # of a fixture of a class or module

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._end(test, None)

    def addError(self, test: Any, err: Any) -> None:
        self._end(test, in_words(err[1]))

    def addFailure(self, test: Any, err: Any) -> None:
        self._end(test, in_words(err[1]))

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
        if err is not None:
            self._end(test, in_words(err[1]))

    def addSkip(self, test: Any, reason: str) -> None:
        self._end(test, f"skipped: {reason}"[:200])

    def addExpectedFailure(self, test: Any, err: Any) -> None:
        self._end(test, "failed as expected, which proves nothing")

    def addUnexpectedSuccess(self, test: Any) -> None:
        self._end(test, "succeeded against expectation")

    def _end(self, test: Any, error: str | None) -> None:
        if test in self._cases:
            self._cases[test].ends(error)
        else:
            self.error = self.error or f"{test}: {error}"[:500]


def run_unittests(cases: Cases, names: dict[str, Any]) -> str:
    """Run the unittest classes that a module with these names defines; returns what went wrong
    outside any test."""
    suite = unittest.TestSuite()
    tests: dict[unittest.TestCase, Case] = {}
    for found in dict.fromkeys(value for value in names.values() if isinstance(value, type)):
        if not issubclass(found, unittest.TestCase) or found.__module__ != names["__name__"]:
            continue
        for name in unittest.defaultTestLoader.getTestCaseNames(found):
            test = found(name)
            tests[test] = cases.add(f"{found.__name__}.{name}")
            suite.addTest(test)
    results = _Results(tests)
    suite.run(results)
    return results.error
