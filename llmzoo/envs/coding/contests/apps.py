"""# APPS

A coder and a tester work on a problem of APPS. Agents, rounds, rewards, feedback and arguments are
those of [`contests_v0`](contests.md).

| | |
|---|---|
| id | `apps_v0` |
| agents | `coder_0` and `tester_1`; with `num_agents=1`: `coder_0` |
| observation, action | text |
| rounds | at most `max_turns` (4), simultaneous; fewer if the two agree |
| success | the coder's last program passes every test, public and hidden |

**Rewards.** Both agents get `team`. The coder also gets `parses`, `runs` and `tests`; the tester gets
`valid`, `sound` and `caught`.

**Tasks.** Tasks come from `codeparrot/apps` on the hub, or from a file with the same fields: `question`,
`input_output` (an object, or its JSON text, with `inputs`, `outputs` and, for functions, `fn_name`),
`solutions` (a list or its JSON text) and `starter_code`. The sample has some of the problems that were
written for this project.

APPS does not say which tests are public. In this environment, a test of a program is public if its input
appears in the question. A test of a function is public if it is one of the first three and its arguments
appear in the question. If no test is public by these rules and there are several, the first one is public.
All other tests are hidden. If no hidden test is left, the public tests determine the reward. Records without
tests are left out.

APPS wraps the return value of a function that is not a method of a class `Solution` in a list of one element;
such values are unwrapped. Some problems have several right answers, but tests that accept only one. They are
judged by the tests.

**Version history.** v0: first version. Since then, rewards and success have changed in the same way as in
`contests_v0`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from llmzoo.envs import sources
from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding.contests import tasks
from llmzoo.envs.coding.contests.coder_tester import CoderTester
from llmzoo.envs.coding.contests.tasks import Problem, Test
from llmzoo.envs.sources import BadField, PublicSet, Record

_FIRST = 3  # tests of a function that may be public


def parse_record(record: Record) -> Problem | None:
    """The problem of a record; None if it has no tests."""
    judged = tasks.unpack_field(record, "input_output", {})
    solutions = tasks.unpack_field(record, "solutions", [])
    if not isinstance(judged, Mapping) or not isinstance(solutions, list):
        raise BadField("input_output", "must be an object, and solutions a list")
    inputs, outputs = judged.get("inputs", []), judged.get("outputs", [])
    if not (isinstance(inputs, list) and isinstance(outputs, list) and len(inputs) == len(outputs)):
        raise BadField("input_output", "must hold two lists of one length: inputs and outputs")
    if not inputs:
        return None
    function = sources.get_field(judged, "fn_name", str, None)
    statement = sources.get_field(record, "question", str)
    starter = sources.get_field(record, "starter_code", str, "")
    if function is None:
        listed = [Test(_text(i), _text(o)) for i, o in zip(inputs, outputs, strict=True)]
        public = [test for test in listed if tasks.is_shown_in(test, statement)]
    else:
        if "class Solution" not in starter and all(_is_one(value) for value in outputs):
            outputs = [value[0] for value in outputs]
        listed = [
            Test(json.dumps(arguments), json.dumps(value))
            for arguments, value in zip(inputs, outputs, strict=True)
        ]
        public = [t for t in listed[:_FIRST] if tasks.is_shown_in(t, statement, function)]
    if not public and len(listed) > 1:
        public = listed[:1]
    return tasks.make_problem(
        statement,
        public,
        listed,
        function=function,
        starter=starter,
        solutions=[text for text in solutions if isinstance(text, str)],
    )


def _text(value: Any) -> str:
    """The input or output of a program; in some records it is a list of lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _is_one(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 1


class Apps(CoderTester):
    """APPS for a coder and a tester."""

    metadata: dict[str, Any] = {**CoderTester.metadata, "name": "apps_v0"}
    public_set = PublicSet(
        hub_id="codeparrot/apps", read=parse_record, sample=tasks.SAMPLES / "apps.jsonl"
    )


raw_env = Apps
env, parallel_env = make_env_fns(Apps)
