"""Training on rows of prompts and given completions, for SFT and DPO.

Unlike groups with advantages, rows are divided into batches of a fixed size, so an iteration has one
optimiser step per batch.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.rows import RowsConfig
from llmzoo.learners.updates.batch_training import average_steps, optimizer_step
from llmzoo.learners.updates.microbatches import shard_microbatches
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.learners.updates.policy_gradient import Metrics
from llmzoo.learners.updates.step_bound import StepBound
from llmzoo.models import tensor_io
from llmzoo.models.likelihood import Likelihood
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Completion, Group

Row = TypeVar("Row")
Ids = tuple[int, ...]
Loss = Callable[[Sequence[Row]], tuple[Tensor, Metrics]]


def completions_likelihood(
    policy: TransformersPolicy, rows: Sequence[tuple[Ids, Sequence[Ids]]]
) -> Likelihood:
    """The likelihood of given completions at temperature 1. Each row is a prompt with its completions.

    It also marks the tokens that were the most likely ones (``top``). The policy's sampling
    settings have no effect.
    """
    plain = replace(policy.sampling, temperature=1.0, top_p=1.0, top_k=0)
    groups = [
        Group(
            agent="",
            turn=0,
            key=(),
            prompt_ids=prompt,
            completions=tuple(
                Completion(text="", prompt_ids=prompt, ids=ids) for ids in completions
            ),
            returns=(0.0,) * len(completions),
        )
        for prompt, completions in rows
    ]
    return policy.with_sampling_for_all(plain).likelihood(groups, top=True)


def chunks(rows: Sequence[Row], size: int) -> list[Sequence[Row]]:
    """The rows in order, ``size`` at a time."""
    return [rows[start : start + size] for start in range(0, len(rows), size)]


def epoch_batches(rows: Sequence[Row], config: RowsConfig, seed: int) -> list[Sequence[Row]]:
    """The batches of all epochs; ``seed`` fixes the order, which differs from epoch to epoch."""
    found = []
    for epoch in range(config.epochs):
        order = random.Random(f"{seed}/{epoch}").sample(list(rows), len(rows))
        found += chunks(order, config.batch_size)
    return found


class RowsUpdater:
    """Holds an optimiser for each policy and counts iterations; a subclass defines ``update``.

    A schedule ends with the run. The number of remaining steps is estimated before each iteration, on the
    assumption that all further iterations have as many as this one.
    """

    def __init__(self, config: RowsConfig, run: RunPolicies):
        self.config = config
        self.policies = dict(run.policies)
        self.agent_policies = dict(run.agent_policies)
        self.total_steps = run.total_steps
        self.iterations = 0
        self.optimizers = {
            name: Optimizer.for_policy(policy, config, total=run.total_steps, name=name)
            for name, policy in self.policies.items()
        }

    def rollout_policies(self) -> Mapping[str, Policy]:
        return self.agent_policies

    def credits(self, batch: Batch) -> list[float | None]:
        """None for each of ``batch.completions``: rows have no advantages."""
        return [None for _ in batch.completions]

    def expect(self, name: str, steps: int) -> None:
        """Tell the optimiser's schedule that this iteration has ``steps`` steps."""
        optimizer = self.optimizers[name]
        optimizer.total = optimizer.steps + steps * max(1, self.total_steps - self.iterations)

    def step(
        self,
        name: str,
        rows: Sequence[Row],
        loss: Loss[Row],
        bound: StepBound | None = None,
    ) -> dict[str, float]:
        """One optimiser step of a policy on a batch of rows; returns the step's metrics.

        ``loss`` returns a microbatch's share of the batch's loss and of the metrics. ``bound``:
        limits the step.
        """
        step, metrics = optimizer_step(
            [self.optimizers[name]],
            shard_microbatches(rows, self.config.microbatch_rows, chunks),
            loss,
            size_option="microbatch_rows",
            measure_size=len,
            model_label=repr(name),
            bound=bound,
        )
        return {**metrics, **step}

    def average_metrics(self, name: str, steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """An iteration's metrics: means over its optimiser steps."""
        return {
            **average_steps(steps),
            "learning_rate": self.optimizers[name].rate,
            "steps": len(steps),
        }

    def save(self, folder: Path) -> None:
        for name, optimizer in self.optimizers.items():
            tensor_io.save(optimizer.state(), folder, f"{name}.optimizer")
        if ranks.rank() == 0:
            (folder / "iterations.json").write_text(json.dumps(self.iterations))

    def load(self, folder: Path) -> None:
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(tensor_io.load(folder, f"{name}.optimizer"))
        self.iterations = int(json.loads((folder / "iterations.json").read_text()))
