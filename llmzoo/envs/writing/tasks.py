"""What is written about: posts, abstracts and openings of stories, shipped or from elsewhere."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from llmzoo.envs.sources import BadField, Loaded, Record, load, records
from llmzoo.envs.sources import field as required
from llmzoo.errors import ConfigError

TLDR_HUB = "trl-lib/tldr"
ARXIV_HUB = "OpenMLRL/arXiv_abstract"

_TITLE, _POST, _END = "TITLE:", "POST:", "TL;DR:"
_TITLE_STARTS = re.compile(rf"^{_TITLE}", re.MULTILINE)
_POST_STARTS = re.compile(rf"^{_POST}", re.MULTILINE)  # a title may say "REPOST:"


@dataclass(frozen=True, slots=True)
class WritingTask:
    """A source text. ``parts``: what an honest first and second author write, where it is known."""

    title: str
    text: str
    parts: tuple[str | None, str | None] = field(default=(None, None), compare=False)


def canonical(task: WritingTask) -> str:
    """Title and text, whatever the spaces and capitals: tasks alike in these are one."""
    return " ".join(f"{task.title} {task.text}".casefold().split())


def shipped(name: str) -> list[dict[str, Any]]:
    """The records of ``texts/NAME.jsonl``, written for this project."""
    return list(records(Path(__file__).parent / "texts" / f"{name}.jsonl"))


def posts(source: str, on_bad_record: str = "error") -> Loaded[WritingTask]:
    """Posts of ``trl-lib/tldr``, or of a file or the sample of its schema: ``prompt`` (``TITLE:``,
    ``POST:`` and an open ``TL;DR:``), ``completion``, and in the sample ``detailed``."""
    return load(
        source, hub_id=TLDR_HUB, sample=_sample_posts, parse=_post, on_bad_record=on_bad_record
    )


def abstracts(source: str, hub_id: str, on_bad_record: str = "error") -> Loaded[WritingTask]:
    """Abstracts of a set on the hub, of a file or of the sample: ``abstract`` (or, as in the default
    set, ``abstract_text``), and where there is one a ``title``."""
    return load(
        source,
        hub_id=hub_id,
        sample=_sample_abstracts,
        parse=_abstract,
        on_bad_record=on_bad_record,
    )


def openings(source: str, on_bad_record: str = "error") -> Loaded[WritingTask]:
    """Openings of stories: the shipped ones, or a file with the fields ``opening``, ``title``."""
    if source == "hub":
        raise ConfigError("no public set of openings is known: give source='sample' or a file")
    return load(
        "sample" if source == "auto" else source,
        hub_id="story openings",
        sample=_sample_openings,
        parse=_opening,
        on_bad_record=on_bad_record,
    )


def _post(record: Record) -> WritingTask | None:
    return _with_text(read_post(record))


def _abstract(record: Record) -> WritingTask | None:
    return _with_text(read_abstract(record))


def _opening(record: Record) -> WritingTask | None:
    return _with_text(read_opening(record))


def _with_text(task: WritingTask) -> WritingTask | None:
    """The task; None, which leaves it out, where its text is empty."""
    return task if task.text else None


def read_post(record: Record) -> WritingTask:
    prompt = required(record, "prompt", str)
    post = _POST_STARTS.search(prompt)
    if post is None:
        raise BadField("prompt", f"has no line that begins with {_POST!r}")
    head, text = prompt[: post.start()], prompt[post.end() :]
    titled = _TITLE_STARTS.search(head)
    title = head[titled.end() :].strip() if titled else ""
    concise = required(record, "completion", str, default="").strip() or None
    detailed = required(record, "detailed", str, default="") or None
    return WritingTask(title, text.strip().removesuffix(_END).strip(), (concise, detailed))


def read_abstract(record: Record) -> WritingTask:
    name = "abstract_text" if "abstract_text" in record else "abstract"
    return WritingTask(
        required(record, "title", str, default="").strip(),
        required(record, name, str).strip(),
        _known(record, "background", "method"),
    )


def read_opening(record: Record) -> WritingTask:
    title = required(record, "title", str, default="").strip()
    return WritingTask(
        title, required(record, "opening", str).strip(), _known(record, "first", "second")
    )


def _known(record: Record, first: str, second: str) -> tuple[str | None, str | None]:
    return (
        required(record, first, str, default="") or None,
        required(record, second, str, default="") or None,
    )


def _sample_posts() -> list[dict[str, Any]]:
    return [
        {
            "prompt": f"{_TITLE} {record['title']}\n\n{_POST} {record['post']}\n\n{_END}",
            "completion": record["concise"],
            "detailed": record["detailed"],
        }
        for record in shipped("tldr")
    ]


def _sample_abstracts() -> list[dict[str, Any]]:
    return shipped("arxiv")


def _sample_openings() -> list[dict[str, Any]]:
    return shipped("story")
