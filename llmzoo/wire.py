"""Batches as bytes, for processes that share a run: JSON, compressed.

Every number arrives as it was sent: floats to the last bit, and true, 1 and 1.0 stay three things.
Of infos, which environments fill as they like, arrays and tuples arrive as lists, keys as texts,
and what JSON has no form for as its ``repr``: infos are looked at, and nothing is computed from
such values.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from llmzoo.records import Batch, Completion, Decision, Ending, Episode, Group

_LEVEL = 1  # a third of the bytes for little time; more effort gains little


def dump(batch: Batch) -> bytes:
    """A batch as bytes."""
    answers = _Answers()
    found = {
        "groups": [
            {**_plain(group), "completions": [answers.place(c) for c in group.completions]}
            for group in batch.groups
        ],
        "endings": [_plain(ending) for ending in batch.endings],
        "episodes": [
            {
                **_plain(episode),
                "decisions": [
                    {**_plain(d), "completion": answers.place(d.completion)}
                    for d in episode.decisions
                ],
            }
            for episode in batch.episodes
        ],
        "answers": [_plain(completion) for completion in answers.found],
    }
    return zlib.compress(json.dumps(found, default=_written).encode(), _LEVEL)


def load(data: bytes) -> Batch:
    """The batch that :func:`dump` wrote."""
    found = json.loads(zlib.decompress(data))
    answers = [Completion(**_tuples(row)) for row in found["answers"]]
    return Batch(
        groups=tuple(
            Group(**{**_tuples(row), "completions": tuple(answers[i] for i in row["completions"])})
            for row in found["groups"]
        ),
        endings=tuple(Ending(**row) for row in found["endings"]),
        episodes=tuple(_episode(row, answers) for row in found["episodes"]),
    )


class _Answers:
    """Each completion once, however often a batch holds it; a number stands in its place."""

    def __init__(self) -> None:
        self.found: list[Completion] = []
        self._numbers: dict[int, int] = {}

    def place(self, completion: Completion) -> int:
        number = self._numbers.setdefault(id(completion), len(self.found))
        if number == len(self.found):
            self.found.append(completion)
        return number


def _episode(row: Mapping[str, Any], answers: Sequence[Completion]) -> Episode:
    decisions = [
        Decision(
            **{
                **_tuples(d),
                "completion": answers[d["completion"]],
                "paid_after": tuple((at, amount) for at, amount in d["paid_after"]),
            }
        )
        for d in row["decisions"]
    ]
    return Episode(**{**_tuples(row), "decisions": tuple(decisions)})


def _plain(record: Any) -> dict[str, Any]:
    """A record's fields by name, as they are."""
    return {field.name: getattr(record, field.name) for field in fields(record)}


def _tuples(row: Mapping[str, Any]) -> dict[str, Any]:
    """A record's fields, of which those that are lists are tuples in the record."""
    return {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}


def _written(value: Any) -> Any:
    """What JSON has no form for, in one that it has."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else repr(value)
