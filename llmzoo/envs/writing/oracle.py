"""Scripted authors: an expert who knows an honest text, and an amateur who errs as people do."""

from __future__ import annotations

import random
import re

from llmzoo.envs.writing.structure import Form
from llmzoo.envs.writing.tasks import WritingTask

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def extract(text: str, words: int, rng: random.Random) -> str:
    """Sentences of a text from a random place on, about so many words of them."""
    sentences = _SENTENCE_END.split(text)
    start = rng.randrange(len(sentences))
    taken: list[str] = []
    for sentence in [*sentences[start:], *sentences[:start]]:
        if taken and len(" ".join(taken).split()) >= words:
            break
        taken.append(sentence)
    return " ".join(taken)


def amateur(task: WritingTask, part: int, form: Form, rng: random.Random) -> str:
    """A part that is copied, unfinished, far too long or too short, or all right."""
    known = task.parts[part]
    kind = rng.randrange(5)
    words = round(form.words[0] * rng.uniform(1.0, 3.0))
    if known is None or kind == 0:
        return extract(task.text, words, rng)
    if kind == 1:
        return known[: rng.randrange(len(known))]
    if kind == 2:
        return f"{known} {task.text}"
    if kind == 3:
        return f"I think it is about {_first_words(task.title or task.text, 3)}."
    return known


def _first_words(text: str, count: int) -> str:
    return " ".join(text.split()[:count])
