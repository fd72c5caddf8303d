"""What holds the state of a learner that trains with TRL: an optimiser a policy, and a count."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.trl import run_trainer
from llmzoo.learners.updates.trl_args import TRLConfig, trl
from llmzoo.parallel import ranks
from llmzoo.policies import stored
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch

if TYPE_CHECKING:
    from datasets import Dataset


class PacedOptimizer(Optimizer):
    """An optimiser whose steps in all are not known beforehand: iterations have more or fewer rows."""

    def expect(self, steps: int) -> None:
        """Have the schedule end after this many further steps."""
        self.total = self.steps + steps


class TRLUpdater:
    """Holds an optimiser a policy, and how many iterations have been; a subclass has ``update``.

    A schedule ends with the run: before each iteration those to come are taken to have as many
    steps as this one.
    """

    def __init__(
        self,
        config: TRLConfig,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ):
        trl()  # so that it is missed before anything is played
        self.config = config
        self.policies = dict(policies)
        self.seats = dict(seats)
        self.total_steps = total_steps
        self.iterations = 0
        self.optimizers = {
            name: PacedOptimizer(
                policy.parameters(),
                config,
                rate=policy.learning_rate
                or config.rate_for(policy.model, adapter=policy.adapter is not None),
                total=total_steps,
                name=name,
            )
            for name, policy in self.policies.items()
        }

    def players(self) -> Mapping[str, Policy]:
        return self.seats

    def credits(self, batch: Batch) -> list[float | None]:
        """None for each of ``batch.completions``: what is imitated or compared has no advantage."""
        return [None for _ in batch.completions]

    def train(
        self, name: str, trainer: Any, rows: Dataset, *, seed: int, **options: Any
    ) -> dict[str, float]:
        """Train one policy on rows with a TRL trainer's class; see :func:`run_trainer`.

        :meth:`update` counts the iteration once all policies are through.
        """
        optimizer = self.optimizers[name]
        steps = self.config.epochs * math.ceil(len(rows) / self.config.batch_size)
        optimizer.expect(steps * max(1, self.total_steps - self.iterations))
        drawn = random.Random(f"{seed}/{name}").getrandbits(31)
        return run_trainer(
            trainer, self.policies[name], rows, optimizer, self.config, seed=drawn, **options
        )

    def save(self, folder: Path) -> None:
        for name, optimizer in self.optimizers.items():
            stored.save(optimizer.state(), folder, f"{name}.optimizer")
        if ranks.rank() == 0:
            (folder / "iterations.json").write_text(json.dumps(self.iterations))

    def load(self, folder: Path) -> None:
        for name, optimizer in self.optimizers.items():
            optimizer.restore(stored.load(folder, f"{name}.optimizer"))
        self.iterations = int(json.loads((folder / "iterations.json").read_text()))
