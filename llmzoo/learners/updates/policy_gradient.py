"""The policy gradient: its surrogate loss, and the state of an updater."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Sized
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.surrogate import SurrogateConfig
from llmzoo.learners.losses import (
    approximate_kl,
    clip_fraction,
    clipped_surrogate_loss,
    dual_clip,
    kl_k3,
    policy_gradient_loss,
    sequence_log_ratio,
    token_log_ratio,
    token_weights,
    truncated_importance_weight,
)
from llmzoo.learners.updates.credits import ScoredGroup, completion_advantages
from llmzoo.learners.updates.kl_reference import StartingPolicies
from llmzoo.learners.updates.optimizer import Optimizer
from llmzoo.models import tensor_io
from llmzoo.models.likelihood import Likelihood
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch

# metrics of a loss, by name; tensors are scalars, which stay on their device until a minibatch ends
Metrics = dict[str, "Tensor | float"]


def surrogate_loss(
    policy: TransformersPolicy,
    microbatch: Sequence[ScoredGroup],
    config: SurrogateConfig,
    *,
    rows: int,
    tokens: int,
    reference: TransformersPolicy | None = None,
    now: Likelihood | None = None,
) -> tuple[Tensor, Metrics]:
    """The microbatch's share of the loss of a minibatch with ``rows`` completions and ``tokens`` tokens.

    ``now``: the microbatch's likelihood, if it has been computed already. Also returns metrics, as sums
    over the microbatch's tokens; they stay on the device.
    """
    groups = [credited.group for credited in microbatch]
    now = policy.likelihood(groups) if now is None else now
    old, advantages = pad_rows(microbatch, now)
    if config.ratio == "token":
        log_ratio = token_log_ratio(now.logprobs, old)
    else:
        log_ratio = sequence_log_ratio(now.logprobs, old, now.mask)
    metrics: Metrics = {}
    if config.clip is None:
        per_token = policy_gradient_loss(now.logprobs, advantages)
        if config.importance_cap is not None:
            per_token = per_token * truncated_importance_weight(log_ratio, config.importance_cap)
    else:
        high = config.clip if config.clip_high is None else config.clip_high
        per_token = clipped_surrogate_loss(log_ratio, advantages, config.clip, high)
        if config.dual_clip is not None:
            per_token = dual_clip(per_token, advantages, config.dual_clip)
        detached_ratio = log_ratio.detach()
        share = clip_fraction(detached_ratio, now.mask, config.clip, high)
        metrics["clip_fraction"] = share * now.mask.sum()
        metrics["ratio"] = (detached_ratio.exp() * now.mask).sum()
        metrics["update_kl"] = approximate_kl(detached_ratio, now.mask) * now.mask.sum()
    if config.kl:
        assert reference is not None
        with torch.no_grad():
            fixed = reference.likelihood(groups)
        # Weighted by the ratio, whose gradient is the part of the KL's gradient that comes from
        # sampling; without it the penalty is biased (DeepSeek-V3.2, arXiv 2512.02556).
        kl = kl_k3(now.logprobs, fixed.logprobs)
        per_token = per_token + config.kl * kl * token_log_ratio(now.logprobs, old).exp()
        metrics["kl"] = (kl.detach() * now.mask).sum()
    if config.entropy:
        per_token = per_token - config.entropy * now.entropy
    weights = token_weights(now.mask, config.reduction, rows=rows, tokens=tokens)
    metrics["entropy"] = now.entropy.detach().sum()
    log_difference = (now.logprobs.detach() - old) * now.mask
    metrics["drift"] = -log_difference.sum()
    metrics["sampler_difference"] = log_difference.abs().sum()
    metrics["sampler_kl"] = approximate_kl(log_difference, now.mask) * now.mask.sum()
    metrics["tokens"] = now.mask.sum()
    return (per_token * weights).sum(), metrics


def pad_rows(microbatch: Sequence[ScoredGroup], now: Likelihood) -> tuple[Tensor, Tensor]:
    """A microbatch's log-probabilities as sampled [N, C], and its advantages [N] or [N, C]."""
    like = now.logprobs
    old = torch.zeros(like.shape, dtype=like.dtype)  # on the host, to be copied once
    completions = [completion for c in microbatch for completion in c.group.completions]
    for row, completion in enumerate(completions):
        old[row, : len(completion.ids)] = torch.tensor(completion.logprobs)
    if microbatch[0].advantages.dim() == 1:
        return old.to(like.device), torch.cat([c.advantages for c in microbatch]).to(like)
    advantages = torch.zeros_like(old)
    row = 0
    for c in microbatch:
        for per_token in c.advantages:
            advantages[row, : len(per_token)] = per_token[: old.shape[1]]
            row += 1
    return old.to(like.device), advantages.to(like.device)


class PolicyGradientUpdater:
    """Holds an optimiser for each policy and, under a KL penalty, the starting policies.

    ``configs``: by name, for policies whose options differ from ``config``. ``used``: the groups of
    the last update, for :meth:`credits`; a subclass sets it.
    """

    def __init__(
        self,
        config: SurrogateConfig,
        run: RunPolicies,
        *,
        configs: Mapping[str, SurrogateConfig] | None = None,
    ):
        self.policies = dict(run.policies)
        self.agent_policies = dict(run.agent_policies)
        configs = {**dict.fromkeys(self.policies, config), **(configs or {})}
        self.optimizers = {}
        for name, policy in self.policies.items():
            total = max(1, run.total_steps * configs[name].epochs * configs[name].minibatches)
            self.optimizers[name] = Optimizer.for_policy(
                policy, configs[name], total=total, name=name
            )
        self.references = StartingPolicies(
            {name: policy for name, policy in self.policies.items() if configs[name].kl}
        )
        self.used: list[ScoredGroup] = []

    def rollout_policies(self) -> Mapping[str, Policy]:
        return self.agent_policies

    def credits(self, batch: Batch) -> list[float | None]:
        """The advantage of each of ``batch.completions`` in the last update."""
        return completion_advantages(batch, self.used)

    def save(self, folder: Path) -> None:
        for name, optimizer in self.optimizers.items():
            tensor_io.save(optimizer.state(), folder, f"{name}.optimizer")
        self.references.save(folder)

    def load(self, folder: Path) -> None:
        """Raises :class:`llmzoo.errors.CheckpointError` if the run started from other weights."""
        self.references.load(folder)
        for name, optimizer in self.optimizers.items():
            optimizer.load_state_dict(tensor_io.load(folder, f"{name}.optimizer"))


def prefix_metrics(name: str, metrics: Mapping[str, Any], among: Sized) -> dict[str, Any]:
    """The metrics of one policy, prefixed with its name unless it is the only policy."""
    return {key if len(among) == 1 else f"{name}/{key}": value for key, value in metrics.items()}
