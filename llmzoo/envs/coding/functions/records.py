"""Records of the public sets as tasks, and our own problems as such records."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from llmzoo.envs.coding import programs
from llmzoo.envs.coding.functions.samples import Sample
from llmzoo.envs.coding.functions.tasks import FunctionTask, examples, stub
from llmzoo.envs.sources import BadField, Record, field, identifier, texts


def humaneval(record: Record) -> FunctionTask:
    """A task of ``openai/openai_humaneval``."""
    return _with_check(record, field(record, "canonical_solution", str))


def coop_humaneval(record: Record) -> FunctionTask:
    """A task of ``OpenMLRL/CoopHumanEval``. The hub's records have no solutions; our sample's do."""
    return _with_check(record, field(record, "canonical_solution", str, ""))


def mbpp(record: Record) -> FunctionTask:
    """A task of ``google-research-datasets/mbpp``, of its sanitized or its full configuration."""
    text = field(record, "prompt", str, None) or field(record, "text", str)
    code = field(record, "code", str)
    tests = texts(record, "test_list")
    if not tests:
        raise BadField("test_list", "is empty")
    every_test = "\n".join([*tests, *texts(record, "challenge_test_list", [])])
    _parsed("test_list", every_test)
    setup = _parsed("test_setup_code", field(record, "test_setup_code", str, ""))
    imports = [node for node in setup if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in setup if node not in imports]  # may use what the code defines
    return FunctionTask(
        name=f"mbpp/{identifier(record)}",
        entry_point=_entry_point(tests, code),
        statement=f"{text.strip()}\n\nFor example:\n\n{tests[0]}",
        public=tests[:1],
        tests=every_test,
        prelude="\n".join([*texts(record, "test_imports", []), *map(ast.unparse, imports)]),
        setup="\n".join(map(ast.unparse, others)),
        solution=(code,),
    )


def coop_functions(problem: Sample) -> FunctionTask:
    """One of our own problems, with the contract of its helper."""
    return FunctionTask(
        name=problem.name,
        entry_point=problem.name,
        statement=stub(problem.signature, problem.doc, problem.examples()),
        helper=problem.helper,
        public=tuple(f"assert {test}" for test in problem.public),
        tests="\n".join(f"assert {test}" for test in _tests(problem)),
        solution=(problem.aux.strip(), problem.main.strip()),
    )


def as_humaneval(problem: Sample) -> dict[str, Any]:
    """One of our own problems as a record of HumanEval."""
    function = programs.functions(problem.main)[problem.name]
    lines = problem.main.rstrip().splitlines()
    body = [*lines[function.body[0].lineno - 1 :], "", "", problem.aux.strip()]
    tests = [test.replace(f"{problem.name}(", "candidate(") for test in _tests(problem)]
    return {
        "task_id": f"llmzoo/{problem.name}",
        "prompt": stub(problem.signature, problem.doc, problem.examples()),
        "entry_point": problem.name,
        "canonical_solution": "\n".join(body) + "\n",
        "test": "\n    assert ".join(["def check(candidate):", *tests]) + "\n",
    }


def as_mbpp(problem: Sample) -> dict[str, Any]:
    """One of our own problems as a record of MBPP, sanitized."""
    return {
        "task_id": problem.name,
        "prompt": f"Write a function {problem.signature}. {problem.doc}",
        "code": f"{problem.aux.strip()}\n\n\n{problem.main.strip()}\n",
        "test_imports": [],
        "test_list": [f"assert {test}" for test in _tests(problem)],
    }


def _tests(problem: Sample) -> tuple[str, ...]:
    return (*problem.public, *problem.hidden)


def _with_check(record: Record, body: str) -> FunctionTask:
    """A task of a record whose ``test`` defines ``check(candidate)``."""
    prompt, entry_point = field(record, "prompt", str), field(record, "entry_point", str)
    _functions("prompt", prompt, entry_point)
    if body:
        _functions("canonical_solution", prompt + body, entry_point)
    tests = field(record, "test", str)
    if "def check(" not in tests:
        raise BadField("test", "does not define check(candidate)")
    _parsed("test", tests)
    others = [n for n in programs.parse(prompt).body if getattr(n, "name", "") != entry_point]
    return FunctionTask(
        name=identifier(record),
        entry_point=entry_point,
        statement=prompt,
        public=examples(prompt, entry_point),
        tests=tests,
        prelude=ast.unparse(ast.Module(others, [])),
        solution=(prompt + body,) if body else (),
    )


def _parsed(name: str, source: str) -> list[ast.stmt]:
    """The statements of a field; refuses one that is no program."""
    try:
        return ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        raise BadField(name, f"is no program: {error}") from error


def _functions(name: str, source: str, wanted: str) -> None:
    """Refuse a field whose source does not define the function ``wanted``."""
    try:
        defined = programs.functions(source)
    except programs.NoProgram as error:
        raise BadField(name, f"is no program: {error}") from error
    if wanted not in defined:
        raise BadField(name, f"does not define {wanted!r}")


def _entry_point(tests: Sequence[str], code: str) -> str:
    """The function that the first assertion is about: of those that ``code`` defines the first
    that it calls."""
    try:
        defined = programs.functions(code)
        tree = programs.parse(tests[0])
    except programs.NoProgram as error:
        raise BadField("code", f"or the first of its tests is no program: {error}") from error
    called = [
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    ]
    found = [name for name in called if name in defined]
    if not found:
        raise BadField("test_list", "does not call a function that the code defines")
    return found[0]
