"""The samples of public sets, made of llmzoo's own problems: ``python scripts/samples/public_sets.py``.

Each public set of programs ships a sample of its schema. This script writes these files anew; a test
compares them with what is committed.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from llmzoo.envs.coding import contests, functions, programs
from llmzoo.envs.coding.contests import tasks as contest_tasks
from llmzoo.envs.coding.contests.tasks import Test
from llmzoo.envs.coding.functions.samples import Sample, samples
from llmzoo.envs.coding.functions.tasks import stub

FUNCTIONS = Path(functions.__file__).parent / "records"
CONTESTS = Path(contests.__file__).parent / "records"
PYTHON3 = 3  # CodeContests' code for the language


def files() -> dict[Path, list[dict[str, Any]]]:
    """The records of each file."""
    functions_written, written = samples(), contest_tasks.shipped()
    return {
        FUNCTIONS / "humaneval.jsonl": [humaneval(problem) for problem in functions_written[0::3]],
        FUNCTIONS / "coop_humaneval.jsonl": [
            humaneval(problem) for problem in functions_written[1::3]
        ],
        FUNCTIONS / "mbpp.jsonl": [mbpp(problem) for problem in functions_written[2::3]],
        CONTESTS / "apps.jsonl": [apps(problem) for problem in written[::2]],
        CONTESTS / "code_contests.jsonl": [
            code_contests(problem) for problem in written if problem.function is None
        ],
        CONTESTS / "livecodebench.jsonl": [
            livecodebench(problem)
            for number, problem in enumerate(written)
            if problem.function is not None or number % 3 == 1
        ],
    }


def text_of(records: Iterable[Mapping[str, Any]]) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def humaneval(problem: Sample) -> dict[str, Any]:
    """A function as a record of HumanEval."""
    function = programs.functions(problem.main)[problem.name]
    lines = problem.main.rstrip().splitlines()
    body = [*lines[function.body[0].lineno - 1 :], "", "", problem.aux.strip()]
    asserted = [test.replace(f"{problem.name}(", "candidate(") for test in _tests(problem)]
    return {
        "task_id": f"llmzoo/{problem.name}",
        "prompt": stub(problem.signature, problem.doc, problem.examples()),
        "entry_point": problem.name,
        "canonical_solution": "\n".join(body) + "\n",
        "test": "\n    assert ".join(["def check(candidate):", *asserted]) + "\n",
    }


def mbpp(problem: Sample) -> dict[str, Any]:
    """A function as a record of the sanitized MBPP."""
    return {
        "task_id": problem.name,
        "prompt": f"Write a function {problem.signature}. {problem.doc}",
        "code": f"{problem.aux.strip()}\n\n\n{problem.main.strip()}\n",
        "test_imports": [],
        "test_list": [f"assert {test}" for test in _tests(problem)],
    }


def _tests(problem: Sample) -> tuple[str, ...]:
    return (*problem.public, *problem.hidden)


def apps(problem: contest_tasks.Problem) -> dict[str, Any]:
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


def code_contests(problem: contest_tasks.Problem) -> dict[str, Any]:
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


def livecodebench(problem: contest_tasks.Problem) -> dict[str, Any]:
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


def _case(test: Test, problem: contest_tasks.Problem) -> dict[str, str]:
    if problem.function is None:
        return {"input": test.input, "output": test.output, "testtype": "stdin"}
    lines = "\n".join(json.dumps(argument) for argument in json.loads(test.input))
    return {"input": lines, "output": test.output, "testtype": "functional"}


def _parameters(problem: contest_tasks.Problem) -> str:
    """The parameters of a method with the signature of the known solution."""
    for node in ast.parse(problem.solutions[0]).body:
        if isinstance(node, ast.FunctionDef) and node.name == problem.function:
            return ", ".join(["self", *(argument.arg for argument in node.args.args)])
    raise AssertionError(f"{problem.name} does not define {problem.function}")


if __name__ == "__main__":
    for path, records in files().items():
        path.write_text(text_of(records), encoding="utf-8")
        print(path.name, len(records))
