"""The scripted noisy expert, who errs as people do. The expert plays the reference parts of a task."""

from __future__ import annotations

import random
import re

from llmzoo.envs.writing.scoring import StructureThresholds
from llmzoo.envs.writing.tasks import WritingTask

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")


def extract_sentences(text: str, words: int, rng: random.Random) -> str:
    """About ``words`` words of a text in whole sentences, from a random sentence on."""
    sentences = _SENTENCE_END.split(text)
    start = rng.randrange(len(sentences))
    taken: list[str] = []
    for sentence in [*sentences[start:], *sentences[:start]]:
        if taken and len(" ".join(taken).split()) >= words:
            break
        taken.append(sentence)
    return " ".join(taken)


def noisy_expert_part(
    task: WritingTask, part: int, thresholds: StructureThresholds, rng: random.Random
) -> str:
    """A part that is copied, unfinished, far too long, far too short, or right."""
    known = task.parts[part]
    kind = rng.randrange(5)
    words = round(thresholds.words[0] * rng.uniform(1.0, 3.0))
    if known is None or kind == 0:
        return extract_sentences(task.text, words, rng)
    if kind == 1:
        return known[: rng.randrange(len(known))]
    if kind == 2:
        return f"{known} {task.text}"
    if kind == 3:
        return f"I think it is about {' '.join((task.title or task.text).split()[:3])}."
    return known
