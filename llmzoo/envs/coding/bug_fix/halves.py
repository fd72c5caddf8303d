"""The split view of a broken program: the locator reads its tests, the fixer its code.

What a program is meant to do belongs to the tests: the locator reads the docstrings, which hold calls with
their results, and the fixer reads the code without them.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache

from llmzoo.envs.coding import mutations
from llmzoo.envs.coding.bug_fix.tasks import BugTask, Call
from llmzoo.envs.messages import quoted
from llmzoo.envs.text import cut
from llmzoo.sandbox import syntax
from llmzoo.sandbox.results import CaseResult

MAX_VALUE_CHARS = 300
TRIED = "It was tried, and some tests still fail."
UNUSABLE = "It could not be used."

LOCATOR_ROLE = (
    "You are the locator. A program has a mistake in one or two places. You see what it is meant to do and "
    "the results of its tests; the fixer sees its code. Only the fixer repairs it, so that all its tests pass, "
    "including those that are not shown. The fixer knows nothing of your half except what you write to it. You read "
    "its answer before you write again."
)
FIXER_ROLE = (
    "You are the fixer. A program has a mistake in one or two places. You see its code; the locator sees what "
    "it is meant to do and the results of its tests. Say where the mistake is, and repair the program so that all its "
    "tests pass. The locator reads the first {limit} characters of your answer before it writes again."
)


@lru_cache(maxsize=4096)
def without_docstrings(source: str) -> str:
    """The program without the docstrings of its functions, as ``ast.unparse`` writes it."""
    tree = syntax.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(ast.fix_missing_locations(tree))


def locations(task: BugTask) -> frozenset[tuple[str, int]]:
    """The functions and lines where the code without docstrings is broken."""
    return mutations.locations(
        without_docstrings(task.program.source), without_docstrings(task.broken)
    )


def purposes(source: str) -> str:
    """The docstrings of a program's functions, each under the function's name."""
    known = {
        node.name: ast.get_docstring(node)
        for node in syntax.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    return "\n\n".join(f"{name}:\n{text}" for name, text in known.items() if text)


def report(calls: Sequence[Call], cases: Sequence[CaseResult]) -> str:
    """How public tests end, those that pass too. What a program gives stays in one line."""
    failed = sum(not case.passed for case in cases)
    lines = [f"{failed} of {len(calls)} public tests fail:"]
    for call, case in zip(calls, cases, strict=True):
        given, expected = written(call)
        got = " ".join((case.got or case.error).split())
        end = "passes" if case.passed else f"got {cut(got, MAX_VALUE_CHARS)}"
        lines += [f"  {given}", f"    expected {expected}", f"    {end}"]
    return "\n".join(lines)


def written(call: Call) -> tuple[str, str]:
    """A call and what it is expected to return, as text."""
    name, args, expected = call
    given = cut(", ".join(map(repr, args)), MAX_VALUE_CHARS)
    return f"{name}({given})", cut(repr(expected), MAX_VALUE_CHARS)


def locator_prompt(
    purposes: str,
    ends: str,
    heading: str,
    own: str | None,
    answer: str | None,
    after: str,
    limit: int,
) -> str:
    """What the locator reads.

    ``ends``: how the tests of the broken program end, ``after``: those of the last fix. ``own``: what is to
    be said of the agent's last message. ``answer``: the fixer's last answer, None before the first.
    """
    lines = [
        LOCATOR_ROLE,
        "",
        "What the program is meant to do:",
        "",
        purposes,
        "",
        ends,
        "",
        heading,
    ]
    lines += ["", own] if own else []
    if answer is not None:
        lines += ["", "The fixer's last answer:", quoted(answer, limit), "", after]
    return "\n".join(
        [
            *lines,
            "",
            f"Write a message to the fixer, of at most {limit} characters.",
            "Your message:",
        ]
    )


def fixer_prompt(
    code: str,
    heading: str,
    heard: str | None,
    answer: str | None,
    told: str,
    forms: Sequence[str],
    limit: int,
) -> str:
    """What the fixer reads. ``code``: with line numbers. ``heard``: the locator's last message. ``answer``:
    the agent's own last answer, ``told``: what came of it. ``forms``: how to answer."""
    lines = [FIXER_ROLE.format(limit=limit), "", "The program:", "", code, "", heading]
    lines += ["", "The locator wrote:", quoted(heard)] if heard is not None else []
    lines += (
        ["", "Your last answer:", quoted(answer, len(answer)), "", told]
        if answer is not None
        else []
    )
    return "\n".join([*lines, "", *forms, "", "Your answer:"])
