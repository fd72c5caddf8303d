"""Records of the American Invitational Mathematics Examination: answers are whole numbers, 0 to 999."""

from __future__ import annotations

import re

from llmzoo.envs.math.tasks import MathTask
from llmzoo.envs.sources import BadField, Record, field

_ANSWER = re.compile(r"\d{1,3}")


def read(record: Record) -> MathTask:
    """The task of a record with ``problem`` and ``answer``, a text such as ``"073"`` or a number."""
    given = record.get("answer")
    answer = str(given) if isinstance(given, int) else field(record, "answer", str).strip()
    if not _ANSWER.fullmatch(answer):
        raise BadField("answer", f"must be a whole number from 0 to 999, got {answer[:40]!r}")
    return MathTask(
        question=field(record, "problem", str).strip(),
        answer=str(int(answer)),
        family="aime",
        program=field(record, "program", str, ""),
    )
