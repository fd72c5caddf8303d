"""Write the samples of public sets: the shipped problems in the form of each set.

    python scripts/samples/build.py            # everything below: a second
    python scripts/samples/build.py --survey   # what the sandbox says of wrong programs too: minutes

Edit the sources, which are data files of the package, and never what this writes:

* ``functions/records/coop_functions.jsonl``: problems for two writers, in the order of the tasks;
* ``contests/problems/contests.jsonl``: contest problems.

``class_eval/samples.jsonl`` and ``bug_fix/programs.jsonl`` have one form only and are edited themselves.
"""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.contests import tasks as contests
from llmzoo.envs.coding.contests.tasks import Test

CODING = Path(__file__).parents[2] / "llmzoo" / "envs" / "coding"
PYTHON3 = 3  # CodeContests' code for the language

Records = Iterable[dict[str, Any]]


# Functions


@dataclass(frozen=True, slots=True)
class Problem:
    """A function for two writers.

    ``statement``: the function without a body; its docstring ends with examples. ``helper``: the contract
    of ``aux``. ``aux`` and ``main``: a reference solution. ``tests``: each ``call == value``, the first
    ``public_count`` of them public.
    """

    name: str
    statement: str
    helper: str
    aux: str
    main: str
    tests: tuple[str, ...]
    public_count: int

    def description(self) -> str:
        """The docstring of the statement without its examples, as one line."""
        text = ast.get_docstring(self._function()) or ""
        return " ".join(text.partition(">>>")[0].split())

    def signature(self) -> str:
        function = self._function()
        return f"{function.name}({ast.unparse(function.args)})"

    def _function(self) -> ast.FunctionDef:
        (function,) = ast.parse(self.statement).body
        assert isinstance(function, ast.FunctionDef)
        return function


def problems() -> list[Problem]:
    """The problems for two writers."""
    return [
        Problem(
            name=record["name"],
            statement=record["statement"],
            helper=record["helper"],
            aux=record["solution"][0],
            main=record["solution"][1],
            tests=tuple(test.removeprefix("assert ") for test in record["tests"].splitlines()),
            public_count=len(record["public"]),
        )
        for record in sources.read_shipped_records(
            CODING / "functions/records/coop_functions.jsonl"
        )
    ]


def humaneval(problem: Problem) -> dict[str, Any]:
    """A function as a record of HumanEval."""
    function = programs.functions(problem.main)[problem.name]
    lines = problem.main.splitlines()
    body = [*lines[function.body[0].lineno - 1 :], "", "", problem.aux]
    asserted = [test.replace(f"{problem.name}(", "candidate(") for test in problem.tests]
    return {
        "task_id": f"llmzoo/{problem.name}",
        "prompt": problem.statement,
        "entry_point": problem.name,
        "helper": problem.helper,
        "canonical_solution": "\n".join(body) + "\n",
        "test": "\n    assert ".join(["def check(candidate):", *asserted]) + "\n",
    }


def mbpp(problem: Problem) -> dict[str, Any]:
    """A function as a record of the sanitized MBPP."""
    return {
        "task_id": problem.name,
        "prompt": f"Write a function {problem.signature()}. {problem.description()}",
        "helper": problem.helper,
        "code": f"{problem.aux}\n\n\n{problem.main}\n",
        "test_imports": [],
        "test_list": [f"assert {test}" for test in problem.tests],
    }


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
    "functions/records/humaneval.jsonl": lambda: map(humaneval, problems()[0::3]),
    "functions/records/coop_humaneval.jsonl": lambda: map(humaneval, problems()[1::3]),
    "functions/records/mbpp.jsonl": lambda: map(mbpp, problems()[2::3]),
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
