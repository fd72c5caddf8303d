"""A replay buffer: groups of earlier batches to train on again."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.records import Completion, Group


class ReplayBuffer:
    """The groups and advantages of the last ``batches`` batches.

    The completions hold the log-probabilities of the policy that sampled them. The importance
    ratio refers to that policy, so the clipped surrogate limits the effect of old completions.
    """

    def __init__(self, batches: int):
        self._kept: deque[list[ScoredGroup]] = deque(maxlen=batches)

    def augment(self, fresh: Sequence[ScoredGroup]) -> list[ScoredGroup]:
        """The new groups and all stored ones. The new ones are then stored too."""
        mixed = [*fresh, *(credited for batch in self._kept for credited in batch)]
        self._kept.append(list(fresh))
        return mixed

    def save(self, path: Path) -> None:
        path.write_text(json.dumps([[_to_row(c) for c in batch] for batch in self._kept]))

    def load(self, path: Path) -> None:
        self._kept.clear()
        self._kept.extend(
            [_from_row(row) for row in batch] for batch in json.loads(path.read_text())
        )


def _to_row(credited: ScoredGroup) -> dict[str, Any]:
    group = credited.group
    return {
        "agent": group.agent,
        "turn": group.turn,
        "prompt_ids": group.prompt_ids,
        "returns": group.returns,
        "advantages": credited.advantages.tolist(),
        "completions": [
            {"ids": c.ids, "logprobs": c.logprobs, "text": c.text, "truncated": c.truncated}
            for c in group.completions
        ],
    }


def _from_row(row: dict[str, Any]) -> ScoredGroup:
    prompt = tuple(row["prompt_ids"])
    completions = tuple(
        Completion(
            text=c["text"],
            prompt_ids=prompt,
            ids=tuple(c["ids"]),
            logprobs=tuple(c["logprobs"]),
            truncated=c["truncated"],
        )
        for c in row["completions"]
    )
    group = Group(
        agent=row["agent"],
        turn=row["turn"],
        key=(),
        prompt_ids=prompt,
        completions=completions,
        returns=tuple(row["returns"]),
    )
    return ScoredGroup(group, torch.tensor(row["advantages"]))
