"""A judge for trusted programs, so that tests of environments need no sandbox."""

from __future__ import annotations

import ast

from llmzoo.sandbox.results import CaseResult, Verdict


def check(code, tests, entry_point=None, prelude="", limits=None):
    """Runs program and asserts in this process: for programs of the tests themselves only."""
    namespace: dict = {}
    try:
        exec(f"{prelude}\n{code}", namespace)
    except Exception as error:
        return Verdict(status="error", passed=0, total=1, error=repr(error))
    if "def check(" in tests:
        body = ast.parse(tests).body
        (function,) = [n for n in body if getattr(n, "name", "") == "check"]
        statements = function.body
        namespace["candidate"] = namespace[entry_point]
    else:
        statements = ast.parse(tests).body
    cases = []
    for statement in statements:
        try:
            exec(compile(ast.Module([statement], []), "test", "exec"), namespace)
            cases.append(CaseResult(passed=True))
        except Exception as error:
            cases.append(CaseResult(passed=False, error=type(error).__name__))
    passed = sum(case.passed for case in cases)
    status = "passed" if passed == len(cases) else "failed"
    return Verdict(status=status, passed=passed, total=len(cases), cases=tuple(cases))
