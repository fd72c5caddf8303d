"""# LiveCodeBench

The problems of LiveCodeBench (code generation) for a coder and a tester. Agents, rounds, rewards and
feedback are those of [`contests_v0`](contests.md).

| | |
|---|---|
| id | `livecodebench_v0` |
| agents | `coder_0` and `tester_1`; with `num_agents=1`: `coder_0` |
| observation, action | text |
| rounds | at most `max_turns` (4), simultaneous; fewer when the two agree |
| success | the coder's last program passes every test, public and hidden |

**Rewards**: team; parses, runs and tests for the coder; valid, sound and caught for the tester.

**Arguments.** Those of `contests_v0`, and `since` and `until` (`"YYYY-MM-DD"`): only problems
published on these days or between them, so that a model is tested on what came after its training.

**Tasks.** `livecodebench/code_generation_lite` from the hub, or a file of its schema:
`question_content`, `starter_code`, `public_test_cases` and `private_test_cases` (JSON text of a list
of `input`, `output` and `testtype`), `metadata` (JSON text; `func_name` of a function),
`contest_date`. The hub packs most private tests with Python's pickle, which can run code while it is
read: llmzoo does not read it and says so; a file must hold plain JSON in its place. The set has no
solutions, so no tester is judged by one; a record may add its own as a list `solutions`. The sample
is a part of the problems written for this project, with solutions.

**Version history.** v0: first version. Since then rewards and success changed as those of
`contests_v0`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding.contests import tasks
from llmzoo.envs.coding.contests.coder_tester import CoderTester
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.sources import BadField, PublicSet, Record
from llmzoo.envs.tasks import Tasks
from llmzoo.errors import ConfigError

_PICKLED = (
    "is not plain JSON but packed with pickle, as the hub has it; reading that can run code, so "
    "llmzoo does not. Give a file (source='some/file.jsonl') that holds the list of {input, output, "
    "testtype} as JSON there, or source='sample'"
)
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def parse_record(record: Record) -> Problem:
    """The problem of a record; raises ``BadField``, also for tests packed with pickle."""
    metadata = tasks.unpack_field(record, "metadata", {})
    if not isinstance(metadata, Mapping):
        raise BadField("metadata", "must be an object")
    function = sources.get_field(metadata, "func_name", str, None)
    return tasks.make_problem(
        sources.get_field(record, "question_content", str),
        _tests(record, "public_test_cases", function),
        _tests(record, "private_test_cases", function),
        function=function,
        starter=sources.get_field(record, "starter_code", str, ""),
        solutions=sources.get_strings(record, "solutions", []),
        released=str(record.get("contest_date", ""))[:10],
    )


def _tests(record: Record, name: str, function: str | None) -> list[Test]:
    tests = []
    for item in tasks.unpack_field(record, name, [], otherwise=_PICKLED):
        if not isinstance(item, Mapping):
            raise BadField(name, "must be a list of {input, output, testtype}")
        given, expected = (
            sources.get_field(item, "input", str),
            sources.get_field(item, "output", str),
        )
        if function is None:
            tests.append(Test(given, expected))
            continue
        try:  # arguments stand in a line each
            arguments = [json.loads(line) for line in given.splitlines() if line.strip()]
            tests.append(Test(json.dumps(arguments), json.dumps(json.loads(expected))))
        except ValueError as error:
            raise BadField(name, f"holds a value that is not JSON ({error})") from error
    return tests


class LiveCodeBench(CoderTester):
    """LiveCodeBench for a coder and a tester."""

    metadata: dict[str, Any] = {**CoderTester.metadata, "name": "livecodebench_v0"}
    public_set = PublicSet(
        hub_id="livecodebench/code_generation_lite",
        read=parse_record,
        sample=tasks.SAMPLES / "livecodebench.jsonl",
    )

    def __init__(self, *, since: str | None = None, until: str | None = None, **options: Any):
        for name, day in (("since", since), ("until", until)):
            if day is not None and not _DAY.fullmatch(day):
                raise ConfigError(f"{name} must be a day such as '2024-08-01', got {day!r}")
        self.since = since or ""
        self.until = until or "9999-99-99"
        super().__init__(**options)

    def find_tasks(self, source: str, split: str, on_bad_record: str) -> Tasks[Problem]:
        loaded = self.public_set.load(source, on_bad_record)
        chosen = loaded.filter_tasks(_is_published, self.since, self.until, asked=True)
        if not chosen.tasks:
            raise ConfigError(
                f"{loaded.source}: none of its {len(loaded.tasks)} problems was published from "
                f"{self.since or 'the beginning'} until {self.until}"
            )
        return chosen.task_list(tasks.canonical, split)


def _is_published(problem: Problem, since: str, until: str) -> bool:
    return since <= problem.released <= until


raw_env = LiveCodeBench
env, parallel_env = make_env_fns(LiveCodeBench)
