"""What a task is: the guests of a dinner, in the order in which they sit."""

from __future__ import annotations

import random

from llmzoo.envs.crowd.philosophers.table import Guest

LATEST, MOST_MEALS, LONGEST = (
    4,
    2,
    3,
)  # of a guest: the round from which it is hungry (from 1), meals, rounds of a meal

Guests = tuple[Guest, ...]


def sample_task(rng: random.Random, philosophers: int, hungry_by: int = LATEST) -> Guests:
    """Random guests, all of them hungry from round ``hungry_by`` (from 1) on."""
    return tuple(
        Guest(rng.randint(0, hungry_by - 1), rng.randint(1, MOST_MEALS), rng.randint(1, LONGEST))
        for _ in range(philosophers)
    )


def canonical(guests: Guests) -> str:
    """The same text for dinners that are turns or mirror images of each other."""
    count = len(guests)
    images = [
        order[turn:] + order[:turn] for order in (guests, guests[::-1]) for turn in range(count)
    ]
    return " ".join("".join(map(str, guest)) for guest in min(images))
