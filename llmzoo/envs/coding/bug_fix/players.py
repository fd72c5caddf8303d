"""Scripted players: an expert who knows the correct program, and a noisy expert who makes mistakes.

In the split view the fixer's experts know, of every shipped program, the right form and all broken ones, and
take them for equally likely: only what they are told of the tests says which form is meant.
"""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Mapping
from functools import cache

from llmzoo.envs.coding import judging, mutations
from llmzoo.envs.coding.bug_fix import halves, tasks
from llmzoo.envs.coding.bug_fix.tasks import BugTask
from llmzoo.sandbox import syntax

_GIVES = " should give "


def expert_location(task: BugTask) -> str:
    """A true location."""
    function, line = min(task.locations)
    return json.dumps(
        {"function": function, "line": line, "reason": "it differs from what is meant"}
    )


def expert_fix(task: BugTask) -> str:
    """The correct program."""
    return _fence(task.program.source)


def noisy_location(task: BugTask, rng: random.Random) -> str:
    """A true location, or one up to two lines off, in words now and then; or a question."""
    function, line = rng.choice(sorted(task.locations))
    line = max(1, line + rng.choice((0, 0, 0, 1, -1, 2)))
    return rng.choice(
        (
            json.dumps({"function": function, "line": line, "reason": "it looks odd"}),
            f"The mistake is in function {function}, line {line}, reason: it looks odd",
            "Is there any mistake at all?",
        )
    )


def noisy_fix(task: BugTask, rng: random.Random) -> str:
    """The correct program, the broken one, one with another mistake, one that has memorised the public
    tests, or one that does not parse."""
    kind = rng.choice(("right", "broken", "mistake", "by heart", "colon"))
    if kind == "broken":
        return _fence(task.broken_source)
    if kind == "mistake":
        mutants = rng.choice(list(mutations.changes(task.program.source)))
        try:
            return _fence(mutations.mutate(task.program.source, [mutants]))
        except ValueError:
            return _fence(task.broken_source)
    if kind == "by heart":
        return _fence(memorize_public_tests(task))
    if kind == "colon":
        return _fence(task.program.source.replace("):", ")", 1))
    return expert_fix(task)


def memorize_public_tests(task: BugTask) -> str:
    """The broken program, preceded by a look-up of the public tests."""
    public, _ = task.program.calls()
    tree = syntax.parse(task.broken_source)
    function = next(
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name == task.program.name
    )
    given = ", ".join(arg.arg for arg in function.args.args)
    table = [[list(args), result] for _, args, result in public]
    lookup = f"for args, result in {table!r}:\n    if args == [{given}]:\n        return result"
    function.body[:0] = syntax.parse(lookup).body
    return ast.unparse(ast.fix_missing_locations(tree))


# The split view


def expert_message(task: BugTask, limit: int) -> str:
    """A message of the public tests, of those that fit into ``limit`` characters."""
    public, _ = task.program.calls()
    message = ""
    for given, expected in map(halves.format_call, public):
        longer = f"{message}\n{given}{_GIVES}{expected}".strip()
        message = longer if len(longer) <= limit else message
    return message or "-"


def expert_repair(task: BugTask, heard: str, turn: int) -> str:
    """A location and a fix: a form of the program with which all that was told is true, another one each
    turn. The order of the forms depends on the code alone."""
    code = halves.without_docstrings(task.broken_source)
    likely = _consistent_forms(task.program.name, code, heard)
    random.Random(code).shuffle(likely)
    return _repair(code, likely[turn % len(likely)])


def noisy_message(task: BugTask, limit: int, rng: random.Random) -> str:
    """The public tests, or only the first, or with another digit here and there; or a complaint."""
    message = expert_message(task, limit)
    digit = rng.choice("0123456789")
    corrupted = message.replace(rng.choice("0123456789"), digit)
    return rng.choice((message, message.partition("\n")[0], corrupted, "It does not work."))


def noisy_repair(task: BugTask, heard: str, rng: random.Random) -> str:
    """A form that agrees with what was told, any form, one that does not parse, or the code as it is."""
    code = halves.without_docstrings(task.broken_source)
    kind = rng.choice(("told", "told", "any", "colon", "broken"))
    if kind == "broken":
        return _fence(code)
    chosen = rng.choice(_consistent_forms(task.program.name, code, heard if kind == "told" else ""))
    answer = _repair(code, chosen)
    return answer.replace("):", ")", 1) if kind == "colon" else answer


def _repair(code: str, form: str) -> str:
    function, line = min(mutations.locations(form, code))
    location = {"function": function, "line": line, "reason": "the tests say otherwise"}
    return f"{json.dumps(location)}\n\n{_fence(form)}"


def _consistent_forms(name: str, code: str, heard: str) -> list[str]:
    """The other forms of a program with which all lines of a message about its tests are true; all other
    forms if there is none."""
    forms = {form: gives for form, gives in _forms(name).items() if form != code}
    calls = {call for gives in forms.values() for call in gives}
    lines = [line.partition(_GIVES) for line in heard.splitlines()]
    reported = {call: value for call, _, value in lines if call in calls}
    return [
        form
        for form, gives in forms.items()
        if all(gives[call] == value for call, value in reported.items())
    ] or [*forms]


@cache
def _forms(name: str) -> Mapping[str, Mapping[str, str]]:
    """The right form of a program and its broken ones, without docstrings, each with what public calls give."""
    known = [task for task in tasks.load_tasks(None) if task.program.name == name]
    forms = {}
    for source in (known[0].program.source, *(task.broken_source for task in known)):
        public, _ = known[0].program.calls()
        cases = judging.check_calls(source, public).cases
        forms[halves.without_docstrings(source)] = {
            given: expected if case.passed else case.got or case.error
            for (given, expected), case in zip(map(halves.format_call, public), cases, strict=True)
        }
    return forms


def _fence(source: str) -> str:
    return f"```python\n{source}\n```"
