"""Distillation from teachers: advantages from their log-probabilities, or a divergence as the loss."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from llmzoo.learners.base import RunPolicies
from llmzoo.learners.groups import GroupLearner, GroupUpdater
from llmzoo.learners.losses import token_weights
from llmzoo.learners.updates.batch_training import MicrobatchLoss
from llmzoo.learners.updates.credits import ScoredGroup
from llmzoo.learners.updates.policy_gradient import Metrics, surrogate_loss
from llmzoo.learners.updates.teachers import Teachers
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Group


def log_ratios(logprobs: Sequence[float], teacher: Tensor, discount: float) -> Tensor:
    """The credit [C] of a completion's tokens: the teacher's log-probability minus the student's.

    ``logprobs``: the student's, as sampled. Each token also gets the credit of the next one, times ``discount``.
    With 0 the policy gradient is that of each token's reverse KL, with 1 that of the whole completion's.
    """
    credit = teacher - torch.tensor(logprobs, dtype=teacher.dtype)
    for t in range(len(credit) - 2, -1, -1) if discount else ():
        credit[t] += discount * credit[t + 1]
    return credit


class DistillationUpdater(GroupUpdater):
    """Also holds the teachers."""

    def __init__(self, learner: Any, run: RunPolicies):
        super().__init__(learner, run)
        self.config = learner.config
        self.teachers = Teachers(
            self.config.teacher, self.policies, self.agent_policies, whole=self.config.loss == "jsd"
        )

    def _update(
        self, name: str, policy: TransformersPolicy, groups: Sequence[Group], rng: random.Random
    ) -> dict[str, float]:
        if self.config.loss == "jsd":
            return super()._update(name, policy, groups, rng)
        self._mean_divergence = 0.0
        metrics = super()._update(name, policy, groups, rng)
        return {**metrics, "teacher_divergence": self._mean_divergence}

    def _score_groups(self, learner: GroupLearner, groups: Sequence[Group]) -> list[ScoredGroup]:
        """For ``reverse_kl``, with one advantage per token, [K, C]: the reward term plus the teacher term."""
        weight = self.config.reward_weight
        judged_by_return = super()._score_groups(learner, groups)
        scored = [ScoredGroup(c.group, weight * c.advantages) for c in judged_by_return]
        if self.config.loss == "jsd" or not scored:
            return scored
        groups_to_score = [c.group for c in scored]
        student = self.agent_policies[groups_to_score[0].agent]
        assert isinstance(student, TransformersPolicy)
        scores = self.teachers.logprobs(groups_to_score, student)
        total, tokens, result = 0.0, 0, []
        for c, flat in zip(scored, scores, strict=True):
            completions = c.group.completions
            rows = flat.split([len(a.ids) for a in completions])
            advantages = torch.zeros(len(completions), max(map(len, rows)), dtype=flat.dtype)
            for k, (completion, row) in enumerate(zip(completions, rows, strict=True)):
                total += sum(completion.logprobs) - float(row.sum())
                ratios = log_ratios(completion.logprobs, row, self.config.discount)
                advantages[k, : len(row)] = ratios + c.advantages[k]
            tokens += len(flat)
            result.append(ScoredGroup(c.group, advantages))
        self._mean_divergence = total / max(1, tokens)
        return result

    def _loss(self, name: str, policy: TransformersPolicy) -> MicrobatchLoss:
        if self.config.loss != "jsd":
            return super()._loss(name, policy)
        return partial(self._divergence_loss, policy, self.references.get(name))

    def _divergence_loss(
        self,
        policy: TransformersPolicy,
        reference: TransformersPolicy | None,
        microbatch: Sequence[ScoredGroup],
        *,
        rows: int,
        tokens: int,
    ) -> tuple[Tensor, Metrics]:
        """The microbatch's share of the divergence from the teachers and of the reward's surrogate loss."""
        config = self.config
        groups = [c.group for c in microbatch]
        beta = 0.5 if config.beta is None else config.beta
        now = policy.likelihood(groups, target=self.teachers.target(groups, policy, beta))
        assert now.divergence is not None
        loss, metrics = surrogate_loss(
            policy, microbatch, config, rows=rows, tokens=tokens, reference=reference, now=now
        )
        weights = token_weights(now.mask, config.reduction, rows=rows, tokens=tokens)
        metrics["teacher_divergence"] = now.divergence.detach().sum()
        return loss + (now.divergence * weights).sum(), metrics

    def credits(self, batch: Batch) -> list[float | None]:
        """As in the base class, but None for all completions if the divergence is the only loss."""
        if self.config.loss == "jsd" and not self.config.reward_weight:
            return [None for _ in batch.completions]
        return super().credits(batch)

    def save(self, folder: Path) -> None:
        super().save(folder)
        self.teachers.save(folder)

    def load(self, folder: Path) -> None:
        """Raises :class:`llmzoo.errors.CheckpointError` if the run had another teacher."""
        super().load(folder)
        self.teachers.load(folder)
