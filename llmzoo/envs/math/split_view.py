"""The split view of a word problem: each of two agents sees every other number.

Both agents see the same words. The first agent sees the first, third, fifth number and so on; the
second agent sees the others. ``__`` replaces each number that an agent does not see. Words such as
"twice" count as numbers.
"""

from __future__ import annotations

import itertools
import random
import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from llmzoo.envs.math import generator
from llmzoo.envs.math.tasks import MathTask

HIDDEN = "__"
RULE = (
    "You and {other} see the same problem, but each of you sees only some of its numbers: {hidden} stands for a "
    "number that only {other} sees. {other} reads the first {limit} characters of each of your answers, so write "
    "what it needs to know there."
)

_WORDS = {
    "half": 0.5,
    "a third": 1 / 3,
    "twice": 2.0,
    "three times": 3.0,
    "four times": 4.0,
    "five times": 5.0,
    "six times": 6.0,
}
_NUMBER = re.compile(rf"\d+(?:\.\d+)?|\b(?:{'|'.join(_WORDS)})\b")
_MESSAGE = re.compile(r"(?m)^(?:# )?I see:([ a-z0-9.,]*)$")
_SAMPLES, _NEAREST = 20_000, 50


def visible_half(text: str, reader: int) -> str:
    """The problem as the agent with index ``reader`` (0 or 1) sees it."""
    indices = itertools.count()
    return _NUMBER.sub(lambda match: match[0] if next(indices) % 2 == reader else HIDDEN, text)


def expert_message(text: str, reader: int) -> str:
    """The expert's message: the numbers that it sees, in order."""
    return f"I see: {', '.join(_NUMBER.findall(text)[reader::2])}"


def join_halves(text: str, reader: int, message: str) -> str | None:
    """The whole problem, from an agent's half and a message.

    None if the message does not have one number for each hidden number.
    """
    number_lists = _MESSAGE.findall(message)
    half = visible_half(text, reader)
    numbers = _NUMBER.findall(number_lists[-1]) if number_lists else []
    if len(numbers) != half.count(HIDDEN):
        return None
    return re.sub(HIDDEN, lambda _: numbers.pop(0), half)


def most_likely_answer(task: MathTask, style: str, reader: int) -> str:
    """The most likely answer for an agent that receives no message.

    Samples 20,000 problems from the same generator and keeps those of the same kind. Of these, it
    takes the 50 whose numbers at the agent's visible positions are nearest to the agent's own, and
    returns their most frequent answer.
    """
    own_numbers = _numbers(problem_text(task, style))[reader::2]
    same_kind = _samples(task.level, style).get(_kind(task), [])
    nearest = sorted(same_kind, key=lambda sample: _distance(own_numbers, sample[0][reader::2]))[
        :_NEAREST
    ]
    return Counter(answer for _, answer in nearest).most_common(1)[0][0] if nearest else "0"


def problem_text(task: MathTask, style: str) -> str:
    """The wording of the problem in prompts of this style."""
    return task.terse if style == "terse" else task.question


def _kind(task: MathTask) -> str:
    return _NUMBER.sub(HIDDEN, task.terse)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_WORDS[n] if n in _WORDS else float(n) for n in _NUMBER.findall(text))


def _distance(numbers: Sequence[float], others: Sequence[float]) -> float:
    if len(numbers) != len(others):
        return float("inf")
    return sum(abs(a - b) / (1 + a) for a, b in zip(numbers, others, strict=True))


@lru_cache(maxsize=8)
def _samples(level: str, style: str) -> dict[str, list[tuple[tuple[float, ...], str]]]:
    """Sampled problems by kind: the numbers and the answer of each."""
    rng = random.Random(0)
    samples: dict[str, list[tuple[tuple[float, ...], str]]] = {}
    for _ in range(_SAMPLES):
        task = generator.sample_task(rng, family="word_problems", level=level)
        sample = _numbers(problem_text(task, style)), task.answer
        samples.setdefault(_kind(task), []).append(sample)
    return samples
