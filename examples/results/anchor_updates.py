"""Do comlrl, TRL and llmzoo take the same optimiser steps from the same completions?

llmzoo trains for a few steps in float64, and its completions are kept on a tape. The peer then trains on
that tape: its own advantages, loss, masks, optimiser and schedule, on our tokens. Compared are the gradient
of the first step, before it is clipped, and the weights after the last step. Rewards are not taken from
the tape: the peer asks the environment, and every return must be equal.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import anchor_trainers
import torch
from anchor_trainers import Task, Trained, train_comlrl, train_ours, train_trl
from torch import Tensor
from torch.optim.optimizer import register_optimizer_step_pre_hook

from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch

STEPS, PROMPTS, K = 3, 4, 4


@dataclass(slots=True)
class FirstGradients:
    """Keeps the gradient of each model's first optimiser step, summed over its backward passes.

    Models are numbered in the order in which they were loaded.
    """

    found: list[dict[str, Tensor]] = field(default_factory=list)
    policies: list[TransformersPolicy] = field(default_factory=list)
    stepped: set[int] = field(default_factory=set)

    def watch(self, policy: TransformersPolicy) -> TransformersPolicy:
        number = len(self.policies)
        self.policies.append(policy)
        self.found.append({})
        for name, parameter in policy.model.named_parameters():
            parameter.register_post_accumulate_grad_hook(
                lambda p, number=number, name=name: self._keep(number, name, p)
            )
        return policy

    def _keep(self, number: int, name: str, parameter: Tensor) -> None:
        if number not in self.stepped:
            assert parameter.grad is not None
            self.found[number][name] = parameter.grad.detach().clone()

    def on_step(self, optimizer: torch.optim.Optimizer, *_: Any) -> None:
        """Called before each optimiser step."""
        stepping = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for number, policy in enumerate(self.policies):
            if any(id(p) in stepping for p in policy.model.parameters()):
                self.stepped.add(number)


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """A trainer's first gradient and change of weights, each as one vector, and its mean returns."""

    gradient: Tensor
    change: Tensor
    returns: list[float]


def run(task: Task, train: Any) -> Side:
    """``train()`` with its models watched. Those of all agents make one vector."""
    gradients = FirstGradients()
    load = Task.load

    def loading(self: Task, **options: Any) -> TransformersPolicy:
        return gradients.watch(load(self, **options))

    hook = register_optimizer_step_pre_hook(gradients.on_step)
    start = load(task, exact=True)
    try:
        with patch.object(anchor_trainers.Task, "load", loading):
            trained: Trained = train()
    finally:
        hook.remove()
    before = dict(start.model.named_parameters())
    pieces, grads = [], []
    for policy in trained.policies.values():
        number = next(n for n, each in enumerate(gradients.policies) if each.model is policy.model)
        for name, parameter in policy.model.named_parameters():
            pieces.append((parameter.detach() - before[name].detach()).flatten())
            grads.append(gradients.found[number][name].flatten())
    returns = [point["return"] for point in trained.curve]
    return Side(gradient=torch.cat(grads), change=torch.cat(pieces), returns=returns)


def record(task: Task, **learner_args: Any) -> tuple[Side, dict[tuple[int, str], Any]]:
    """Our side, and the tape of its completions."""
    tape: dict[tuple[int, str], Any] = {}

    def keep(batch: Batch) -> None:
        for group in batch.groups:
            tape[int(group.key[0]), group.agent] = [list(one.ids) for one in group.completions]

    side = run(task, lambda: train_ours(task, exact=True, on_batch=keep, **learner_args))
    return side, tape


def compare(ours: Side, theirs: Side) -> dict[str, float]:
    """``cosine`` and ``ratio`` (theirs / ours) of the first gradients; ``weights``: the distance of the
    weights after the last step, relative to how far ours moved."""
    assert ours.returns == theirs.returns, (ours.returns, theirs.returns)
    norms = ours.gradient.norm(), theirs.gradient.norm()
    return {
        "cosine": float(ours.gradient @ theirs.gradient / (norms[0] * norms[1])),
        "ratio": float(norms[1] / norms[0]),
        "weights": float((theirs.change - ours.change).norm() / ours.change.norm()),
    }


def measure(
    peer: str, switches: Sequence[str], ours: dict[str, Any], seed: int = 0
) -> dict[str, float]:
    """One row: the peer with these switches compared with llmzoo with these options."""
    task = Task(agents=2 if peer == "comlrl" else 1, steps=STEPS, prompts=PROMPTS, k=K, seed=seed)
    mine, tape = record(task, **ours)
    if peer == "comlrl":
        theirs = run(task, lambda: train_comlrl(task, switches=switches, tape=tape, exact=True))
    else:
        with tempfile.TemporaryDirectory() as out:
            theirs = run(
                task,
                lambda: train_trl(task, Path(out), switches=switches, tape=tape, exact=True),
            )
    return compare(mine, theirs)
