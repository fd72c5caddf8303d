"""A climber against the reward of the writing environments: it asks the reward itself.

It begins with pieces of a source in random order, changes one or two at a time, and keeps what the
reward does not like less. A person who reads what it finds sees no sentence in it.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence

from llmzoo.envs.writing.tasks import WritingTask

EVALUATIONS = 850
_SHORTEST = 2  # pieces of a part

Piece = list[str]
Worth = Callable[[str, str], float]
Pool = Callable[[WritingTask, Sequence[WritingTask]], list[Piece]]


def climb(pool: list[Piece], sizes: tuple[int, int], worth: Worth, rng: random.Random) -> float:
    """The most that :data:`EVALUATIONS` tries are worth."""
    parts = [_begun(pool, size, rng) for size in sizes]
    best = worth(*map(_text, parts))
    for _ in range(EVALUATIONS - 1):
        tried = [list(part) for part in parts]
        for _ in range(rng.choice((1, 1, 2, 3))):
            _change(rng.choice(tried), pool, rng)
        value = worth(*map(_text, tried))
        if value >= best:
            best, parts = value, tried
    return best


def _begun(pool: list[Piece], size: int, rng: random.Random) -> list[Piece]:
    part: list[Piece] = []
    while sum(map(len, part)) < size:
        part.append(rng.choice(pool))
    return part


def _text(part: list[Piece]) -> str:
    return " ".join(word for piece in part for word in piece)


def _change(part: list[Piece], pool: list[Piece], rng: random.Random) -> None:
    """Swap two pieces, take another for one, put one in or leave one out."""
    at, kind = rng.randrange(len(part)), rng.random()
    if kind < 0.35:
        other = rng.randrange(len(part))
        part[at], part[other] = part[other], part[at]
    elif kind < 0.85:
        part[at] = rng.choice(pool)
    elif kind < 0.93:
        part.insert(at, rng.choice(pool))
    elif len(part) > _SHORTEST:
        del part[at]


def _cut(text: str, *lengths: int) -> list[Piece]:
    words = text.split()
    return [words[i : i + n] for n in lengths for i in range(len(words) - n + 1)]


def climbed_pieces_of_two(task: WritingTask, others: Sequence[WritingTask]) -> list[Piece]:
    return _cut(task.text, 2)


def climbed_pieces_of_three(task: WritingTask, others: Sequence[WritingTask]) -> list[Piece]:
    return _cut(task.text, 3)


def climbed_pieces_of_four(task: WritingTask, others: Sequence[WritingTask]) -> list[Piece]:
    return _cut(task.text, 4)


def climbed_pieces_of_one_to_four(task: WritingTask, others: Sequence[WritingTask]) -> list[Piece]:
    return _cut(task.text, 1, 2, 3, 4)


def climbed_sentences(task: WritingTask, others: Sequence[WritingTask]) -> list[Piece]:
    return [sentence.split() for sentence in re.split(r"(?<=[.!?])\s+", task.text)]


def climbed_pieces_of_other_sources(
    task: WritingTask, others: Sequence[WritingTask]
) -> list[Piece]:
    return [piece for other in others for piece in _cut(other.text, 2, 3, 4)]


POOLS: tuple[Pool, ...] = (
    *(climbed_pieces_of_two, climbed_pieces_of_three, climbed_pieces_of_four),
    *(climbed_pieces_of_one_to_four, climbed_sentences),
)
