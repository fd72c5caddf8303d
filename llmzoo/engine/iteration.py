"""All chance of an iteration, and what an iteration gave."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from llmzoo.records import Batch
from llmzoo.rollout.clock import Clock


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """The chance of one iteration; it hangs on the run's seed and the iteration's number only."""

    noise: tuple[int, ...]  # a seed of each model's sampling
    update: int  # torch's own, for the update
    seeds: tuple[int, ...]  # of the episodes


def draws(seed: int, step: int, *, models: int, envs: int) -> Draws:
    """Those of iteration ``step`` of the run of ``seed``."""
    rng = random.Random(f"{seed}/{step}")
    return Draws(
        noise=tuple(rng.getrandbits(48) for _ in range(models)),
        update=rng.getrandbits(48),
        seeds=tuple(rng.getrandbits(31) for _ in range(envs)),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A batch, what playing it took, the metrics of learning from it, and its advantages."""

    batch: Batch
    clock: Clock
    tokens: int  # sampled by the policies that learn
    rollout_seconds: float
    learned: dict[str, Any]
    credits: list[float | None]  # of each of the batch's completions, see Updater.credits
    update_seconds: float
