"""What goes to which update worker, and what comes back together of all."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from llmzoo.engine.ray.parcels import Bytes
from llmzoo.learners.updates.policy_gradient import named
from llmzoo.records import Batch

_SUMMED = (
    "demonstrated_tokens"  # what the loop counts as the run's tokens, of all policies together
)


def routed(batch: Batch, agents: Collection[str]) -> Batch:
    """What the update worker of these seats needs: their groups, and every episode.

    An episode's payments and endings are of all seats, so it is not taken apart.
    """
    return replace(batch, groups=tuple(g for g in batch.groups if g.agent in agents))


def merged_metrics(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics of policies that were learned apart, named as those of one updater for all."""
    merged: dict[str, Any] = {}
    for name, metrics in found.items():
        own = {key: value for key, value in metrics.items() if key != _SUMMED}
        merged |= named(name, own, found)
        if _SUMMED in metrics:
            merged[_SUMMED] = merged.get(_SUMMED, 0) + metrics[_SUMMED]
    return merged


def merged_files(folders: Sequence[Mapping[str, Bytes]]) -> dict[str, Bytes]:
    """The files of several updaters as those of one.

    A file of one policy has its name. One of all is a JSON mapping of which each updater has its
    own part, or the same in all.
    """
    merged: dict[str, Bytes] = {}
    for files in folders:
        for path, data in files.items():
            before = merged.get(path)
            merged[path] = data if before is None else _joined(path, before, data)
    return merged


def _joined(path: str, one: Bytes, other: Bytes) -> Bytes:
    if np.array_equal(one, other):
        return one
    both = [json.loads(data.tobytes()) for data in (one, other)]
    shared = both[0].keys() & both[1].keys()
    assert all(both[0][key] == both[1][key] for key in shared), f"two updaters differ in {path}"
    return np.frombuffer(json.dumps(both[0] | both[1]).encode(), dtype=np.uint8)
