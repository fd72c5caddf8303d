"""Rollouts and updates in this process."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from pettingzoo import AECEnv
from torch.optim.lr_scheduler import LambdaLR

from llmzoo.errors import ConfigError, DivergedError
from llmzoo.learners.base import Credited, GroupConfig, GroupLearner
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Group
from llmzoo.rollout.scheduler import run

SMALL = 10_000_000  # parameters; models below learn at a far higher rate


class LocalEngine:
    """Holds the policies that learn, with an optimiser each, and plays and updates them.

    ``policies``: those that learn, by name. ``seats``: the policy of every seat, learning or not.
    ``total_steps``: optimiser steps of the whole run, for the schedule.
    """

    def __init__(
        self,
        learner: GroupLearner,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ):
        self.learner = learner
        self.policies = dict(policies)
        self.seats = dict(seats)
        self.trained = [
            agent
            for agent, policy in seats.items()
            if any(policy is learning for learning in policies.values())
        ]
        if not self.trained:
            raise ConfigError("no seat is taken by a policy that learns")
        config: GroupConfig = learner.config
        updates = max(1, total_steps * config.epochs * config.minibatches)
        self.optimizers = {n: _optimizer(p, config) for n, p in self.policies.items()}
        self.schedules = {
            n: LambdaLR(o, _factor(config, updates)) for n, o in self.optimizers.items()
        }
        self.references = {n: _frozen(p) for n, p in self.policies.items() if config.kl}

    def collect(self, env_fn: Callable[[], AECEnv], seeds: Sequence[int]) -> Batch:
        """Play one line from each seed, all at once."""
        envs = [env_fn() for _ in seeds]
        for env, seed in zip(envs, seeds, strict=True):
            env.reset(seed=seed)
        lines = [
            self.learner.line(env, seed, self.trained)
            for env, seed in zip(envs, seeds, strict=True)
        ]
        parts: list[Batch] = run(lines, self.seats)
        return Batch(
            groups=tuple(group for part in parts for group in part.groups),
            endings=tuple(ending for part in parts for ending in part.endings),
        )

    def update(self, batch: Batch, *, seed: int) -> dict[str, float]:
        """Learn from a batch; ``seed`` fixes the order of minibatches. Returns metrics.

        Raises :class:`DivergedError` when a loss or gradient is not finite; the weights are then
        as they were before that step.
        """
        metrics: dict[str, float] = {}
        for name, policy in self.policies.items():
            mine = [g for g in batch.groups if self.seats[g.agent] is policy]
            found = self._update(name, policy, mine, random.Random(f"{seed}/{name}"))
            prefix = "" if len(self.policies) == 1 else f"{name}/"
            metrics |= {prefix + key: value for key, value in found.items()}
        return metrics

    def _update(
        self, name: str, policy: TransformersPolicy, groups: Sequence[Group], rng: random.Random
    ) -> dict[str, float]:
        config: GroupConfig = self.learner.config
        credited = self.learner.credited(groups)
        totals: dict[str, float] = {}
        norms: list[float] = []
        losses: list[float] = []
        policy.model.train()
        for _ in range(config.epochs):
            order = rng.sample(credited, len(credited))
            size = math.ceil(len(order) / config.minibatches)
            for start in range(0, len(order), max(1, size)):
                loss, norm = self._step(name, policy, order[start : start + size], totals)
                losses.append(loss)
                norms.append(norm)
        policy.model.eval()
        tokens = max(1.0, totals.pop("tokens", 0.0))
        informative = sum(bool(c.advantages.any()) for c in credited)
        return {
            "loss": _mean(losses),
            "grad_norm": _mean(norms),
            "learning_rate": float(self.schedules[name].get_last_lr()[0]),
            "informative": informative / max(1, len(credited)),
            **{key: value / tokens for key, value in totals.items()},
        }

    def _step(
        self,
        name: str,
        policy: TransformersPolicy,
        minibatch: Sequence[Credited],
        totals: dict[str, float],
    ) -> tuple[float, float]:
        """One optimiser step, its gradient accumulated over parts of bounded size."""
        config: GroupConfig = self.learner.config
        optimizer = self.optimizers[name]
        rows = sum(len(c.group.completions) for c in minibatch)
        tokens = sum(len(x.ids) for c in minibatch for x in c.group.completions)
        learns_from_all = bool(config.kl or config.entropy)
        # a group without differences adds nothing to the gradient, but counts in the mean
        needed = [c for c in minibatch if learns_from_all or bool(c.advantages.any())]
        optimizer.zero_grad(set_to_none=True)
        loss_sum = 0.0
        for part in _parts(policy, needed, config.rows_at_once):
            loss, metrics = self.learner.loss(
                policy, part, rows=rows, tokens=tokens, reference=self.references.get(name)
            )
            if not torch.isfinite(loss):
                raise DivergedError(
                    f"the loss of {name!r} is {loss.item()}: lower learning_rate or set clip"
                )
            loss.backward()
            loss_sum += loss.item()
            for key, value in metrics.items():
                totals[key] = totals.get(key, 0.0) + value
        norm = 0.0
        if needed:
            trainable = [p for p in policy.model.parameters() if p.requires_grad]
            norm = float(torch.nn.utils.clip_grad_norm_(trainable, config.max_grad_norm))
            if not math.isfinite(norm):
                raise DivergedError(f"the gradient of {name!r} is {norm}: lower learning_rate")
        optimizer.step()  # without gradients it changes nothing
        self.schedules[name].step()
        return loss_sum, norm


def _parts(
    policy: TransformersPolicy, credited: Sequence[Credited], rows_at_once: int
) -> list[list[Credited]]:
    """Groups of alike sampling settings and lengths, at most ``rows_at_once`` completions each."""

    def key(c: Credited) -> tuple[str, int]:
        return repr(policy.sampling_of(c.group.agent)), len(c.group.prompt_ids)

    parts: list[list[Credited]] = []
    rows, sampling = 0, ""
    for c in sorted(credited, key=key):
        count = len(c.group.completions)
        if not parts or rows + count > rows_at_once or key(c)[0] != sampling:
            parts.append([])
            rows, sampling = 0, key(c)[0]
        parts[-1].append(c)
        rows += count
    return parts


def _optimizer(policy: TransformersPolicy, config: GroupConfig) -> torch.optim.AdamW:
    trainable = [p for p in policy.model.parameters() if p.requires_grad]
    rate = config.learning_rate
    if rate is None:
        rate = 2e-4 if sum(p.numel() for p in policy.model.parameters()) < SMALL else 1e-6
    return torch.optim.AdamW(
        trainable, lr=rate, betas=(0.9, 0.99), weight_decay=config.weight_decay
    )


def _factor(config: GroupConfig, updates: int) -> Callable[[int], float]:
    """The learning rate's factor at an optimiser step."""

    def factor(step: int) -> float:
        if step < config.warmup:
            return (step + 1) / (config.warmup + 1)
        if config.schedule == "constant":
            return 1.0
        done = min(1.0, (step - config.warmup) / max(1, updates - config.warmup))
        return 1.0 - done if config.schedule == "linear" else 0.5 * (1 + math.cos(math.pi * done))

    return factor


def _frozen(policy: TransformersPolicy) -> Any:
    reference = copy.deepcopy(policy.model).eval()
    return reference.requires_grad_(False)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
