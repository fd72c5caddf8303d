"""Who sits where: who plays each seat of a run, and who of them learns."""

from llmzoo.seating.opening import Learning, learning_among, seats_of_run, take_seats
from llmzoo.seating.plan import Seat, SeatConfig, plan

__all__ = [
    "Learning",
    "Seat",
    "SeatConfig",
    "learning_among",
    "plan",
    "seats_of_run",
    "take_seats",
]
