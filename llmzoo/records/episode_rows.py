"""Whole episodes as JSON objects, one per line of ``episodes.jsonl``.

``llmzoo eval --out`` and ``llmzoo serve gateway`` write such files. Unlike the rows of
:mod:`llmzoo.records.trajectories`, they keep the tokens of prompts and completions,
log-probabilities, and the messages of conversations.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from llmzoo import files
from llmzoo.errors import CheckpointError
from llmzoo.fields import field_values
from llmzoo.records.records import Completion, Decision, Episode, lists_to_tuples
from llmzoo.spaces import Conversation

EPISODES_FILE = "episodes.jsonl"
SampleKey = tuple[int, int]  # a task's number, and which of its samples
_CONVERSATION_FIELDS = ("messages", "tools")


def to_row(episode: Episode, key: SampleKey, id: str) -> dict[str, Any]:
    """An episode as a JSON object, with the decisions last."""
    task, sample = key
    row: dict[str, Any] = {"task": task, "sample": sample, "id": id}
    decisions = [decision_to_row(d, field_values(d.completion)) for d in episode.decisions]
    return {**row, **field_values(episode), "decisions": decisions}


def to_episode(row: Mapping[str, Any]) -> Episode:
    """The episode that :func:`to_row` wrote. The values in infos are plain JSON."""
    decisions = [
        decision_from_row(decision, Completion(**lists_to_tuples(decision["completion"])))
        for decision in row["decisions"]
    ]
    own = {field.name: row[field.name] for field in fields(Episode)}
    return Episode(**{**lists_to_tuples(own), "decisions": tuple(decisions)})


def decision_to_row(decision: Decision, completion: Any) -> dict[str, Any]:
    """A decision's fields, with ``completion`` in place of its own, and the messages of a conversation."""
    row = {**field_values(decision), "completion": completion}
    if isinstance(decision.observation, Conversation):
        row |= {name: getattr(decision.observation, name) for name in _CONVERSATION_FIELDS}
    return row


def decision_from_row(row: Mapping[str, Any], completion: Completion) -> Decision:
    """The decision that :func:`decision_to_row` wrote."""
    own = {name: row[name] for name in row if name not in _CONVERSATION_FIELDS}
    if "messages" in row:
        conversation = (tuple(row[name]) for name in _CONVERSATION_FIELDS)
        own["observation"] = Conversation(row["observation"], *conversation)
    own["paid_after"] = tuple((at, amount) for at, amount in row["paid_after"])
    return Decision(**{**lists_to_tuples(own), "completion": completion})


def read_lines(path: Path) -> Iterator[bytes]:
    """The lines of a file of episodes; see :func:`llmzoo.files.iter_lines`."""
    return files.iter_lines(path, max_line_bytes=files.MAX_EPISODE_BYTES)


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of a file of episodes, or of the folder that holds one.

    Raises :class:`CheckpointError` if there is no such file, or for a line that is not an episode.
    """
    path = path / EPISODES_FILE if path.is_dir() else path
    if not path.exists():
        raise CheckpointError(
            f"{path} does not exist: llmzoo eval --out FOLDER or llmzoo serve gateway --out FOLDER writes one"
        )
    for number, line in enumerate(read_lines(path), start=1):
        try:
            row = json.loads(line)
            to_episode(row)
            yield row | {"task": int(row["task"]), "sample": int(row["sample"])}
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            raise CheckpointError(
                f"{path}, line {number} is not an episode: {error!r:.200}"
            ) from None


def load_episodes(path: str | Path) -> list[Episode]:
    """The episodes that ``llmzoo eval --out`` or ``llmzoo serve gateway`` saved, by task and sample.

    ``path``: the folder, or its ``episodes.jsonl``. Raises :class:`CheckpointError` for anything else.
    """
    return [to_episode(row) for row in sorted(read_rows(Path(path)), key=sample_key)]


def sample_key(row: Mapping[str, Any]) -> SampleKey:
    return row["task"], row["sample"]


def has_episodes(source: str) -> bool:
    """Whether this is a file of whole episodes, or a folder that has one."""
    path = Path(source)
    path = path / EPISODES_FILE if path.is_dir() else path
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    first = next(read_lines(path), b"")
    try:
        row = json.loads(first)
    except (ValueError, RecursionError):
        return False
    return isinstance(row, dict) and "decisions" in row
