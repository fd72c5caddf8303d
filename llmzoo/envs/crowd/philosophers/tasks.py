"""What a task is: the guests of a dinner, in the order in which they sit."""

from __future__ import annotations

import random

from llmzoo.envs.crowd.philosophers.table import Guest

LATEST, MOST_MEALS, LONGEST = (
    3,
    2,
    3,
)  # of a guest: first hungry round (from 0), meals, rounds of a meal

Guests = tuple[Guest, ...]


def sample_task(rng: random.Random, philosophers: int) -> Guests:
    """Random guests."""
    return tuple(
        Guest(rng.randint(0, LATEST), rng.randint(1, MOST_MEALS), rng.randint(1, LONGEST))
        for _ in range(philosophers)
    )


def canonical(guests: Guests) -> str:
    """The same text for dinners that are turns or mirror images of each other."""
    count = len(guests)
    images = [
        order[turn:] + order[:turn] for order in (guests, guests[::-1]) for turn in range(count)
    ]
    return " ".join("".join(map(str, guest)) for guest in min(images))
