"""# MBPP for two writers

Mostly Basic Python Problems (Austin et al. 2021, arXiv 2108.07732). Each problem is a sentence and a test.
A helper writes `aux` while a main programmer writes the function that calls it. Agents, actions,
rewards, feedback and arguments are those of [`coop_functions_v0`](coop_functions.md).

| | |
|---|---|
| id | `mbpp_v0` |
| agents | `helper_0` and `main_1`, together; one or more than two with `num_agents` |
| tasks | every problem of `google-research-datasets/mbpp`, configuration `sanitized`; files may also have the fields of the configuration `full` |
| public tests | the first assertion, which the statement shows |
| hidden tests | the other assertions, or all assertions if a program that returns a constant would pass the others |
| success | all assertions |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) with the fields of the hub's records; `on_bad_record="skip"` skips the file's bad records |

A program is tested in the order that the data set prescribes: imports, the program, the data set's setup
code, the tests. The data set has each solution as a single program. The expert moves one of its expressions
into `aux`. Records whose tests have to run in the program's own interpreter (because they await or inspect it)
are left out and counted, unless `LLMZOO_SANDBOX_ALLOW_SHARED=1` allows this.

**Version history.** v0: first version. Since then its tests and rewards have changed like those of
`coop_functions_v0`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.functions.tasks import SAMPLES, FunctionTask, parse_field
from llmzoo.envs.coding.functions.writers import TwoWriters
from llmzoo.envs.sources import BadField, PublicSet, Record, get_field, get_strings, record_id


def parse_record(record: Record) -> FunctionTask:
    """The task of a record of the sanitized or of the full configuration."""
    text = get_field(record, "prompt", str, None) or get_field(record, "text", str)
    code = get_field(record, "code", str)
    tests = get_strings(record, "test_list")
    if not tests:
        raise BadField("test_list", "is empty")
    every_test = "\n".join([*tests, *get_strings(record, "challenge_test_list", [])])
    parse_field("test_list", every_test)
    setup = parse_field("test_setup_code", get_field(record, "test_setup_code", str, ""))
    imports = [node for node in setup if isinstance(node, ast.Import | ast.ImportFrom)]
    others = [node for node in setup if node not in imports]  # may use what the code defines
    return FunctionTask(
        name=f"mbpp/{record_id(record)}",
        entry_point=_entry_point(tests, code),
        statement=f"{text.strip()}\n\nFor example:\n\n{tests[0]}",
        helper=get_field(record, "helper", str, ""),
        public=tests[:1],
        tests=every_test,
        prelude="\n".join([*get_strings(record, "test_imports", []), *map(ast.unparse, imports)]),
        setup="\n".join(map(ast.unparse, others)),
        solution=(code,),
    )


def _entry_point(tests: Sequence[str], code: str) -> str:
    """The tested function: the first function called by the first assertion that ``code`` defines."""
    try:
        defined = programs.functions(code)
        tree = programs.parse(tests[0])
    except programs.NoProgram as error:
        raise BadField("code", f"or the first of its tests is no program: {error}") from error
    for node in ast.walk(tree):
        called = (
            node.func.id if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""
        )
        if called in defined:
            return called
    raise BadField("test_list", "does not call a function that the code defines")


class MBPP(TwoWriters):
    """MBPP for two writers."""

    metadata: dict[str, Any] = {**TwoWriters.metadata, "name": "mbpp_v0"}
    public_set = PublicSet(
        hub_id="google-research-datasets/mbpp",
        hub_args=("sanitized",),
        read=parse_record,
        sample=SAMPLES / "mbpp.jsonl",
    )


raw_env = MBPP
env, parallel_env = make_env_fns(MBPP)
