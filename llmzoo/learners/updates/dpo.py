"""Training on preferences in rounds: for each agent separately (DPO) or jointly (MADPO)."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.distributed.sharding import gather_weights
from llmzoo.errors import ConfigError
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.preferences import (
    DPOConfig,
    MADPOConfig,
    PreferenceConfig,
)
from llmzoo.learners.preference_losses import PairLogProbs, pair_losses
from llmzoo.learners.preferences import is_conversational, load_preferences
from llmzoo.learners.updates.batch_training import MEMORY_ADVICE
from llmzoo.learners.updates.dpo_reference import RoundReference
from llmzoo.learners.updates.pairs import (
    JointPair,
    Pair,
    agent_pairs,
    encode_pair,
    joint_pairs,
    truncate_pairs,
)
from llmzoo.learners.updates.policy_gradient import Metrics, prefix_metrics
from llmzoo.learners.updates.rows import RowsUpdater, chunks, completions_likelihood, epoch_batches
from llmzoo.learners.updates.step_bound import KL_SUBSET_SIZE, step_bound
from llmzoo.models.likelihood import Likelihood
from llmzoo.models.memory import explain_out_of_memory
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch


@dataclass(frozen=True, slots=True)
class PairWithReference:
    """A pair with the reference's log-probabilities [2] of its completions."""

    pair: Pair
    reference: Tensor


def pair_logps(
    policy: TransformersPolicy, pairs: Sequence[Pair], ld_alpha: float | None = None
) -> tuple[Tensor, Likelihood]:
    """Log-probabilities [M, 2] of the chosen and rejected completions, and the underlying likelihood.

    ``ld_alpha`` is the weight of the longer completion's tokens beyond the shorter one's length
    (LD-DPO, arXiv 2409.06411).
    """
    now = completions_likelihood(
        policy, [(p.prompt_ids, [p.chosen_ids, p.rejected_ids]) for p in pairs]
    )
    logps = now.logprobs * now.mask
    if ld_alpha is not None:
        lengths = now.mask.sum(dim=1).view(-1, 2)
        shorter = lengths.amin(dim=1).repeat_interleave(2).unsqueeze(1)
        surplus = now.mask.cumsum(dim=1) > shorter
        logps = torch.where(surplus, ld_alpha * logps, logps)
    return logps.sum(dim=1).view(-1, 2), now


def preference_loss(
    policy: TransformersPolicy,
    microbatch: Sequence[PairWithReference],
    *,
    options: PreferenceConfig,
    batch: Sequence[PairWithReference],
    mean_over: int,
) -> tuple[Tensor, Metrics]:
    """The microbatch's share of the loss of a batch: the sum over its pairs divided by ``mean_over``.

    The metrics, including the loss, are means over the batch's own pairs.
    """
    logps, now = pair_logps(policy, [compared.pair for compared in microbatch], options.ld_alpha)
    chosen = now.mask[::2]
    pairs = PairLogProbs(
        logps,
        torch.stack([compared.reference for compared in microbatch]).to(logps),
        now.mask.sum(dim=1).view(-1, 2),
        (now.logprobs[::2] * chosen).sum() / chosen.sum(),
        options,
    )
    losses = pair_losses(pairs)
    rewards, own = pairs.ratios.detach(), logps.detach()
    margins = rewards[:, 0] - rewards[:, 1]
    tokens = sum(len(c.pair.chosen_ids) + len(c.pair.rejected_ids) for c in batch)
    means = {
        "loss": losses.detach(),
        "rewards/chosen": rewards[:, 0],
        "rewards/rejected": rewards[:, 1],
        "rewards/accuracies": (margins > 0).float(),
        "rewards/margins": margins,
        "logps/chosen": own[:, 0],
        "logps/rejected": own[:, 1],
    }
    metrics: Metrics = {name: values.sum() / len(batch) for name, values in means.items()}
    metrics["entropy"] = now.entropy.detach().sum() / tokens
    assert now.top is not None
    chosen_tokens = sum(len(c.pair.chosen_ids) for c in batch)
    metrics["mean_token_accuracy"] = now.top[::2].sum() / chosen_tokens
    return losses.sum() / mean_over, metrics


def starts_round(iteration: int, *, rounds: int, total: int) -> bool:
    """Whether a round starts at this iteration (from 0) of ``total``. With ``rounds`` 0, always."""
    if rounds == 0 or iteration == 0:
        return True
    return iteration * rounds // total != (iteration - 1) * rounds // total


class PreferenceUpdater(RowsUpdater):
    """Also holds each policy's reference, which plays instead of the policy.

    A subclass defines ``learn``.
    """

    config: PreferenceConfig

    def __init__(self, config: PreferenceConfig, run: RunPolicies):
        if config.round_count > run.total_steps:
            raise ConfigError(
                f"rounds must be at most {run.total_steps}, the number of steps, got {config.round_count}; rounds=0 "
                "starts a round at each step"
            )
        super().__init__(config, run)
        self.references = {name: RoundReference(policy) for name, policy in self.policies.items()}

    def rollout_policies(self) -> Mapping[str, Policy]:
        """The policy of each agent, with each learning policy replaced by its reference."""
        return {
            agent: next(
                (self.references[n].player for n, p in self.policies.items() if p is policy), policy
            )
            for agent, policy in self.agent_policies.items()
        }

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        for reference in self.references.values():
            reference.count_tokens()
        metrics = self.learn(batch, seed=seed)
        self.iterations += 1
        if self.iterations < self.total_steps and starts_round(
            self.iterations, rounds=self.config.round_count, total=self.total_steps
        ):
            for reference in self.references.values():
                reference.refresh()
        return metrics

    def learn(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        raise NotImplementedError

    def logps(self, policy: TransformersPolicy, pairs: Sequence[Pair]) -> Tensor:
        """Log-probabilities [M, 2] of the pairs' completions, without gradient; each rank computes a part."""

        @torch.no_grad()
        def compute(mine: Sequence[Pair]) -> list[Tensor]:
            logps: list[Tensor] = []
            for part in chunks(mine, self.config.microbatch_rows):
                with explain_out_of_memory(
                    "microbatch_rows", len(part), f"A pass of {policy.name!r}", MEMORY_ADVICE
                ):
                    logps += pair_logps(policy, part, self.config.ld_alpha)[0].cpu()
            return logps

        with gather_weights([policy.model]):
            values = ranks.map_sharded(pairs, compute)
        return torch.stack(values) if values else torch.zeros(0, 2)

    def preference_step(
        self, name: str, batch: Sequence[PairWithReference], mean_over: int, *, steps: int
    ) -> dict[str, float]:
        """One of the ``steps`` optimiser steps of a policy in an iteration; returns metrics.

        Adam's step is as long for one pair as for many. So a bounded step on fewer than
        ``batch_size`` pairs is shortened in proportion, as if the missing pairs had no gradient.
        """
        loss = partial(
            preference_loss,
            self.policies[name],
            options=self.config,
            batch=batch,
            mean_over=mean_over,
        )
        policy = self.policies[name]
        kl_subset = [compared.pair for compared in batch[: KL_SUBSET_SIZE // 2]]

        def subset_likelihoods() -> list[Likelihood]:
            return [
                pair_logps(policy, part)[1]
                for part in chunks(kl_subset, self.config.microbatch_rows)
            ]

        fraction = min(1.0, mean_over / self.config.batch_size) / steps
        bound = step_bound(
            policy, self.optimizers[name], subset_likelihoods, update_fraction=fraction
        )
        return self.step(name, batch, loss, bound)

    def save(self, folder: Path) -> None:
        super().save(folder)
        for name, reference in self.references.items():
            reference.save(folder / f"{name}.reference")

    def load(self, folder: Path) -> None:
        super().load(folder)
        for name, reference in self.references.items():
            reference.load(folder / f"{name}.reference")


class DPOUpdater(PreferenceUpdater):
    """Trains each policy on the pairs of its own agents or on the rows of a preference set."""

    config: DPOConfig

    def __init__(self, config: DPOConfig, *args: Any, **options: Any):
        super().__init__(config, *args, **options)
        self._rows = load_preferences(config.preferences) if config.preferences else []
        for policy in self.policies.values():
            if policy.tokenizer.chat_template is None and any(map(is_conversational, self._rows)):
                raise ConfigError(
                    f"{config.preferences} contains conversations, but {policy.name} has no chat "
                    "template: give prompt, chosen and rejected as texts"
                )

    def learn(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        for name, policy in self.policies.items():
            pairs, counts = self._pairs(name, policy, batch, seed)
            reference = self.logps(self.references[name].player, pairs)
            order = random.Random(f"{seed}/{name}").getrandbits(31)
            compared = [PairWithReference(*both) for both in zip(pairs, reference, strict=True)]
            todo = epoch_batches(compared, self.config, order)
            self.expect(name, len(todo))
            steps = [self.preference_step(name, p, len(p), steps=len(todo)) for p in todo]
            learned = {"pairs": len(pairs), **counts, **self.average_metrics(name, steps)}
            metrics |= prefix_metrics(name, learned, self.policies)
        return metrics

    def _pairs(
        self, name: str, policy: TransformersPolicy, batch: Batch, seed: int
    ) -> tuple[list[Pair], dict[str, float]]:
        if self._rows:
            rows = [encode_pair(policy, self._rows[at]) for at in self._next_rows()]
            return truncate_pairs(rows, self.config.max_length), {}
        chosen = agent_pairs(
            [g for g in batch.groups if self.agent_policies[g.agent] is policy],
            self.config.pairs,
            min_gap=self.config.min_gap,
            rng=random.Random(f"{seed}/{name}/pairs"),
        )
        return [pair for (pair,) in chosen.pairs], {"ties": chosen.ties}

    def _next_rows(self) -> list[int]:
        """This iteration's rows. Every row is read once, in random order, before any is repeated."""
        count, size = len(self._rows), self.config.rows
        positions = range(self.iterations * size, (self.iterations + 1) * size)
        orders = {
            epoch: random.Random(f"{self.config.order}/{epoch}").sample(range(count), count)
            for epoch in {position // count for position in positions}
        }
        return [orders[position // count][position % count] for position in positions]


class MADPOUpdater(PreferenceUpdater):
    """Trains all policies on pairs of joint completions, with one step of every policy per batch.

    A joint pair (y, y') of agents s has the margin m = sum over s of m_s, where m_s is the
    log-ratio (policy over reference) of y_s minus that of y'_s, and the loss f(m). Agent s trains
    on f(m_s + c_s), where the constant c_s is the margin of the others before the step. The sum of
    these gradients over the agents is the gradient of f(m), since df/dm_s is f'(m) for each agent.
    The loss subtracts the reference's log-probabilities, so c_s is subtracted from these.
    """

    config: MADPOConfig

    def learn(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        rng = random.Random(f"{seed}/pairs")
        chosen = joint_pairs(batch.groups, self.config.pairs, min_gap=self.config.min_gap, rng=rng)
        todo: list[Sequence[JointPair]] = []
        for _ in range(self.config.epochs):
            order = rng.sample(chosen.pairs, len(chosen.pairs))
            todo += chunks(order, self.config.batch_size)
        steps: dict[str, list[dict[str, float]]] = {name: [] for name in self.policies}
        for name in self.policies:
            self.expect(name, len(todo))
        for joint in todo:
            for name, learned in self._joint_step(joint, steps=len(todo)).items():
                steps[name].append(learned)
        metrics: dict[str, Any] = {"pairs": len(chosen.pairs), "ties": chosen.ties}
        for name in self.policies:
            metrics |= prefix_metrics(name, self.average_metrics(name, steps[name]), self.policies)
        return metrics

    def _joint_step(self, joint: Sequence[JointPair], *, steps: int) -> dict[str, dict[str, float]]:
        """One optimiser step of every policy that occurs in the joint pairs."""
        parts: dict[str, list[tuple[int, Pair]]] = {name: [] for name in self.policies}
        for number, pairs in enumerate(joint):
            for pair in pairs:
                parts[self._policy_name(pair.agent)].append((number, pair))
        parts = {name: part for name, part in parts.items() if part}
        total = torch.zeros(len(joint), 2)
        references, ratios, numbers = {}, {}, {}
        for name, part in parts.items():  # all before any policy's step
            mine = [pair for _, pair in part]
            references[name] = self.logps(self.references[name].player, mine)
            ratios[name] = self.logps(self.policies[name], mine) - references[name]
            numbers[name] = torch.tensor([number for number, _ in part])
            total.index_add_(0, numbers[name], ratios[name])
        metrics = {}
        for name, part in parts.items():
            others = total[numbers[name]] - ratios[name]
            compared = [
                PairWithReference(pair, row)
                for (_, pair), row in zip(part, references[name] - others, strict=True)
            ]
            metrics[name] = self.preference_step(name, compared, len(joint), steps=steps)
        return metrics

    def _policy_name(self, agent: str) -> str:
        return next(
            n for n, policy in self.policies.items() if self.agent_policies[agent] is policy
        )
