"""Problems for two writers: what both read, the tests, and where known a solution."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field

HELPER = "aux"  # the helper's name; of several helpers the second writes aux_1, and so on

_EXAMPLE = re.compile(r">>> (.+)\n[ \t]*(\S.*)")


@dataclass(frozen=True, slots=True)
class FunctionTask:
    """A function to be written by two.

    ``statement``: what both seats read. ``helper``: the agreed contract of ``aux``, where there is
    one. ``terse``: both in few tokens. ``public``: assert statements that feedback may show.
    ``hidden``: the tests that pay. ``prelude``: code that program and tests may rely on.
    ``solution``: the sources of helper and main, or of the whole program, or nothing.
    """

    name: str
    entry_point: str
    statement: str
    public: tuple[str, ...] = field(compare=False)
    hidden: str = field(compare=False)
    helper: str = ""
    terse: str = ""
    prelude: str = field(default="", compare=False)
    solution: tuple[str, ...] = field(default=(), compare=False)


def canonical(task: FunctionTask) -> str:
    """The entry point and the statement, whatever the spaces: tasks alike in these are one."""
    return " ".join(f"{task.entry_point} {task.terse or task.statement}".split())


def stub(signature: str, doc: str, examples: Sequence[tuple[str, str]]) -> str:
    """A function without a body; its docstring ends with examples, pairs of call and value."""
    shown = [f">>> {call}\n{value}" for call, value in examples]
    text = "\n".join([textwrap.fill(doc, 88), "", *shown]).strip()
    return f'def {signature}:\n    """{textwrap.indent(text, "    ").strip()}\n    """\n'


def examples(statement: str, entry_point: str) -> tuple[str, ...]:
    """The examples of a docstring (``>>> call`` and its value below) as assert statements."""
    found = []
    for call, value in _EXAMPLE.findall(statement):
        try:
            ast.parse(call, mode="eval")
            ast.literal_eval(value)
        except (SyntaxError, ValueError):
            continue
        if entry_point in call:
            found.append(f"assert {call.strip()} == {value.strip()}")
    return tuple(found)
