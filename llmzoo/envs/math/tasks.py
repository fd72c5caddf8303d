"""What a task of mathematics is: a question in words, and its exact answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

SAMPLES = Path(__file__).parent / "problems"  # of public sets: records written for llmzoo

# words, numbers with their point, and the signs that make one formula another
_ATOMS = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?|[-+*/^=<>!()\[\]{}|]")


@dataclass(frozen=True, slots=True)
class MathTask:
    """A question with one right answer.

    ``family`` and ``level``: what kind of task it is. ``program``: a Python program that prints the
    answer; the answer itself is printed without one. ``terse``: the question in few words and
    signs, for very small models. ``key``: what tasks share that differ only by a symmetry, if any.
    ``computed``: the answer must be worked out, and is read by
    ``exact``, otherwise by ``answers``. Two tasks with one question are equal.
    """

    question: str
    answer: str
    family: str = field(default="", compare=False)
    level: str = field(default="", compare=False)
    program: str = field(default="", compare=False)
    terse: str = field(default="", compare=False)
    key: str = field(default="", compare=False)
    computed: bool = field(default=False, compare=False)


def canonical(task: MathTask) -> str:
    """The task's key, or else the words, numbers and signs of the question in its shortest form.

    Stories that differ only in whose apples are counted are one, and so are ``37 + 48`` and
    ``48 + 37``.
    """
    if task.key:
        return task.key
    return " ".join(_ATOMS.findall((task.terse or task.question).lower()))
