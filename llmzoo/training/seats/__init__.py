"""Who sits where: who plays each seat of a run, and who of them learns."""

from llmzoo.training.seats.opening import Learning, learning_among, seats_of_run, take_seats
from llmzoo.training.seats.plan import Seat, SeatConfig, plan
from llmzoo.training.seats.samplers import sampling_from

__all__ = [
    "Learning",
    "Seat",
    "SeatConfig",
    "learning_among",
    "plan",
    "sampling_from",
    "seats_of_run",
    "take_seats",
]
