"""# AIME 2024

The thirty problems of the American Invitational Mathematics Examination of 2024, for a reasoner and
a tool. Agents, rounds, actions, rewards, feedback and arguments are those of
[`math_v0`](math.md).

| | |
|---|---|
| id | `aime24_v0` |
| agents | `reasoner_0` and `tool_1`, together; others as in `math_v0` |
| rounds | at most `max_turns` (4); fewer when the two agree |
| success | the reasoner's last answer is right |
| tasks | `HuggingFaceH4/aime_2024`, every problem; llmzoo splits by content, so play `split="all"` for the whole examination |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

A record has `problem` and `answer`, a whole number from 0 to 999, as a number or a text in which
leading zeros do not count. The problems are the Mathematical Association of America's and not
shipped; the sample has 20 others of this kind, written for llmzoo, with a field `program` that
prints the answer.

**Version history.** v0: first version. Since then an answer has one reading: a list, an empty set or
`2x = 5` is no number, nor is `5 tens`. Returns before and after do not compare.
"""

from __future__ import annotations

import re
from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.math.reasoning_env import ReasoningEnv
from llmzoo.envs.math.tasks import SAMPLES, MathTask
from llmzoo.envs.sources import BadField, PublicSet, Record, get_field

_ANSWER = re.compile(r"\d{1,3}")


def task_from_record(record: Record) -> MathTask:
    """The task of a record with ``problem`` and ``answer``, a text such as ``"073"`` or a number."""
    given = record.get("answer")
    answer = str(given) if isinstance(given, int) else get_field(record, "answer", str).strip()
    if not _ANSWER.fullmatch(answer):
        raise BadField("answer", f"must be a whole number from 0 to 999, got {answer[:40]!r}")
    return MathTask(
        question=get_field(record, "problem", str).strip(),
        answer=str(int(answer)),
        family="aime",
        program=get_field(record, "program", str, ""),
    )


class AIME24(ReasoningEnv):
    """AIME 2024 for a reasoner and a tool."""

    metadata: dict[str, Any] = {**ReasoningEnv.metadata, "name": "aime24_v0"}
    public_set = PublicSet(
        hub_id="HuggingFaceH4/aime_2024", read=task_from_record, sample=SAMPLES / "aime24.jsonl"
    )


raw_env = AIME24
env, parallel_env = make_env_fns(AIME24)
