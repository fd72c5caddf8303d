"""Write the sample data of the coding environments.

    python scripts/samples/build.py            # everything below: a second
    python scripts/samples/build.py --survey   # what the sandbox says of wrong programs too: minutes

Edit the sources here, never the data files in the package.

* ``functions/*.py``: problems for two writers (:class:`Problem`), in the order of the tasks.
* ``classes/*.py``: imports, one class, one ``TestCase`` per method named ``<Class>Test<Method>`` (the
  method's name in camel case), and ``<Class>TestTogether`` for the class as a whole.
* ``programs/*.py``: correct functions for bug fixing. ``cases.json`` holds calls of each function and
  what they return, as JSON; a function without cases is a helper of those that call it.

Contest problems are written as data: ``llmzoo/envs/coding/contests/problems/contests.jsonl``. The samples of
public sets are problems of these files in the form of the set.
"""

from __future__ import annotations

import ast
import json
import runpy
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.envs.coding import programs as read_programs
from llmzoo.envs.coding.contests import tasks as contests
from llmzoo.envs.coding.contests.tasks import Test
from llmzoo.envs.coding.functions.tasks import stub

HERE = Path(__file__).parent
CODING = HERE.parents[1] / "llmzoo" / "envs" / "coding"
FUNCTION_FILES = ("words", "numbers", "lists", "grids")
PYTHON3 = 3  # CodeContests' code for the language

Records = Iterable[dict[str, Any]]


# Functions


@dataclass(frozen=True, slots=True)
class Problem:
    """A function for two writers.

    ``doc``: what it does. ``helper``: the contract of ``aux``. ``aux`` and ``main``: a reference
    solution. ``public`` and ``hidden``: tests, each ``call == value`` with literal arguments.
    """

    doc: str
    helper: str
    aux: str
    main: str
    public: tuple[str, ...]
    hidden: tuple[str, ...]

    @property
    def name(self) -> str:
        return self._function().name

    @property
    def signature(self) -> str:
        function = self._function()
        return f"{function.name}({ast.unparse(function.args)})"

    def examples(self) -> list[tuple[str, str]]:
        """The public tests as pairs of call and value."""
        pairs = []
        for test in self.public:
            tree = ast.parse(test, mode="eval").body
            assert isinstance(tree, ast.Compare), test
            pairs.append((ast.unparse(tree.left), ast.unparse(tree.comparators[0])))
        return pairs

    def _function(self) -> ast.FunctionDef:
        """The last function of ``main``."""
        function = ast.parse(self.main).body[-1]
        assert isinstance(function, ast.FunctionDef)
        return function

    @property
    def tests(self) -> tuple[str, ...]:
        return (*self.public, *self.hidden)


def problems() -> list[Problem]:
    """The problems for two writers."""
    return [
        Problem(**fields)
        for name in FUNCTION_FILES
        for fields in runpy.run_path(str(HERE / "functions" / f"{name}.py"))["PROBLEMS"]
    ]


def coop_functions() -> Records:
    """The problems as tasks, with the contract of the helper."""
    for problem in problems():
        yield {
            "name": problem.name,
            "entry_point": problem.name,
            "statement": stub(problem.signature, problem.doc, problem.examples()),
            "helper": problem.helper,
            "public": [f"assert {test}" for test in problem.public],
            "tests": "\n".join(f"assert {test}" for test in problem.tests),
            "solution": [problem.aux.strip(), problem.main.strip()],
        }


def humaneval(problem: Problem) -> dict[str, Any]:
    """A function as a record of HumanEval."""
    function = read_programs.functions(problem.main)[problem.name]
    lines = problem.main.rstrip().splitlines()
    body = [*lines[function.body[0].lineno - 1 :], "", "", problem.aux.strip()]
    asserted = [test.replace(f"{problem.name}(", "candidate(") for test in problem.tests]
    return {
        "task_id": f"llmzoo/{problem.name}",
        "prompt": stub(problem.signature, problem.doc, problem.examples()),
        "entry_point": problem.name,
        "helper": problem.helper,
        "canonical_solution": "\n".join(body) + "\n",
        "test": "\n    assert ".join(["def check(candidate):", *asserted]) + "\n",
    }


def mbpp(problem: Problem) -> dict[str, Any]:
    """A function as a record of the sanitized MBPP."""
    return {
        "task_id": problem.name,
        "prompt": f"Write a function {problem.signature}. {problem.doc}",
        "helper": problem.helper,
        "code": f"{problem.aux.strip()}\n\n\n{problem.main.strip()}\n",
        "test_imports": [],
        "test_list": [f"assert {test}" for test in problem.tests],
    }


# Classes and programs


def classes() -> Records:
    """The classes as records of ClassEval's form."""
    for path in sorted((HERE / "classes").glob("*.py")):
        yield class_record(path.stem, path.read_text(encoding="utf-8"))


def class_record(task_id: str, source: str) -> dict[str, Any]:
    """The record of a file: imports, a class with its bodies, and its tests."""
    lines = source.splitlines()
    tree = ast.parse(source)
    imports = [
        ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom) and "unittest" not in ast.unparse(node)
    ]
    node = next(node for node in tree.body if isinstance(node, ast.ClassDef))
    head = "\n".join(imports)
    methods = [inner.name for inner in node.body if isinstance(inner, ast.FunctionDef)]
    return {
        "task_id": task_id,
        "class_name": node.name,
        "import_statement": imports,
        "skeleton": f"{head}\n\n\n{_skeleton(node, lines)}\n".lstrip(),
        "solution_code": "\n".join([head, *lines[node.lineno - 1 : node.end_lineno]]),
        "test": "\n".join(["import unittest", *lines[node.end_lineno :]]),
        "methods_info": [
            {"method_name": name, "test_class": f"{node.name}Test{_camel(name)}"}
            for name in methods
            if name != "__init__"
        ],
    }


def _skeleton(node: ast.ClassDef, lines: list[str]) -> str:
    """The class with the bodies of its methods, apart from ``__init__``, cut to their docstrings."""
    pieces: list[str] = []
    start = node.lineno
    for inner in node.body:
        end = inner.end_lineno
        if isinstance(inner, ast.FunctionDef) and inner.name != "__init__":
            end = inner.body[0].end_lineno
        pieces += lines[start - 1 : end]
        start = inner.end_lineno + 1
    return "\n".join(pieces)


def _camel(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def programs() -> Records:
    """The correct programs: each function that has cases, behind the functions that it calls."""
    cases = json.loads((HERE / "programs" / "cases.json").read_text(encoding="utf-8"))
    for path in sorted((HERE / "programs").glob("*.py")):
        for name, source in _with_helpers(path.read_text(encoding="utf-8")):
            if name in cases:
                yield {"name": name, "source": source, "cases": cases[name]}


def _with_helpers(text: str) -> Iterator[tuple[str, str]]:
    defined = {
        node.name: node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)
    }
    for name, function in defined.items():
        called = {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}
        helpers = [node for other, node in defined.items() if other in called and other != name]
        yield name, ast.unparse(ast.Module([*helpers, function], []))


# Contests


def apps(problem: contests.Problem) -> dict[str, Any]:
    """A contest problem as a record of APPS."""
    listed = [*problem.public, *problem.hidden]
    judged: dict[str, Any] = {
        "inputs": [test.input for test in listed],
        "outputs": [test.output for test in listed],
    }
    if problem.function is not None:
        judged = {
            "fn_name": problem.function,
            "inputs": [json.loads(test.input) for test in listed],
            "outputs": [[json.loads(test.output)] for test in listed],
        }
    return {
        "question": problem.statement,
        "input_output": json.dumps(judged),
        "solutions": json.dumps(list(problem.solutions)),
        "starter_code": "",
    }


def code_contests(problem: contests.Problem) -> dict[str, Any]:
    """A contest problem as a record of CodeContests."""
    return {
        "description": problem.statement,
        "public_tests": _columns(problem.public),
        "private_tests": _columns(problem.hidden),
        "generated_tests": _columns(()),
        "solutions": {
            "language": [PYTHON3] * len(problem.solutions),
            "solution": list(problem.solutions),
        },
    }


def _columns(listed: Iterable[Test]) -> dict[str, list[str]]:
    return {"input": [test.input for test in listed], "output": [test.output for test in listed]}


def livecodebench(problem: contests.Problem) -> dict[str, Any]:
    """A contest problem as a record of LiveCodeBench."""
    starter = ""
    if problem.function is not None:
        starter = f"class Solution:\n    def {problem.function}({_parameters(problem)}):\n        "
    return {
        "question_content": problem.statement,
        "starter_code": starter,
        "public_test_cases": json.dumps([_case(test, problem) for test in problem.public]),
        "private_test_cases": json.dumps([_case(test, problem) for test in problem.hidden]),
        "metadata": json.dumps({"func_name": problem.function} if problem.function else {}),
        "contest_date": "2025-01-01T00:00:00",
        "solutions": list(problem.solutions),
    }


def _case(test: Test, problem: contests.Problem) -> dict[str, str]:
    if problem.function is None:
        return {"input": test.input, "output": test.output, "testtype": "stdin"}
    lines = "\n".join(json.dumps(argument) for argument in json.loads(test.input))
    return {"input": lines, "output": test.output, "testtype": "functional"}


def _parameters(problem: contests.Problem) -> str:
    """The parameters of a method with the signature of the known solution."""
    for node in ast.parse(problem.solutions[0]).body:
        if isinstance(node, ast.FunctionDef) and node.name == problem.function:
            return ", ".join(["self", *(argument.arg for argument in node.args.args)])
    raise AssertionError(f"{problem.name} does not define {problem.function}")


FILES: dict[str, Callable[[], Records]] = {
    "functions/records/coop_functions.jsonl": coop_functions,
    "functions/records/humaneval.jsonl": lambda: map(humaneval, problems()[0::3]),
    "functions/records/coop_humaneval.jsonl": lambda: map(humaneval, problems()[1::3]),
    "functions/records/mbpp.jsonl": lambda: map(mbpp, problems()[2::3]),
    "class_eval/samples.jsonl": classes,
    "bug_fix/programs.jsonl": programs,
    "contests/records/apps.jsonl": lambda: map(apps, contests.load_shipped()[::2]),
    "contests/records/code_contests.jsonl": lambda: (
        code_contests(problem) for problem in contests.load_shipped() if problem.function is None
    ),
    "contests/records/livecodebench.jsonl": lambda: (
        livecodebench(problem)
        for number, problem in enumerate(contests.load_shipped())
        if problem.function is not None or number % 3 == 1
    ),
}


def text_of(records: Records) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def main() -> None:
    for name, records in FILES.items():
        text = text_of(records())
        (CODING / name).write_text(text, encoding="utf-8")
        print(f"{name}: {len(text.splitlines())} records")
    if "--survey" in sys.argv[1:]:
        import survey

        survey.main(CODING)


if __name__ == "__main__":
    main()
