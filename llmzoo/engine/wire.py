"""Batches as bytes, for processes that share a run: JSON, and arrays of numbers beside it.

Every number arrives as it was sent: floats to the last bit, and true, 1 and 1.0 stay three things.
Of infos, which environments fill as they like, arrays and tuples arrive as lists, keys as texts,
and what JSON has no form for as its ``repr``: infos are looked at, and nothing is computed from
such values.

The bytes: the length of the JSON (8 bytes, little-endian), the JSON, then the arrays that it lists,
all compressed.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmzoo.records import Batch, Completion, Decision, Ending, Episode, Group

_LEVEL = 1  # a third of the bytes for little time; more effort gains little

Ids = tuple[int, ...]


def dump(batch: Batch) -> bytes:
    """A batch as bytes."""
    once = _Once()
    found: dict[str, Any] = {
        "groups": [
            {
                **_plain(group),
                "prompt_ids": once.prompt(group.prompt_ids),
                "completions": [once.answer(c) for c in group.completions],
            }
            for group in batch.groups
        ],
        "endings": [_plain(ending) for ending in batch.endings],
        "episodes": [
            {
                **_plain(episode),
                "decisions": [
                    {**_plain(d), "completion": once.answer(d.completion)}
                    for d in episode.decisions
                ],
            }
            for episode in batch.episodes
        ],
        "answers": [
            {
                "text": c.text,
                "truncated": c.truncated,
                "refused": c.refused,
                "prompt": once.prompt(c.prompt_ids),
            }
            for c in once.answers
        ],
    }
    arrays = [
        *_packed([c.ids for c in once.answers], np.int64),
        *_packed([c.logprobs for c in once.answers], np.float64),
        *_packed(list(once.prompts), np.int64),
    ]
    found["arrays"] = [(array.dtype.str, array.nbytes) for array in arrays]
    try:
        text = json.dumps(found, default=_written)
    except TypeError:  # a key that JSON has no form for
        text = json.dumps(_keyed(found), default=_written)
    header = text.encode()
    parts = [len(header).to_bytes(8, "little"), header, *(a.tobytes() for a in arrays)]
    return zlib.compress(b"".join(parts), _LEVEL)


def load(data: bytes) -> Batch:
    """The batch that :func:`dump` wrote."""
    whole = zlib.decompress(data)
    start = 8 + int.from_bytes(whole[:8], "little")
    found = json.loads(whole[8:start])
    arrays = []
    for kind, size in found["arrays"]:
        arrays.append(np.frombuffer(whole[start : start + size], dtype=kind))
        start += size
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    ids, logprobs, prompts = (list(_unpacked(lengths, flat)) for lengths, flat in pairs)
    answers = [
        Completion(
            text=row["text"],
            truncated=row["truncated"],
            refused=row["refused"],
            prompt_ids=prompts[row["prompt"]],
            ids=own,
            logprobs=chances,
        )
        for row, own, chances in zip(found["answers"], ids, logprobs, strict=True)
    ]
    return Batch(
        groups=tuple(
            Group(
                **{
                    **_tuples(row),
                    "prompt_ids": prompts[row["prompt_ids"]],
                    "completions": tuple(answers[i] for i in row["completions"]),
                }
            )
            for row in found["groups"]
        ),
        endings=tuple(Ending(**row) for row in found["endings"]),
        episodes=tuple(_episode(row, answers) for row in found["episodes"]),
    )


class _Once:
    """Each completion and each prompt once, however often a batch holds it; a number in its place."""

    def __init__(self) -> None:
        self.answers: list[Completion] = []
        self.prompts: dict[Ids, int] = {}
        self._numbers: dict[int, int] = {}

    def answer(self, completion: Completion) -> int:
        number = self._numbers.setdefault(id(completion), len(self.answers))
        if number == len(self.answers):
            self.answers.append(completion)
        return number

    def prompt(self, ids: Ids) -> int:
        return self.prompts.setdefault(ids, len(self.prompts))


def _packed(rows: Sequence[Sequence[float]], kind: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The lengths of rows, and all their numbers, in half the bytes where nothing is lost by it."""
    count = sum(map(len, rows))
    flat = np.fromiter(itertools.chain.from_iterable(rows), dtype=kind, count=count)
    with np.errstate(over="ignore"):  # then it is not exact
        small = flat.astype(np.float32 if kind is np.float64 else np.int32)
    exact = bool(np.array_equal(small.astype(kind), flat, equal_nan=kind is np.float64))
    return np.array([len(row) for row in rows], dtype=np.int64), small if exact else flat


def _unpacked(lengths: NDArray[Any], flat: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    numbers: Iterable[Any] = iter(flat.tolist())
    return (tuple(itertools.islice(numbers, length)) for length in lengths.tolist())


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


def _keyed(value: Any) -> Any:
    """A value of which every mapping has texts for keys."""
    if isinstance(value, Mapping):
        return {str(key): _keyed(item) for key, item in value.items()}
    return [_keyed(item) for item in value] if isinstance(value, (list, tuple)) else value


def _written(value: Any) -> Any:
    """What JSON has no form for, in one that it has."""
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    return dict(value) if isinstance(value, Mapping) else repr(value)
