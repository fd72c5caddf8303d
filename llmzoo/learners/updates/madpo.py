"""Learning from preferences between joint answers with TRL's DPOTrainer."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from llmzoo.learners.updates.dpo import PreferenceUpdater, trainer_class
from llmzoo.learners.updates.pairs import JointPair, Pair, joint_pairs, rows
from llmzoo.learners.updates.preference_config import MADPOConfig
from llmzoo.learners.updates.trl import run_trainer
from llmzoo.records import Batch


class MADPOUpdater(PreferenceUpdater):
    """Trains all policies on pairs of joint answers, a step of all for each batch of them.

    A joint pair (y, y') of seats s has the margin m = sum over s of m_s, where m_s is the log-ratio
    (policy over reference) of y_s less that of y'_s, and the loss f(m). Seat s trains on
    f(m_s + c_s), where c_s, the others' margins as they are before the step, is a constant: the sum
    of these gradients over the seats is the gradient of f(m), since df/dm_s is f'(m) for each. TRL
    subtracts the reference's log-probabilities, so c_s is taken off these: its loss is untouched.
    """

    options: MADPOConfig

    def _learn(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        rng = random.Random(f"{seed}/pairs")
        chosen = joint_pairs(
            batch.groups, self.options.pairs, min_gap=self.options.min_gap, rng=rng
        )
        batches = []
        for _ in range(self.config.epochs):
            order = rng.sample(chosen.pairs, len(chosen.pairs))
            size = self.config.batch_size
            batches += [order[start : start + size] for start in range(0, len(order), size)]
        for optimizer in self.optimizers.values():
            optimizer.expect(len(batches) * max(1, self.total_steps - self.iterations))
        steps: dict[str, list[dict[str, float]]] = {name: [] for name in self.policies}
        for joint in batches:
            for name, metrics in self._step(joint, seed=rng.getrandbits(31)).items():
                steps[name].append(metrics)
        counts = {"pairs": len(chosen.pairs), "ties": chosen.ties}
        found = {name: self._mean(name, metrics) for name, metrics in steps.items()}
        return counts | self._named(found)

    def _step(self, joint: Sequence[JointPair], *, seed: int) -> dict[str, dict[str, float]]:
        """One optimiser step of every policy that has a part in the joint pairs."""
        parts: dict[str, list[tuple[int, Pair]]] = {name: [] for name in self.policies}
        for number, pairs in enumerate(joint):
            for pair in pairs:
                parts[self._name_of(pair.agent)].append((number, pair))
        parts = {name: part for name, part in parts.items() if part}
        total = torch.zeros(len(joint), 2)
        references, ratios, numbers = {}, {}, {}
        for name, part in parts.items():  # all before anyone's step
            mine = [pair for _, pair in part]
            references[name] = self._logps(self.references[name].player, mine)
            ratios[name] = self._logps(self.policies[name], mine) - references[name]
            numbers[name] = torch.tensor([number for number, _ in part])
            total.index_add_(0, numbers[name], ratios[name])
        found = {}
        for name, part in parts.items():
            others = total[numbers[name]] - ratios[name]
            found[name] = run_trainer(
                trainer_class(weight=len(part) / len(joint)),  # TRL's mean is over rows
                self.policies[name],
                rows([pair for _, pair in part], references[name] - others),
                self.optimizers[name],
                replace(self.config, epochs=1, batch_size=len(part)),
                seed=seed,
            )
        return found

    def _name_of(self, agent: str) -> str:
        return next(n for n, policy in self.policies.items() if self.seats[agent] is policy)

    def _mean(self, name: str, steps: Sequence[Mapping[str, float]]) -> dict[str, float]:
        """The means over optimiser steps."""
        if not steps:
            return {"loss": 0.0, "grad_norm": 0.0, "steps": 0}
        means = {key: sum(step[key] for step in steps) / len(steps) for key in steps[0]}
        return {**means, "learning_rate": self.optimizers[name].rate, "steps": len(steps)}
