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
from llmzoo.envs.messages import quote_message
from llmzoo.envs.text import truncate
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
        without_docstrings(task.program.source), without_docstrings(task.broken_source)
    )


def purposes(source: str) -> str:
    """The docstrings of a program's functions, each under the function's name."""
    known = {
        node.name: ast.get_docstring(node)
        for node in syntax.parse(source).body
        if isinstance(node, ast.FunctionDef)
    }
    return "\n\n".join(f"{name}:\n{text}" for name, text in known.items() if text)


def format_report(calls: Sequence[Call], cases: Sequence[CaseResult]) -> str:
    """How public tests end, those that pass too. What a program gives stays in one line."""
    failed = sum(not case.passed for case in cases)
    lines = [f"{failed} of {len(calls)} public tests fail:"]
    for call, case in zip(calls, cases, strict=True):
        given, expected = format_call(call)
        got = " ".join((case.got or case.error).split())
        end = "passes" if case.passed else f"got {truncate(got, MAX_VALUE_CHARS)}"
        lines += [f"  {given}", f"    expected {expected}", f"    {end}"]
    return "\n".join(lines)


def format_call(call: Call) -> tuple[str, str]:
    """A call and what it is expected to return, as text."""
    name, args, expected = call
    given = truncate(", ".join(map(repr, args)), MAX_VALUE_CHARS)
    return f"{name}({given})", truncate(repr(expected), MAX_VALUE_CHARS)


def locator_prompt(
    purposes: str,
    ends: str,
    heading: str,
    notice: str | None,
    answer: str | None,
    after: str,
    limit: int,
) -> str:
    """What the locator reads.

    ``ends``: how the tests of the broken program end, ``after``: those of the last fix. ``notice``: what is to
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
    lines += ["", notice] if notice else []
    if answer is not None:
        lines += ["", "The fixer's last answer:", quote_message(answer, limit), "", after]
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
    message: str | None,
    answer: str | None,
    notice: str,
    forms: Sequence[str],
    limit: int,
) -> str:
    """What the fixer reads. ``code``: with line numbers. ``message``: the locator's last message. ``answer``:
    the agent's own last answer, ``notice``: what came of it. ``forms``: how to answer."""
    lines = [FIXER_ROLE.format(limit=limit), "", "The program:", "", code, "", heading]
    lines += ["", "The locator wrote:", quote_message(message)] if message is not None else []
    lines += (
        ["", "Your last answer:", quote_message(answer, len(answer)), "", notice]
        if answer is not None
        else []
    )
    return "\n".join([*lines, "", *forms, "", "Your answer:"])
