"""Batches as bytes, for processes that share a run: JSON and compressed arrays of numbers.

Every number arrives exactly as sent: floats to the last bit, and true, 1 and 1.0 stay distinct.
Environments may put anything into infos, which are only displayed. So their arrays and tuples arrive
as lists, keys as texts, and values without a JSON form as their ``repr``.

The bytes: the length of the JSON (8 bytes, little-endian), the JSON, and the arrays that it lists,
all compressed.
"""

from __future__ import annotations

import itertools
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from llmzoo.fields import field_values
from llmzoo.files import dump_json
from llmzoo.records.episode_rows import decision_from_row, decision_to_row
from llmzoo.records.records import (
    Batch,
    Completion,
    ComponentReturns,
    Episode,
    EpisodeOutcome,
    Group,
    lists_to_tuples,
)

_LEVEL = 1  # a third of the bytes in little time; higher levels gain little

Ids = tuple[int, ...]


def dump(batch: Batch) -> bytes:
    """A batch as bytes."""
    index = _CompletionIndex()
    rows: dict[str, Any] = {
        "groups": [
            {
                **field_values(group),
                "prompt_ids": index.add_prompt(group.prompt_ids),
                "completions": [index.add_completion(c) for c in group.completions],
                "components": {name: field_values(part) for name, part in group.components.items()},
            }
            for group in batch.groups
        ],
        "endings": [field_values(ending) for ending in batch.endings],
        "failures": batch.failures,
        "episodes": [
            {
                **field_values(episode),
                "decisions": [
                    decision_to_row(d, index.add_completion(d.completion))
                    for d in episode.decisions
                ],
            }
            for episode in batch.episodes
        ],
        "answers": [
            {
                **field_values(c),
                "prompt_ids": index.add_prompt(c.prompt_ids),
                "ids": None,  # in the arrays
                "logprobs": None,
            }
            for c in index.completions
        ],
    }
    arrays = [
        *_pack([c.ids for c in index.completions], np.int64),
        *_pack([c.logprobs for c in index.completions], np.float64),
        *_pack(list(index.prompts), np.int64),
    ]
    rows["arrays"] = [(array.dtype.str, array.nbytes) for array in arrays]
    header = dump_json(rows).encode()
    parts = [len(header).to_bytes(8, "little"), header, *(a.tobytes() for a in arrays)]
    return zlib.compress(b"".join(parts), _LEVEL)


def load(data: bytes) -> Batch:
    """The batch that :func:`dump` wrote."""
    content = zlib.decompress(data)
    start = 8 + int.from_bytes(content[:8], "little")
    rows = json.loads(content[8:start])
    arrays = []
    for dtype, size in rows["arrays"]:
        arrays.append(np.frombuffer(content[start : start + size], dtype=dtype))
        start += size
    pairs = zip(arrays[::2], arrays[1::2], strict=True)
    ids, logprobs, prompts = (list(_unpack(lengths, flat)) for lengths, flat in pairs)
    completions = [
        Completion(**{**row, "prompt_ids": prompts[row["prompt_ids"]], "ids": i, "logprobs": p})
        for row, i, p in zip(rows["answers"], ids, logprobs, strict=True)
    ]
    groups = [
        {
            **lists_to_tuples(row),
            "prompt_ids": prompts[row["prompt_ids"]],
            "completions": tuple(completions[i] for i in row["completions"]),
            "components": {
                name: ComponentReturns(**lists_to_tuples(part))
                for name, part in row["components"].items()
            },
        }
        for row in rows["groups"]
    ]
    return Batch(
        groups=tuple(Group(**row) for row in groups),
        endings=tuple(EpisodeOutcome(**row) for row in rows["endings"]),
        episodes=tuple(_row_to_episode(row, completions) for row in rows["episodes"]),
        failures=tuple(rows["failures"]),
    )


class _CompletionIndex:
    """Numbers for the completions and prompts of a batch, which are sent once each."""

    def __init__(self) -> None:
        self.completions: list[Completion] = []
        self.prompts: dict[Ids, int] = {}
        self._numbers: dict[int, int] = {}

    def add_completion(self, completion: Completion) -> int:
        number = self._numbers.setdefault(id(completion), len(self.completions))
        if number == len(self.completions):
            self.completions.append(completion)
        return number

    def add_prompt(self, ids: Ids) -> int:
        return self.prompts.setdefault(ids, len(self.prompts))


def _pack(rows: Sequence[Sequence[float]], kind: Any) -> tuple[NDArray[Any], NDArray[Any]]:
    """The lengths of rows, and all their numbers, in 32 bits where that is exact."""
    count = sum(map(len, rows))
    flat = np.fromiter(itertools.chain.from_iterable(rows), dtype=kind, count=count)
    with np.errstate(over="ignore"):  # an overflow is not exact
        small = flat.astype(np.float32 if kind is np.float64 else np.int32)
    exact = bool(np.array_equal(small.astype(kind), flat, equal_nan=kind is np.float64))
    return np.array([len(row) for row in rows], dtype=np.int64), small if exact else flat


def _unpack(lengths: NDArray[Any], flat: NDArray[Any]) -> Iterator[tuple[Any, ...]]:
    numbers: Iterable[Any] = iter(flat.tolist())
    return (tuple(itertools.islice(numbers, length)) for length in lengths.tolist())


def _row_to_episode(row: Mapping[str, Any], completions: Sequence[Completion]) -> Episode:
    decisions = [decision_from_row(d, completions[d["completion"]]) for d in row["decisions"]]
    return Episode(**{**lists_to_tuples(row), "decisions": tuple(decisions)})
