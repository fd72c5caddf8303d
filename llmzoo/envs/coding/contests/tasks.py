"""Contest problems: a statement, public and hidden tests, and solutions if known.

A test is a pair of texts: standard input and output of a program, or the arguments of a function as a
JSON list and its value as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.sources import BadField, Record

SAMPLES = Path(__file__).parent / "records"  # of public sets: records written for llmzoo
SHIPPED = Path(__file__).parent / "problems" / "contests.jsonl"
MAX_STATEMENT_CHARS = 20_000
MAX_EXAMPLE_CHARS = 2_000
MAX_SOLUTIONS = 5  # solutions kept of a problem
MAX_WRONG = 24  # wrong programs kept of it


@dataclass(frozen=True, slots=True)
class Test:
    """What goes in and what should come out."""

    input: str
    output: str


@dataclass(frozen=True, slots=True)
class Problem:
    """A task of the coder and the tester.

    ``public`` tests may be shown, ``hidden`` ones pay. ``function``: the name of the function asked
    for; None if a program is. ``starter``: code to start from. ``solutions`` and ``wrong``: programs
    that the source calls right and wrong. ``released``: the day of publication, ``YYYY-MM-DD``.
    """

    statement: str
    public: tuple[Test, ...]
    hidden: tuple[Test, ...]
    function: str | None = None
    starter: str = ""
    solutions: tuple[str, ...] = ()
    wrong: tuple[str, ...] = ()
    name: str = ""
    released: str = ""


def unpack_field(record: Record, name: str, default: Any, *, otherwise: str = "is not JSON") -> Any:
    """A field that holds data or its JSON text; ``default`` if it is empty. ``otherwise``: what the
    ``BadField`` says about a text that is not JSON."""
    value = record.get(name) or default
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        raise BadField(name, otherwise) from None


def canonical(problem: Problem) -> str:
    """The words of the statement: problems with the same words are the same, whatever their tests."""
    return " ".join(re.findall(r"\w+", problem.statement.lower()))


def make_problem(
    statement: str,
    public: Iterable[Test],
    hidden: Iterable[Test],
    *,
    function: str | None = None,
    solutions: Iterable[str] = (),
    wrong: Iterable[str] = (),
    **others: str,
) -> Problem:
    """A problem whose statement shows its public tests, and whose hidden tests are not public.

    If no other test is left, the public ones pay. ``others``: further fields of :class:`Problem`.
    Raises :class:`~llmzoo.envs.sources.BadField` if there is no test at all.
    """
    shown = tuple(dict.fromkeys(public))
    secret = tuple(test for test in dict.fromkeys(hidden) if test not in shown) or shown
    if not secret:
        raise sources.BadField("tests", "hold no test")
    statement = truncate(statement.strip(), MAX_STATEMENT_CHARS)
    missing = [t for t in shown if function is not None or not is_shown_in(t, statement)]
    return Problem(
        "\n\n".join([statement, *(format_example(test, function) for test in missing)]),
        shown,
        secret,
        function,
        solutions=tuple(solution for solution in solutions if solution.strip())[:MAX_SOLUTIONS],
        wrong=tuple(program for program in wrong if program.strip())[:MAX_WRONG],
        **others,
    )


def is_shown_in(test: Test, statement: str, function: str | None = None) -> bool:
    """Whether the statement shows a test's input: consecutive lines for a program, all arguments for a
    function, whatever the spaces."""
    if function is None:
        return f"\n{_lines(test.input)}\n" in f"\n{_lines(statement)}\n"
    squeezed = "".join(statement.split())
    return all("".join(json.dumps(a).split()) in squeezed for a in json.loads(test.input))


def format_call(function: str, test: Test) -> str:
    """The call of a function's test, as Python writes it."""
    return f"{function}({', '.join(repr(argument) for argument in json.loads(test.input))})"


def truncate(text: str, most: int) -> str:
    """A text, cut and marked where it is longer than ``most`` characters."""
    return text if len(text) <= most else f"{text[:most]} [cut]"


def load_shipped() -> tuple[Problem, ...]:
    """The problems written for this project."""
    return tuple(parse_record(record) for record in load_shipped_records())


@cache
def load_shipped_records() -> tuple[Mapping[str, Any], ...]:
    return tuple(sources.read_shipped_records(SHIPPED))


def parse_record(record: Mapping[str, Any]) -> Problem:
    """A problem of a record of the shipped form: ``name``, ``statement``, ``public``, ``hidden``,
    ``solution``, ``wrong``, and ``function`` where the answer is one."""
    solution = sources.get_field(record, "solution", str, "")
    return make_problem(
        sources.get_field(record, "statement", str),
        parse_test_list(record, "public"),
        parse_test_list(record, "hidden"),
        function=sources.get_field(record, "function", str, None),
        solutions=[solution],
        wrong=sources.get_strings(record, "wrong", []),
        name=sources.get_field(record, "name", str, ""),
    )


def parse_test_list(record: Mapping[str, Any], name: str) -> list[Test]:
    """``record[name]``, a list of ``{"input": text, "output": text}``."""
    listed = []
    for item in sources.get_field(record, name, list):
        if not isinstance(item, Mapping):
            raise sources.BadField(name, "must be a list of {input, output}")
        listed.append(
            Test(sources.get_field(item, "input", str), sources.get_field(item, "output", str))
        )
    return listed


def format_example(test: Test, function: str | None) -> str:
    """A test as statements show it."""
    if function is None:
        text = f"Example input:\n{test.input.rstrip()}\nExample output:\n{test.output.rstrip()}"
    else:
        text = f"Example: {format_call(function, test)} gives {test.output}"
    return truncate(text, MAX_EXAMPLE_CHARS)


def _lines(text: str) -> str:
    return "\n".join(" ".join(line.split()) for line in text.splitlines() if line.strip())
