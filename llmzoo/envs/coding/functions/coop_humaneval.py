"""# CoopHumanEval

The problems that MAGRPO (arXiv 2508.04652) chose for cooperation: those that profit from a helper. A
helper writes `aux` and a main programmer the function that calls it, at the same time. Agents, actions,
rewards, feedback and arguments are those of [`coop_functions_v0`](coop_functions.md).

| | |
|---|---|
| id | `coop_humaneval_v0` |
| agents | `helper_0` and `main_1`, together; one or more than two with `num_agents` |
| tasks | the 82 problems of `OpenMLRL/CoopHumanEval` |
| public tests | the examples in the docstring whose value is a literal |
| hidden tests | what `check(candidate)` asserts, without the public tests |
| success | all that `check(candidate)` asserts |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

The set has no solutions and so no scripted expert; the sample's records have them.
Records whose tests need the program's own interpreter (they await it or look into it) are left out
and counted, unless `LLMZOO_SANDBOX_ALLOW_SHARED=1` allows them that.

**Version history.** v0: first version. Since then tests and rewards changed as those of `coop_functions_v0`.
"""

from __future__ import annotations

from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.coding.functions.humaneval import with_check
from llmzoo.envs.coding.functions.tasks import SAMPLES, FunctionTask
from llmzoo.envs.coding.functions.writers import TwoWriters
from llmzoo.envs.sources import PublicSet, Record, get_field


def parse_record(record: Record) -> FunctionTask:
    """The task of a record. The hub's records have no solutions; the sample's records do."""
    return with_check(record, get_field(record, "canonical_solution", str, ""))


class CoopHumanEval(TwoWriters):
    """CoopHumanEval for two writers."""

    metadata: dict[str, Any] = {**TwoWriters.metadata, "name": "coop_humaneval_v0"}
    public_set = PublicSet(
        hub_id="OpenMLRL/CoopHumanEval", read=parse_record, sample=SAMPLES / "coop_humaneval.jsonl"
    )


raw_env = CoopHumanEval
env, parallel_env = make_env_fns(CoopHumanEval)
