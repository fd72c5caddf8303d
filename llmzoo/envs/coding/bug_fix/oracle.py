"""Scripted players: an expert who knows the correct program, and an amateur who makes mistakes."""

from __future__ import annotations

import ast
import json
import random

from llmzoo.envs.coding import mutations
from llmzoo.envs.coding.bug_fix.tasks import BugTask
from llmzoo.sandbox import syntax


def locate(task: BugTask) -> str:
    """A true location."""
    function, line = min(task.locations)
    return json.dumps(
        {"function": function, "line": line, "reason": "it differs from what is meant"}
    )


def fix(task: BugTask) -> str:
    """The correct program."""
    return _fenced(task.program.source)


def amateur_locate(task: BugTask, rng: random.Random) -> str:
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


def amateur_fix(task: BugTask, rng: random.Random) -> str:
    """The correct program, the broken one, one with another mistake, one that has memorised the public
    tests, or one that does not parse."""
    kind = rng.choice(("right", "broken", "mistake", "by heart", "colon"))
    if kind == "broken":
        return _fenced(task.broken)
    if kind == "mistake":
        mutants = rng.choice(list(mutations.changes(task.program.source)))
        try:
            return _fenced(mutations.mutate(task.program.source, [mutants]))
        except ValueError:
            return _fenced(task.broken)
    if kind == "by heart":
        return _fenced(by_heart(task))
    if kind == "colon":
        return _fenced(task.program.source.replace("):", ")", 1))
    return fix(task)


def by_heart(task: BugTask) -> str:
    """The broken program, preceded by a look-up of the public tests."""
    public, _ = task.program.calls()
    tree = syntax.parse(task.broken)
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


def _fenced(source: str) -> str:
    return f"```python\n{source}\n```"
