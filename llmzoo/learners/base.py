"""What the critic-free learners share: their options, and the loss of a batch of groups.

A learner says how it rolls out (:meth:`GroupLearner.line`) and what credit each completion of a
group gets (:meth:`GroupLearner.credit`). The loop, checkpoints and logging are not its business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import torch
from pettingzoo import AECEnv
from torch import Tensor
from transformers import PreTrainedModel

from llmzoo.advantages import normalized
from llmzoo.errors import ConfigError
from llmzoo.losses import (
    Reduction,
    clip_fraction,
    clipped_ratio,
    kl_k3,
    policy_gradient,
    token_weights,
)
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Group
from llmzoo.rollout.scheduler import Line


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig:
    """Options of every critic-free learner."""

    group_size: int = 4  # K: completions of each prompt
    gamma: float = 1.0  # discount per turn of the agent's own
    normalize: bool = False  # divide advantages by the group's standard deviation of returns
    clip: float | None = None  # clip the ratio to [1 - clip, 1 + clip]; None: no ratio
    clip_high: float | None = None  # upper clip where it differs from ``clip``
    kl: float = 0.0  # weight of the KL to the frozen starting policy (k3 estimate)
    entropy: float = 0.0  # weight of the entropy bonus
    reduction: Reduction = "token_mean"  # how tokens are weighed (losses.token_weights)
    epochs: int = 1  # passes over each batch
    minibatches: int = 1  # optimiser steps in a pass
    rows_at_once: int = 256  # completions in one forward pass; the rest is accumulated
    learning_rate: float | None = None  # None: 1e-6, and 2e-4 below 10 million parameters
    schedule: Literal["constant", "linear", "cosine"] = "constant"  # after the warm-up
    warmup: int = 0  # optimiser steps of linear warm-up
    weight_decay: float = 0.0  # of AdamW
    max_grad_norm: float = 1.0  # a longer gradient is scaled down to it

    def __post_init__(self) -> None:
        if self.group_size < 1 or self.epochs < 1 or self.minibatches < 1 or self.rows_at_once < 1:
            raise ConfigError("group_size, epochs, minibatches and rows_at_once are at least 1")
        if self.clip is None and (self.epochs > 1 or self.minibatches > 1):
            raise ConfigError(
                "several updates from one batch need the clipped ratio: set clip, for example 0.2"
            )
        if self.clip is None and self.clip_high is not None:
            raise ConfigError("clip_high means nothing without clip")
        if not 0.0 <= self.gamma <= 1.0:
            raise ConfigError(f"gamma must be in [0, 1], got {self.gamma}")


@dataclass(frozen=True, slots=True)
class Credited:
    """A group with the advantage [K] of each completion; every completion is trainable."""

    group: Group
    advantages: Tensor


class GroupLearner:
    """Base of the critic-free learners: policy gradient on groups with advantages."""

    Config: ClassVar[type[GroupConfig]] = GroupConfig
    env_defaults: ClassVar[Mapping[str, Any]] = {}  # environment arguments that it needs

    def __init__(self, config: GroupConfig | None = None):
        self.config: Any = config or self.Config()

    def line(self, env: AECEnv, seed: int, trained: Collection[str]) -> Line:
        """A line of play on a freshly reset environment that returns a ``Batch``."""
        raise NotImplementedError

    def credit(self, group: Group) -> Tensor:
        """The advantage [K] of each completion."""
        raise NotImplementedError

    def credited(self, groups: Sequence[Group]) -> list[Credited]:
        """Groups with their advantages; what no model sampled is left out before any baseline."""
        kept = []
        for group in groups:
            sampled = [i for i, c in enumerate(group.completions) if c.trainable]
            if not sampled:
                continue
            if len(sampled) < len(group.completions):
                group = replace(
                    group,
                    completions=tuple(group.completions[i] for i in sampled),
                    returns=tuple(group.returns[i] for i in sampled),
                )
            advantages = self.credit(group)
            if self.config.normalize:
                advantages = normalized(advantages, torch.tensor(group.returns))
            kept.append(Credited(group, advantages))
        return kept

    def loss(
        self,
        policy: TransformersPolicy,
        part: Sequence[Credited],
        *,
        rows: int,
        tokens: int,
        reference: PreTrainedModel | None,
    ) -> tuple[Tensor, dict[str, float]]:
        """The loss of a part of a batch of ``rows`` completions with ``tokens`` tokens in all.

        Returns the part's share of the loss, and metrics as sums over the part's tokens.
        """
        config = self.config
        groups = [credited.group for credited in part]
        now = policy.likelihood(groups)
        device = now.mask.device
        advantages = torch.cat([credited.advantages for credited in part]).to(device)
        old = torch.zeros_like(now.logprobs)
        flat = [completion for group in groups for completion in group.completions]
        for row, completion in enumerate(flat):
            old[row, : len(completion.ids)] = torch.tensor(completion.logprobs)
        metrics: dict[str, float] = {}
        if config.clip is None:
            per_token = policy_gradient(now.logprobs, advantages)
        else:
            high = config.clip if config.clip_high is None else config.clip_high
            per_token = clipped_ratio(now.logprobs, old, advantages, config.clip, high)
            share = clip_fraction(now.logprobs, old, now.mask, config.clip, high)
            metrics["clip_fraction"] = float(share * now.mask.sum())
        if config.kl:
            assert reference is not None
            with torch.no_grad():
                fixed = policy.likelihood(groups, reference)
            kl = kl_k3(now.logprobs, fixed.logprobs)
            per_token = per_token + config.kl * kl
            metrics["kl"] = float((kl.detach() * now.mask).sum())
        if config.entropy:
            per_token = per_token - config.entropy * now.entropy
        weights = token_weights(now.mask, config.reduction, rows=rows, tokens=tokens)
        metrics["entropy"] = float(now.entropy.detach().sum())
        metrics["drift"] = float(((old - now.logprobs.detach()) * now.mask).sum())
        metrics["tokens"] = float(now.mask.sum())
        return (per_token * weights).sum(), metrics
