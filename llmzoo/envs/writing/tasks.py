"""What is written about: posts, abstracts and openings of stories, shipped or from elsewhere."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from llmzoo.envs.sources import Record
from llmzoo.envs.sources import field as required

SAMPLES = Path(__file__).parent / "texts"  # records written for llmzoo


@dataclass(frozen=True, slots=True)
class WritingTask:
    """A source text. ``parts``: what an honest first and second author write, if it is known."""

    title: str
    text: str
    parts: tuple[str | None, str | None] = field(default=(None, None), compare=False)


def canonical(task: WritingTask) -> str:
    """Title and text, whatever the spaces and capitals: tasks with the same ones are one task."""
    return " ".join(f"{task.title} {task.text}".casefold().split())


def read_text(record: Record, text: str, first: str, second: str) -> WritingTask | None:
    """The task of a record. ``text``, ``first`` and ``second`` name the fields of the source text and
    of its two parts. None for an empty source text."""
    source = required(record, text, str).strip()
    title = required(record, "title", str, default="").strip()
    parts = (known_part(record, first), known_part(record, second))
    return WritingTask(title, source, parts) if source else None


def known_part(record: Record, name: str) -> str | None:
    """What an honest author writes; None for a record without this field."""
    return required(record, name, str, default="").strip() or None
