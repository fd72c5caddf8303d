"""Source texts: posts, abstracts and openings of stories, shipped or from a data set."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from llmzoo.envs.sources import Record
from llmzoo.envs.sources import get_field as required

SAMPLES = Path(__file__).parent / "texts"  # records written for llmzoo


@dataclass(frozen=True, slots=True)
class WritingTask:
    """A source text. ``parts``: reference texts of the first and second part, if there are any."""

    title: str
    text: str
    parts: tuple[str | None, str | None] = field(default=(None, None), compare=False)


def canonical(task: WritingTask) -> str:
    """Title and text without regard to spaces and capitals; equal ones are the same task."""
    return " ".join(f"{task.title} {task.text}".casefold().split())


def make_task(record: Record, text: str, first: str, second: str) -> WritingTask | None:
    """The task of a record; None for an empty source text. ``text``, ``first`` and ``second`` are the
    names of its fields for the source text and the two parts."""
    source = required(record, text, str).strip()
    title = required(record, "title", str, default="").strip()
    parts = (reference_text(record, first), reference_text(record, second))
    return WritingTask(title, source, parts) if source else None


def reference_text(record: Record, name: str) -> str | None:
    """The reference text in a field; None for a record without it."""
    return required(record, name, str, default="").strip() or None
