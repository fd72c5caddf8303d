"""Supervised learning from episodes: the selection of rows, and the loss on them."""

from __future__ import annotations

import json
import random
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.distributed import ranks
from llmzoo.errors import ConfigError
from llmzoo.learners.base import RunPolicies
from llmzoo.learners.configs.rows import SFTConfig
from llmzoo.learners.updates.examples import (
    Example,
    answer_ids,
    fits_context,
    refuse_too_long,
    sample_examples,
    truncate_examples,
    world_model_example,
)
from llmzoo.learners.updates.policy_gradient import Metrics
from llmzoo.learners.updates.rows import RowsUpdater, completions_likelihood, epoch_batches
from llmzoo.policies import expert, mixture, noisy_expert
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Decision, Episode, episode_rows, trajectories
from llmzoo.rollout.plans import RolloutPlan
from llmzoo.rollout.scheduler import Rollout

_SCRIPTED = {
    "expert": lambda config: expert(),
    "noisy_expert": lambda config: noisy_expert(),
    "mixed": lambda config: mixture(config.expert_share),
}


def demonstration_policies(
    config: SFTConfig, agent_policies: Mapping[str, Policy]
) -> Mapping[str, Policy]:
    """The policies that play: scripted policies for all agents, or the agents' own policies."""
    player = _SCRIPTED.get(config.source)
    return dict.fromkeys(agent_policies, player(config)) if player else agent_policies


class Demonstrations(RolloutPlan):
    """The episodes of a file of trajectories or of whole episodes, repeated. ``seed`` fixes the
    order, which differs in each repetition."""

    def __init__(self, source: str):
        if episode_rows.has_episodes(source):
            self.episodes = episode_rows.load_episodes(source)
        else:
            self.episodes = trajectories.to_episodes(trajectories.load(source))
        self.taken = 0
        self.seed: int | None = None

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        return _replay(
            self.next_episode(seed)
        )  # taken now, so that rollouts get the episodes in order

    def skip(self, seeds: Sequence[int]) -> None:
        for seed in seeds:
            self.next_episode(seed)

    def next_episode(self, seed: int) -> Episode:
        """The next episode. The ``seed`` of the first call fixes the order."""
        if self.seed is None:
            self.seed = seed
        epoch, position = divmod(self.taken, len(self.episodes))
        order = list(range(len(self.episodes)))
        random.Random(f"{self.seed}/{epoch}").shuffle(order)
        self.taken += 1
        return self.episodes[order[position]]

    def state_dict(self) -> dict[str, Any]:
        """The number of episodes taken, and the seed that fixes their order."""
        return {"taken": self.taken, "seed": self.seed}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.taken, self.seed = state["taken"], state["seed"]

    def check(self, agents: Sequence[str]) -> None:
        """Raise :class:`ConfigError` if the file names an agent that is not among ``agents``."""
        named = {agent for episode in self.episodes for agent in episode.agents}
        unknown = sorted(named - set(agents))
        if unknown:
            raise ConfigError(
                f"the trajectories have the agents {', '.join(sorted(named))}, but the environment has "
                f"{', '.join(agents)} and no {unknown[0]!r}: use trajectories of this environment"
            )


def _replay(episode: Episode) -> Rollout:
    yield from ()  # no policy is called
    return Batch.from_episode(episode)


def imitation_loss(
    policy: TransformersPolicy, microbatch: Sequence[Example], *, tokens: int, dynamic: bool
) -> tuple[Tensor, Metrics]:
    """The microbatch's share of the mean of -log p over a batch's ``tokens`` completion tokens.

    ``dynamic``: each token's loss is weighted by its probability p, through which no gradient flows
    (dynamic fine-tuning, arXiv 2508.05629).
    """
    now = completions_likelihood(policy, [(e.prompt, [e.completion]) for e in microbatch])
    assert now.top is not None
    losses = -now.logprobs
    if dynamic:
        losses = losses * now.logprobs.detach().exp()
    metrics: Metrics = {
        "entropy": now.entropy.detach().sum() / tokens,
        "mean_token_accuracy": now.top.sum() / tokens,
    }
    return (losses * now.mask).sum() / tokens, metrics


def has_dropout(policy: TransformersPolicy) -> bool:
    """Whether the policy's adapter has dropout."""
    if policy.adapter is None:
        return False
    config: Any = policy.model.peft_config[policy.adapter]
    return bool(config.lora_dropout > 0)


class SFTUpdater(RowsUpdater):
    """Trains each policy on the decisions of its agents."""

    config: SFTConfig

    def __init__(self, config: SFTConfig, run: RunPolicies, demonstrations: Demonstrations | None):
        super().__init__(config, run)
        for policy in self.policies.values():
            if has_dropout(policy):
                raise ConfigError("sft trains without dropout: set lora_dropout to 0")
        self.demonstrations = demonstrations
        self._players = demonstration_policies(config, self.agent_policies)

    def rollout_policies(self) -> Mapping[str, Policy]:
        return self._players

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        config = self.config
        rows = trajectories.to_rows(batch.episodes)
        decisions = [decision for episode in batch.episodes for decision in episode.decisions]
        kept = trajectories.filter_mask(
            rows, min_return=config.min_return, top=config.top, success=config.success_only
        )
        metrics: dict[str, Any] = {"demonstrated_tokens": 0}
        for name, policy in self.policies.items():
            mine = [i for i, row in enumerate(rows) if self.agent_policies[row["agent"]] is policy]
            behaviour: list[Example] = []
            if config.mode != "world_model":
                chosen = [i for i in mine if kept[i]]
                behaviour = [
                    e for i in chosen for e in self._behaviour_examples(policy, decisions[i])
                ]
            world: list[Example] = []
            if config.mode != "behaviour":
                world = [
                    world_model_example(policy, rows[i])
                    for i in mine
                    if rows[i]["next_observation"]
                ]
            if config.mode == "mix":
                count = round(config.world_model_weight * len(behaviour))
                world = sample_examples(world, count, random.Random(f"{seed}/{name}/world"))
            fitting = [
                example
                for example in truncate_examples([*behaviour, *world], config.max_length)
                if fits_context(policy, example)
            ]
            if not fitting:
                refuse_too_long(name, policy, [*behaviour, *world])
            learned = self.train(name, fitting, seed=seed)
            learned |= {
                "examples": len(fitting),
                "world_examples": len(world),
                "too_long": len(behaviour) + len(world) - len(fitting),
                "kept": sum(kept[i] for i in mine) / max(1, len(mine)),
            }
            metrics["demonstrated_tokens"] += sum(len(e.completion) for e in fitting if e.given)
            prefix = "" if len(self.policies) == 1 else f"{name}/"
            metrics |= {prefix + key: value for key, value in learned.items()}
        self.iterations += 1
        return metrics

    def train(self, name: str, examples: Sequence[Example], *, seed: int) -> dict[str, float]:
        """Train one policy on examples; returns metrics."""
        order = random.Random(f"{seed}/{name}").getrandbits(31)
        todo = epoch_batches(examples, self.config, order)
        self.expect(name, len(todo))
        steps = []
        for batch in todo:
            loss = partial(
                imitation_loss,
                self.policies[name],
                tokens=sum(len(example.completion) for example in batch),
                dynamic=self.config.loss_type == "dft",
            )
            steps.append(self.step(name, batch, loss))
        return self.average_metrics(name, steps)

    def _behaviour_examples(self, policy: TransformersPolicy, decision: Decision) -> list[Example]:
        """The decision's example, sampled by the model or written by another policy, or no example."""
        completion = decision.completion
        if completion.refused:  # there is no completion
            return []
        if self.config.source != "self":
            prompt = policy.encode(decision.observation, decision.agent)
            written = answer_ids(policy, completion.text, decision.agent)
            return [Example(prompt, written, True)]
        if not completion.trainable:
            return []
        return [Example(completion.prompt_ids, completion.ids, False)]

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.demonstrations is not None and ranks.rank() == 0:
            (folder / "demonstrations.json").write_text(
                json.dumps(self.demonstrations.state_dict())
            )

    def load(self, folder: Path) -> None:
        super().load(folder)
        if self.demonstrations is not None:
            self.demonstrations.load_state_dict(
                json.loads((folder / "demonstrations.json").read_text())
            )
