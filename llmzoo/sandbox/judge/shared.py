"""Program and tests in one interpreter, for tests that nothing else can serve.

No promise is made about these verdicts: a program can read and change all that is in its process, and
speak to the host in place of the tests. What is cheap to do against it is done. The tests come after
the program has loaded; every outcome is told to the host at once; what judges is compared with how it
was before; tests that must fail are run beside those that should pass; objects of classes that were
made since do not decide how they compare.
"""

from __future__ import annotations

import ast
import sys
from types import ModuleType
from typing import Any

from ..confine.channel import Channel
from . import candidate, needs
from .cases import Cases
from .honest import HONEST, HonestComparisons, Look, classes, honest
from .run_cases import run_cases
from .tester import MODULE, outcomes
from .texts import in_words
from .tripwires import arm, controls

_JUDGING = (
    "json",
    "json.encoder",
    "unittest",
    "unittest.case",
    "unittest.suite",
    "unittest.result",
)


def judge_shared(host: Channel, source: str, entry_point: str | None, prelude: str = "") -> None:
    """Load the program, run the tests and send ``host`` a result as :func:`tester.judge` does.

    ``["loaded"]`` is sent once the program has loaded, and ``["tests", text]`` is expected in answer.
    ``["case", number, error]`` tells the outcome of each case when it comes about. ``["ended"]`` is
    sent once the tests have ended, ``["nonce", number]`` is expected in answer, and the result holds
    the number under "nonce".
    """
    result: dict[str, Any] = {"cases": [], "calls": 0, "error": None, "shared_needed": None}
    cases: Cases | None = None
    try:
        look = honest(classes())
        changed = arm(sys.modules[name] for name in _to_watch())
        module = candidate.load(source, prelude=prelude)
        trouble = changed()
        if not trouble:
            host.send(["loaded"])
            _, tests = host.receive()
            cases = Cases(tests, lambda number, error: host.send(["case", number, error]))
            trouble = _run(cases, module, entry_point, prelude, look, result)
            trouble = changed() or controls() or trouble
            host.send(["ended"])
            _, result["nonce"] = host.receive()
        result["error"] = trouble or None
    except BaseException as error:
        result["error"] = in_words(error)
    result["cases"] = outcomes(cases)
    host.send(["result", result])


def _to_watch() -> list[str]:
    package = __name__.removesuffix("judge.shared")
    judging = [name for name in sys.modules if name.startswith(package)]
    return [*judging, *(name for name in _JUDGING if name in sys.modules)]


def _run(
    cases: Cases,
    program: ModuleType,
    entry_point: str | None,
    prelude: str,
    look: Look,
    result: dict[str, Any],
) -> str:
    found = needs.uses(cases.tree, cases.nodes)
    cases.tree = ast.fix_missing_locations(HonestComparisons().visit(cases.tree))
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module
    names = vars(module)
    if prelude:
        exec(compile(prelude, "<prelude>", "exec", dont_inherit=True), names)
    _fill(names, vars(program), cases, found, entry_point)
    names.update(dict.fromkeys(found.modules, program))
    names[HONEST] = look
    if entry_point is not None and entry_point not in vars(program):
        return f"the program defines no {entry_point!r}"
    trouble = run_cases(cases, names, names.get(entry_point or ""))
    result["calls"] = len(cases.cases)  # there is no wall to cross, and nobody to count
    return trouble or ("" if cases.cases else "the tests contain no test")


def _fill(
    names: dict[str, Any],
    program: dict[str, Any],
    cases: Cases,
    found: needs.Uses,
    entry_point: str | None,
) -> None:
    """Give the tests what they use: see :mod:`needs` for what comes from where."""
    programs = {*needs.called_builtins(cases.nodes, found), entry_point}
    for name, value in program.items():
        if name in programs or not (
            name in names or name.startswith("__") or needs.is_builtin(name)
        ):
            names[name] = value
    for name in found.wanted - programs:
        if not needs.is_builtin(name) and (known := needs.standard(name, found)) is not None:
            names[name] = known
    for here, there in found.imported.items():
        if there in program:
            names[here] = program[there]
