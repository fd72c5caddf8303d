"""# AIME 2025

The thirty problems of the American Invitational Mathematics Examination of 2025, for a reasoner and
a tool. Agents, rounds, actions, rewards, feedback and arguments are those of
[`math_v0`](math.md).

| | |
|---|---|
| id | `aime25_v0` |
| agents | `reasoner_0` and `tool_1`, together; others as in `math_v0` |
| rounds | at most `max_turns` (4); fewer when the two agree |
| success | the reasoner's last answer is right |
| tasks | `MathArena/aime_2025`, every problem; llmzoo splits by content, so play `split="all"` for the whole examination |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

A record has `problem` and `answer`, a whole number from 0 to 999, as a number or a text in which
leading zeros do not count. The problems are the Mathematical Association of America's and not
shipped; the sample has 20 others of this kind, written for llmzoo, with a field `program` that
prints the answer.

**Version history.** v0: first version. Since then an answer has one reading: a list, an empty set or
`2x = 5` is no number, nor is `5 tens`. Returns before and after do not compare.
"""

from __future__ import annotations

from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.math.aime24 import task_from_record
from llmzoo.envs.math.reasoning_env import ReasoningEnv
from llmzoo.envs.math.tasks import SAMPLES
from llmzoo.envs.sources import PublicSet


class AIME25(ReasoningEnv):
    """AIME 2025 for a reasoner and a tool."""

    metadata: dict[str, Any] = {**ReasoningEnv.metadata, "name": "aime25_v0"}
    public_set = PublicSet(
        hub_id="MathArena/aime_2025", read=task_from_record, sample=SAMPLES / "aime25.jsonl"
    )


raw_env = AIME25
env, parallel_env = make_env_fns(AIME25)
