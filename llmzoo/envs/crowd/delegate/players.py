"""Scripted players: an expert, and one who errs as people do."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from llmzoo.envs.crowd.delegate.prompts import format_instruction
from llmzoo.envs.crowd.delegate.tasks import (
    DelegateTask,
    matching_records,
    measure_records,
)

SLOPPY = (
    0.2  # how often a noisy expert chooses a wrong page, misses a record, or errs in the answer
)
CARELESS = 0.05  # how often it writes nothing that can be read
VAGUE = "I am not sure about this."


def write_plan(task: DelegateTask, titles: Sequence[str], terse: bool) -> str:
    """Lines that ask for the partial values of these pages."""
    question = task.question
    return "\n".join(f"{title}: {format_instruction(question, title, terse)}" for title in titles)


def sloppy_titles(task: DelegateTask, most: int, rng: random.Random) -> list[str]:
    """The pages that are needed; sometimes one is forgotten, taken for another or added."""
    titles = list(task.question.titles)
    others = [title for title in task.titles if title not in titles]
    if rng.random() < SLOPPY:
        slip = rng.choice(["forget", "confuse", "add"])
        if slip == "forget" and len(titles) > 1:
            titles.pop(rng.randrange(len(titles)))
        elif slip == "add" and len(titles) < most:
            titles.insert(rng.randrange(len(titles) + 1), rng.choice(others))
        else:
            titles[rng.randrange(len(titles))] = rng.choice(others)
    return titles


def sloppy_value(task: DelegateTask, title: str, rng: random.Random) -> int:
    """The partial value of a page; sometimes one of the records is missed, or another one is taken for it."""
    question = task.question
    measure = question.measure(title)
    if rng.random() >= SLOPPY:
        return task.partial_value(title)
    page = task.page(title)
    records = matching_records(page, measure, question.subject)
    if len(records) > 1:
        records.pop(rng.randrange(len(records)))
    else:
        records = [rng.choice(page.records)]
    return measure_records(records, measure)


def sloppy_answer(answer: int, rng: random.Random) -> int:
    """The answer; sometimes a slip of the pen away from it."""
    return answer + rng.choice([-2, -1, 1, 2, 10]) if rng.random() < SLOPPY else answer


def write_number(number: int, terse: bool) -> str:
    return str(number) if terse else f"The number is {number}."


def next_title(task: DelegateTask, read: Mapping[str, object] | Sequence[str]) -> str | None:
    """The next page that an agent alone must read; None if it has read all that it needs."""
    return next((title for title in task.question.titles if title not in read), None)
