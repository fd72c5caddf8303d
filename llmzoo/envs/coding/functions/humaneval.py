"""# HumanEval for two writers

OpenAI's HumanEval (Chen et al. 2021, arXiv 2107.03374): a signature and a docstring, to be filled in. A
helper writes `aux` and a main programmer the function that calls it, at the same time. Agents, actions,
rewards, feedback and arguments are those of [`coop_functions_v0`](coop_functions.md).

| | |
|---|---|
| id | `humaneval_v0` |
| agents | `helper_0` and `main_1`, together; one or more than two with `num_agents` |
| tasks | the 164 problems of `openai/openai_humaneval` |
| public tests | the examples in the docstring whose value is a literal |
| hidden tests | what `check(candidate)` asserts, without the public tests |
| success | all that `check(candidate)` asserts |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

The expert's solution comes in one piece in the set; one expression of it moves into `aux`.
Records whose tests need the program's own interpreter (they await it or look into it) are left out
and counted, unless `LLMZOO_SANDBOX_ALLOW_SHARED=1` allows them that.

**Version history.** v0: first version. Since then tests and rewards changed as those of `coop_functions_v0`.
"""

from __future__ import annotations

import ast
from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding import programs
from llmzoo.envs.coding.functions.tasks import SAMPLES, FunctionTask, example_asserts, parse_field
from llmzoo.envs.coding.functions.writers import TwoWriters
from llmzoo.envs.sources import BadField, PublicSet, Record, get_field, record_id


def parse_record(record: Record) -> FunctionTask:
    """The task of a record, which has a solution."""
    return with_check(record, get_field(record, "canonical_solution", str))


def with_check(record: Record, body: str) -> FunctionTask:
    """The task of a record whose ``test`` defines ``check(candidate)``. ``body``: the solution, or ""."""
    prompt, entry_point = get_field(record, "prompt", str), get_field(record, "entry_point", str)
    _check_defines("prompt", prompt, entry_point)
    if body:
        _check_defines("canonical_solution", prompt + body, entry_point)
    tests = get_field(record, "test", str)
    if "def check(" not in tests:
        raise BadField("test", "does not define check(candidate)")
    parse_field("test", tests)
    others = [n for n in programs.parse(prompt).body if getattr(n, "name", "") != entry_point]
    return FunctionTask(
        name=record_id(record),
        entry_point=entry_point,
        statement=prompt,
        helper=get_field(record, "helper", str, ""),
        public=example_asserts(prompt, entry_point),
        tests=tests,
        prelude=ast.unparse(ast.Module(others, [])),
        solution=(prompt + body,) if body else (),
    )


def _check_defines(name: str, source: str, wanted: str) -> None:
    """Raise ``BadField`` if the field ``name`` does not define the function ``wanted``."""
    try:
        defined = programs.functions(source)
    except programs.NoProgram as error:
        raise BadField(name, f"is no program: {error}") from error
    if wanted not in defined:
        raise BadField(name, f"does not define {wanted!r}")


class HumanEval(TwoWriters):
    """HumanEval for two writers."""

    metadata: dict[str, Any] = {**TwoWriters.metadata, "name": "humaneval_v0"}
    public_set = PublicSet(
        hub_id="openai/openai_humaneval", read=parse_record, sample=SAMPLES / "humaneval.jsonl"
    )


raw_env = HumanEval
env, parallel_env = make_env_fns(HumanEval)
