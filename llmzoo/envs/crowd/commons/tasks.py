"""What a task is: a pond, drawn at random."""

from __future__ import annotations

import random

from llmzoo.envs.crowd.commons.optimum import social_optimum
from llmzoo.envs.crowd.commons.pond import Pond

FISH = (6, 14)  # of the capacity, for each fisher
ROUNDS = (4, 8)
PATIENCE = 1.5  # the best harvest is at least so many times the fish at the start


def sample_task(rng: random.Random, fishers: int) -> Pond:
    """A random pond, at least half full, in which patience pays. All fishers together can empty it in one
    round."""
    while True:
        each = rng.randint(*FISH)
        capacity = fishers * each
        pond = Pond(
            fishers=fishers,
            capacity=capacity,
            rate=rng.randrange(30, 101, 10),
            fewest=max(1, capacity * rng.randint(1, 3) // 10),
            start=capacity * rng.randint(5, 10) // 10,
            limit=each,
            rounds=rng.randint(*ROUNDS),
        )
        if social_optimum(pond).values[0][pond.start] >= PATIENCE * pond.start:
            return pond


def canonical(pond: Pond) -> str:
    return (
        f"{pond.fishers} {pond.capacity} {pond.rate} {pond.fewest} {pond.start} {pond.limit} "
        f"{pond.rounds}"
    )
