"""Which rows a rank trains on when a trainer of TRL runs on several: the trainer knows of one process.

A step's rows are cut into micro-batches of one size, and these are dealt out. Each rank's trainer
accumulates the gradients of its own, and the optimiser adds up those of all ranks before the step.
"""

from __future__ import annotations

import logging
import math
import os
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from torch.utils.data import Sampler

from llmzoo.parallel import ranks

# what launchers tell a process; without it transformers and accelerate take it to be alone
_LAUNCHER = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


@dataclass(slots=True)
class Dealt(Sampler[int]):
    """This rank's of ``rows`` row numbers, epoch after epoch; ``seed`` fixes their order.

    ``batch`` rows make a step, ``at_once`` a micro-batch. Each rank has as many micro-batches in a
    step as any other, since those of a sharded model are run together: where one lacks, the step's
    first is run again, and counts nothing.
    """

    rows: int
    batch: int
    at_once: int
    seed: int
    _epochs: int = field(default=0, init=False)

    @property
    def per_step(self) -> int:
        """Micro-batches of this rank in a whole step."""
        return math.ceil(math.ceil(self.batch / self.at_once) / ranks.world())

    def __len__(self) -> int:
        return sum(len(part) for step in self._steps(range(self.rows)) for part, _ in step)

    def __iter__(self) -> Iterator[int]:
        order = random.Random(f"{self.seed}/{self._epochs}").sample(range(self.rows), self.rows)
        self._epochs += 1
        for step in self._steps(order):
            for part, _ in step:
                yield from part

    def weights(self) -> Iterator[float]:
        """For each micro-batch of an epoch, what its mean counts for in a mean over this rank's.

        So that the ranks' means add up to the mean over all rows of the step.
        """
        return (weight for step in self._steps(range(self.rows)) for _, weight in step)

    def _steps(self, order: Sequence[int]) -> Iterator[list[tuple[Sequence[int], float]]]:
        """Each step's micro-batches of this rank, with their weights."""
        for start in range(0, len(order), self.batch):
            rows = order[start : start + self.batch]
            parts = [rows[i : i + self.at_once] for i in range(0, len(rows), self.at_once)]
            rounds = math.ceil(len(parts) / ranks.world())
            mine = [
                (part, rounds * len(part) / len(rows))
                for part in parts[ranks.rank() :: ranks.world()]
            ]
            yield [*mine, (parts[0], 0.0)] if len(mine) < rounds else mine


@contextmanager
def as_if_alone() -> Iterator[None]:
    """Within this context libraries take this rank to be a process of its own."""
    from accelerate.state import AcceleratorState, GradientState, PartialState

    if ranks.world() == 1:
        yield
        return
    launched = {
        name: value
        for name, value in os.environ.items()
        if name in _LAUNCHER or name.startswith(("ACCELERATE_", "FSDP_"))
    }
    shared = [state._shared_state for state in (AcceleratorState, PartialState, GradientState)]
    copies = [dict(state) for state in shared]
    for name in launched:
        del os.environ[name]
    for state in shared:
        state.clear()
    log = logging.getLogger("transformers.training_args")
    level = log.level
    log.setLevel(logging.ERROR)  # it warns of the process group that it is not to know of
    try:
        yield
    finally:
        log.setLevel(level)
        os.environ.update(launched)
        for state, before in zip(shared, copies, strict=True):
            state.clear()
            state.update(before)
