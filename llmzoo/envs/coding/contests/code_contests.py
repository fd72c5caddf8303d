"""# CodeContests

The problems of CodeContests for a coder and a tester. Agents, rounds, rewards, feedback and
arguments are those of [`contests_v0`](contests.md).

| | |
|---|---|
| id | `code_contests_v0` |
| agents | `coder_0` and `tester_1`; with `num_agents=1`: `coder_0` |
| observation, action | text |
| rounds | at most `max_turns` (4), simultaneous; fewer when the two agree |
| success | the coder's last program passes every test, public and hidden |

**Rewards**: team; parses, runs and tests for the coder; valid, sound and caught for the tester.

**Tasks.** `deepmind/code_contests` from the hub, or a file of its schema: `description`,
`public_tests`, `private_tests`, `generated_tests` (each with `input` and `output` lists) and
`solutions` and `incorrect_solutions` (`language` and `solution` lists, of which those in Python 3
are read; the tester is to catch the incorrect ones). Hidden are the
private tests, then generated ones, 50 in all at most. A file may also hold records with
`problem_md`, `solution_py` and `tests` (a list of `input` and `output`): there the tests whose
input can be read in the description are public. The sample is a part of the problems written for
this project. Some problems accept several answers and their tests only one; they are judged by the
tests.

**Version history.** v0: first version. Since then rewards and success changed as those of
`contests_v0`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding.contests import tasks
from llmzoo.envs.coding.contests.coder_tester import CoderTester
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.sources import BadField, PublicSet, Record

MAX_HIDDEN = 50
PYTHON3 = 3  # the set's code for the language


def parse_record(record: Record) -> Problem | None:
    """The problem of a record of either form; None if it has no tests."""
    if "problem_md" in record:
        return _parse_page(record)
    public = _tests(record, "public_tests")
    hidden = [*_tests(record, "private_tests"), *_tests(record, "generated_tests")]
    if not public and not hidden:
        return None
    return tasks.make_problem(
        sources.get_field(record, "description", str),
        public,
        hidden[:MAX_HIDDEN],
        solutions=_programs(record, "solutions"),
        wrong=_programs(record, "incorrect_solutions"),
    )


def _parse_page(record: Record) -> Problem:
    """The problem of a record with a Markdown page. Only the description is read, not the sections after
    it (categories, further examples, how to run a solution)."""
    page = sources.get_field(record, "problem_md", str)
    _, heading, rest = page.partition("## Description\n")
    statement = (rest if heading else page).partition("\n## ")[0]
    listed = tasks.parse_test_list(record, "tests")
    public = [test for test in listed if tasks.is_shown_in(test, statement)]
    if not public and len(listed) > 1:
        public = listed[:1]
    solution = sources.get_field(record, "solution_py", str, "")
    return tasks.make_problem(statement, public, listed, solutions=[solution])


def _programs(record: Record, name: str) -> list[str]:
    """The programs in Python 3 of a field."""
    known = sources.get_field(record, name, Mapping, {})  # type: ignore[type-abstract]
    pairs = zip(known.get("language", ()), known.get("solution", ()), strict=False)
    return [text for language, text in pairs if language == PYTHON3 and isinstance(text, str)]


def _tests(record: Record, name: str) -> list[Test]:
    columns = sources.get_field(record, name, Mapping, {})  # type: ignore[type-abstract]
    inputs = sources.get_strings(columns, "input", [])
    outputs = sources.get_strings(columns, "output", [])
    if len(inputs) != len(outputs):
        raise BadField(name, f"holds {len(inputs)} inputs and {len(outputs)} outputs")
    return [Test(given, expected) for given, expected in zip(inputs, outputs, strict=True)]


class CodeContests(CoderTester):
    """CodeContests for a coder and a tester."""

    metadata: dict[str, Any] = {**CoderTester.metadata, "name": "code_contests_v0"}
    public_set = PublicSet(
        hub_id="deepmind/code_contests",
        read=parse_record,
        sample=tasks.SAMPLES / "code_contests.jsonl",
        id_fields=(*sources.ID_FIELDS, "name"),
    )


raw_env = CodeContests
env, parallel_env = make_env_fns(CodeContests)
