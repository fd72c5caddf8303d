"""# OlympiadBench

Problems of olympiads with a final answer (He et al. 2024, arXiv 2402.14008), those in English and
without figures, for a reasoner and a tool. Agents, rounds, actions, rewards, feedback and arguments
are those of [`math_v0`](math.md).

| | |
|---|---|
| id | `olympiadbench_v0` |
| agents | `reasoner_0` and `tool_1`, together; others as in `math_v0` |
| rounds | at most `max_turns` (4); fewer when the two agree |
| success | the reasoner's last answer is right |
| tasks | `Hothan/OlympiadBench`, configuration `OE_TO_maths_en_COMP`; llmzoo splits by content |
| `source` | `"auto"` (default), `"hub"`, `"sample"` or a [file](../data.md#files-of-records) of the hub's schema; `on_bad_record="skip"` skips the file's bad records |

A record has `question`, `final_answer` (a list of LaTeX texts), `is_multiple_answer`, `unit` and
`error`. Where there are several answers all of them are asked for, in any order. A unit is named in
the question, and may be left out of the answer. Records without a final answer and those that allow
for an `error` (their answers are approximate) are left out. The sample has 20 problems of this
kind, written for llmzoo, with a field `program` that prints the answer.

**Version history.** v0: first version. Since then an answer has one reading, as in `math500_v0`, and
several formulas in one text of `final_answer` are several answers. Returns before and after do not
compare.
"""

from __future__ import annotations

import re
from typing import Any

from llmzoo.envs.base import make_env_fns
from llmzoo.envs.math.reasoning_env import ReasoningEnv
from llmzoo.envs.math.tasks import SAMPLES, MathTask
from llmzoo.envs.sources import PublicSet, Record, get_field, get_strings

_BETWEEN = re.compile(r"(?<!\\)\$\s*,\s*(?<!\\)\$")
_DOLLAR = re.compile(r"(?<!\\)\$")


def task_from_record(record: Record) -> MathTask | None:
    """The task of a record; None if it has no exact final answer."""
    question = get_field(record, "question", str).strip()
    answers = [_strip_dollars(text) for text in get_strings(record, "final_answer", [])]
    unit = get_field(record, "unit", str, "").strip()
    if not any(map(str.isalnum, "".join(answers))) or record.get("error"):
        return None
    if get_field(record, "is_multiple_answer", bool, False):
        question += "\nGive all answers, separated by commas."
    if unit:
        question += f"\nGive the answer in {unit}."
    return MathTask(
        question=question,
        answer=", ".join(filter(None, answers)),
        family=get_field(record, "subfield", str, ""),
        program=get_field(record, "program", str, ""),
    )


def _strip_dollars(text: str) -> str:
    """An answer without the dollars around its formulas, of which there may be several."""
    return _DOLLAR.sub("", _BETWEEN.sub(", ", text)).strip()


class OlympiadBench(ReasoningEnv):
    """OlympiadBench for a reasoner and a tool."""

    metadata: dict[str, Any] = {**ReasoningEnv.metadata, "name": "olympiadbench_v0"}
    public_set = PublicSet(
        hub_id="Hothan/OlympiadBench",
        hub_args=("OE_TO_maths_en_COMP",),
        read=task_from_record,
        sample=SAMPLES / "olympiadbench.jsonl",
    )


raw_env = OlympiadBench
env, parallel_env = make_env_fns(OlympiadBench)
