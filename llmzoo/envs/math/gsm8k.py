"""# GSM8K

Grade-school word problems of two to eight steps (Cobbe et al. 2021, arXiv 2110.14168; MIT), for a
reasoner and a tool. Agents, rounds, actions, rewards, feedback and arguments are those of
[`math_v0`](math.md).

| | |
|---|---|
| id | `gsm8k_v0` |
| agents | `reasoner_0` and `tool_1`, together; others as in `math_v0` |
| rounds | at most `max_turns` (4); fewer when the two agree |
| success | the reasoner's last answer is right |
| tasks | `openai/gsm8k`, configuration `main`, both splits of the hub; llmzoo splits by content |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

A record has `question` and `answer`, whose last line is `#### ` and a whole number or a decimal,
such as `#### 1,250`. The sample has 40 problems of this kind, written for llmzoo, with one more
field `program`, which prints the answer and is the expert's tool. In other files it is optional; without
it that tool prints the answer.

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

_NUMBER = re.compile(r"-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?")


def task_from_record(record: Record) -> MathTask:
    """The task of a record; its answer is what follows the last ``####``, without commas."""
    question = get_field(record, "question", str)
    _, mark, last = get_field(record, "answer", str).rpartition("####")
    answer = last.strip().strip("$").replace(" ", "")
    if not mark or not _NUMBER.fullmatch(answer):
        raise BadField("answer", f"must end in '#### ' and a number, got {last.strip()[:40]!r}")
    return MathTask(
        question=question.strip(),
        answer=answer.replace(",", ""),
        family="gsm8k",
        program=get_field(record, "program", str, ""),
    )


class GSM8K(ReasoningEnv):
    """GSM8K for a reasoner and a tool."""

    metadata: dict[str, Any] = {**ReasoningEnv.metadata, "name": "gsm8k_v0"}
    public_set = PublicSet(
        hub_id="openai/gsm8k",
        hub_args=("main",),
        read=task_from_record,
        sample=SAMPLES / "gsm8k.jsonl",
    )


raw_env = GSM8K
env, parallel_env = make_env_fns(GSM8K)
