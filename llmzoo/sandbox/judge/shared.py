"""Runs program and tests in one interpreter, for tests that cannot be judged otherwise.

These verdicts can be forged: a program can read and change everything in its process, and answer the
host in place of the tests. Cheap measures make this harder. The tests arrive after the program has
loaded. Every outcome is sent at once. The judging code is compared with its earlier state. Tests that
must fail are run too. Objects of the program's classes do not decide how they compare with data.
"""

from __future__ import annotations

import ast
import sys
from types import ModuleType
from typing import Any

from ..confine.channel import Channel
from . import candidate, isolation_requirements
from .cases import Cases
from .library_names import library_names
from .run_cases import run_cases
from .safe_comparison import (
    OPERAND_GUARD,
    OperandGuard,
    SafeComparisons,
    existing_classes,
    make_operand_guard,
)
from .tamper_detection import make_tamper_check, run_controls
from .tester import MODULE, case_outcomes
from .texts import describe_error

_JUDGING_MODULES = (
    "json",
    "json.encoder",
    *(f"unittest{part}" for part in ("", ".case", ".suite", ".result")),
)


def judge_shared(host: Channel, source: str, entry_point: str | None, prelude: str = "") -> None:
    """Load the program, run the tests and send ``host`` a result as :func:`.tester.judge` does.

    The host answers ``["loaded"]`` with ``["tests", text]``. ``["case", number, error]`` reports each
    case when it ends. After the tests, the host answers ``["ended"]`` with ``["nonce", number]``, and
    the result contains the number.
    """
    result: dict[str, Any] = {"cases": [], "calls": 0, "error": None, "shared_needed": None}
    cases: Cases | None = None
    try:
        guard = make_operand_guard(existing_classes())
        find_change = make_tamper_check(sys.modules[name] for name in _watched_modules())
        module = candidate.load(source, prelude=prelude)
        trouble = find_change()
        if not trouble:
            host.send(["loaded"])
            _, tests = host.receive()
            cases = Cases(tests, lambda number, error: host.send(["case", number, error]))
            trouble = _run_tests(cases, module, entry_point, prelude, guard, result)
            trouble = find_change() or run_controls() or trouble
            host.send(["ended"])
            _, result["nonce"] = host.receive()
        result["error"] = trouble or None
    except BaseException as error:
        result["error"] = describe_error(error)
    result["cases"] = case_outcomes(cases)
    host.send(["result", result])


def _watched_modules() -> list[str]:
    package = __name__.removesuffix("judge.shared")
    judging = [name for name in sys.modules if name.startswith(package)]
    return [*judging, *(name for name in _JUDGING_MODULES if name in sys.modules)]


def _run_tests(
    cases: Cases,
    program: ModuleType,
    entry_point: str | None,
    prelude: str,
    guard: OperandGuard,
    result: dict[str, Any],
) -> str:
    uses = isolation_requirements.read_uses(cases.tree, cases.nodes)
    cases.tree = ast.fix_missing_locations(SafeComparisons().visit(cases.tree))
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    names = vars(module)
    if prelude:
        exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), names)
    _fill_namespace(names, vars(program), cases, uses, entry_point)
    names.update(dict.fromkeys(uses.modules, program))
    names[OPERAND_GUARD] = guard
    if entry_point is not None and entry_point not in vars(program):
        return f"the program defines no {entry_point!r}"
    trouble = run_cases(cases, names, names.get(entry_point or ""))
    result["calls"] = len(cases.cases)  # calls within one interpreter are not counted
    return trouble or ("" if cases.cases else "the tests contain no test")


def _fill_namespace(
    names: dict[str, Any],
    program: dict[str, Any],
    cases: Cases,
    uses: isolation_requirements.Uses,
    entry_point: str | None,
) -> None:
    """Define the names that the tests use, see :mod:`isolation_requirements`."""
    program_names = isolation_requirements.builtins_under_test(cases.nodes, uses) | {
        entry_point or ""
    }
    library_objects = library_names(cases.nodes, uses, program_names)
    names.update({name: value for name, value in library_objects.items() if name not in names})
    for name, value in program.items():
        if name in program_names or not (
            name in names or name.startswith("__") or isolation_requirements.is_builtin(name)
        ):
            names[name] = value
    for name in uses.undefined - program_names:
        if (
            not isolation_requirements.is_builtin(name)
            and (known := isolation_requirements.standard_object(name, uses)) is not None
        ):
            names[name] = known
    for here, there in uses.imported.items():
        if there in program:
            names[here] = program[there]
