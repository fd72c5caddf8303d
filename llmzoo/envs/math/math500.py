"""# MATH-500

Five hundred problems of the MATH benchmark's test set (Hendrycks et al. 2021, arXiv 2103.03874; the
choice of Lightman et al. 2023, arXiv 2305.20050; MIT), for a reasoner and a tool. Agents, rounds,
actions, rewards, feedback and arguments are those of [`math_v0`](math.md).

| | |
|---|---|
| id | `math500_v0` |
| agents | `reasoner_0` and `tool_1`, together; others as in `math_v0` |
| rounds | at most `max_turns` (4); fewer when the two agree |
| success | the reasoner's last answer is right |
| tasks | `HuggingFaceH4/MATH-500`, all 500 problems; llmzoo splits by content |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

A record has `problem`, `answer` (LaTeX), `subject` and `level` (1 to 5), which stand in the infos
as family and level. Answers are compared as mathematics: fractions, radicals, intervals, tuples and
polynomials in any form. The sample has 40 problems of this kind, written for llmzoo, with a field
`program` that prints the answer.

**Version history.** v0: first version. Since then an answer has one reading: a list, an empty set or
`2x = 5` is no number, nor is `5 tens`. Returns before and after do not compare.
"""

from __future__ import annotations

from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.math.reasoning_env import ReasoningEnv
from llmzoo.envs.math.tasks import SAMPLES, MathTask
from llmzoo.envs.sources import BadField, PublicSet, Record, get_field


def task_from_record(record: Record) -> MathTask:
    """The task of a record."""
    answer = get_field(record, "answer", str).strip()
    if not answer:
        raise BadField("answer", "is empty")
    level = record.get("level", "")
    if not isinstance(level, (int, str)):
        raise BadField("level", f"must be a number from 1 to 5, got {type(level).__name__}")
    return MathTask(
        question=get_field(record, "problem", str).strip(),
        answer=answer,
        family=get_field(record, "subject", str, ""),
        level=str(level),
        program=get_field(record, "program", str, ""),
    )


class Math500(ReasoningEnv):
    """MATH-500 for a reasoner and a tool."""

    metadata: dict[str, Any] = {**ReasoningEnv.metadata, "name": "math500_v0"}
    public_set = PublicSet(
        hub_id="HuggingFaceH4/MATH-500", read=task_from_record, sample=SAMPLES / "math500.jsonl"
    )


raw_env = Math500
env, parallel_env = make_env_fns(Math500)
