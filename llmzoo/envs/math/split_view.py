"""The split view of a word problem: each of two agents reads every other number, and tells the other.

The words are the same for both. Of the numbers of the problem, the first agent reads the first, the third and
so on, the second agent the others; ``__`` stands for one that an agent does not read. Words such as "twice" are
numbers too.
"""

from __future__ import annotations

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
    """The problem as ``reader`` 0 or 1 sees it."""
    places = iter(range(len(text)))
    return _NUMBER.sub(lambda found: found[0] if next(places) % 2 == reader else HIDDEN, text)


def expert_message(text: str, reader: int) -> str:
    """The expert's message: the numbers that it reads, in their order."""
    return f"I see: {', '.join(_NUMBER.findall(text)[reader::2])}"


def join_halves(text: str, reader: int, heard: str) -> str | None:
    """The whole problem, from an agent's half and a message; None if the message does not fit."""
    messages = _MESSAGE.findall(heard)
    seen = visible_half(text, reader)
    numbers = _NUMBER.findall(messages[-1]) if messages else []
    if len(numbers) != seen.count(HIDDEN):
        return None
    return re.sub(HIDDEN, lambda _: numbers.pop(0), seen)


def most_likely_answer(task: MathTask, style: str, reader: int) -> str:
    """The answer that is most likely for an agent that hears nothing.

    Of 20,000 problems drawn from the same generator it takes those of the same kind, of these the 50 whose
    numbers at the places that the agent reads are nearest to its own, and of their answers the most frequent.
    """
    own = _numbers(problem_text(task, style))[reader::2]
    alike = _samples(task.level, style).get(_kind(task), [])
    near = sorted(alike, key=lambda sample: _distance(own, sample[0][reader::2]))[:_NEAREST]
    return Counter(answer for _, answer in near).most_common(1)[0][0] if near else "0"


def problem_text(task: MathTask, style: str) -> str:
    """The problem as a prompt of this style puts it."""
    return task.terse if style == "terse" else task.question


def _kind(task: MathTask) -> str:
    return _NUMBER.sub(HIDDEN, task.terse)


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(_WORDS[n] if n in _WORDS else float(n) for n in _NUMBER.findall(text))


def _distance(one: Sequence[float], other: Sequence[float]) -> float:
    if len(one) != len(other):
        return float("inf")
    return sum(abs(a - b) / (1 + a) for a, b in zip(one, other, strict=True))


@lru_cache(maxsize=8)
def _samples(level: str, style: str) -> dict[str, list[tuple[tuple[float, ...], str]]]:
    """Problems by kind: their numbers and their answers."""
    rng = random.Random(0)
    samples: dict[str, list[tuple[tuple[float, ...], str]]] = {}
    for _ in range(_SAMPLES):
        task = generator.sample_task(rng, family="word_problems", level=level)
        drawn = _numbers(problem_text(task, style)), task.answer
        samples.setdefault(_kind(task), []).append(drawn)
    return samples
