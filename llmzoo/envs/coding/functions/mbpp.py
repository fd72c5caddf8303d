"""# MBPP for two writers

Mostly Basic Python Problems (Austin et al. 2021, arXiv 2108.07732): a sentence and a test. A helper writes `aux` and a main programmer the function that calls it, at the same time.
Agents, actions, rewards, feedback and arguments are those of
[`coop_functions_v0`](coop_functions.md).

| | |
|---|---|
| id | `mbpp_v0` |
| agents | `helper_0` and `main_1`, together; one or more than two with `num_agents` |
| tasks | every problem of `google-research-datasets/mbpp`, sanitized; files may have the fields of the full set |
| public tests | the first assertion, which the statement shows |
| hidden tests | the other assertions; all, where one constant would pass the others |
| success | all assertions |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

A program is judged as the set says: imports, the program, the set's setup code, the tests.
The expert's solution comes in one piece in the set; one expression of it moves into `aux`.
Records whose tests need the program's own interpreter (they await it or look into it) are left out
and counted, unless `LLMZOO_SANDBOX_ALLOW_SHARED=1` allows them that.

**Version history.** v0: first version. Since then tests and rewards changed as those of `coop_functions_v0`.
"""

from __future__ import annotations

from typing import Any

from llmzoo.envs.base import public_forms
from llmzoo.envs.coding.functions import records
from llmzoo.envs.coding.functions.public_sets import PublicSet, PublicSetWriters


class MBPP(PublicSetWriters):
    """MBPP for two writers."""

    metadata: dict[str, Any] = {**PublicSetWriters.metadata, "name": "mbpp_v0"}
    public_set = PublicSet(
        hub_id="google-research-datasets/mbpp",
        hub_args=("sanitized",),
        read=records.mbpp,
        write=records.as_mbpp,
        third=2,
    )


raw_env = MBPP
env, parallel_env = public_forms(MBPP)
