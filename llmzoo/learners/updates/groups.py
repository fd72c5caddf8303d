"""Learning from groups: credit, then passes over them, for each policy that learns."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Literal, Protocol

import torch
from torch import Tensor

from llmzoo.errors import ConfigError
from llmzoo.learners import returns
from llmzoo.learners.advantages import informative, role_baseline
from llmzoo.learners.updates.passes import passes
from llmzoo.learners.updates.policy_gradient import PolicyGradientUpdater, named
from llmzoo.learners.updates.replay import Replay
from llmzoo.learners.updates.surrogate import Credited, SurrogateConfig
from llmzoo.parallel import ranks
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch, Group


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupConfig(SurrogateConfig):
    """Options of every critic-free learner."""

    group_size: int = 4  # K: completions of each prompt
    gamma: float = 1.0  # discount per turn of the agent's own
    normalize: bool = False  # divide advantages by the group's standard deviation of returns
    rewards: tuple[str, ...] = ()  # functions of the returns before credit, such as "scale 2"
    role_baseline: float | None = None  # decay of a running mean of each role, as the baseline
    uninformative: Literal["keep", "drop", "resample"] = "keep"  # groups without differences
    resamples: int = 2  # most times that a batch is played on for groups with differences
    mask_truncated: bool = False  # answers cut off by the token limit are judged, not trained
    replay: int = 0  # earlier batches that are learned from again; needs clip

    def __post_init__(self) -> None:
        SurrogateConfig.__post_init__(self)
        if self.group_size < 1:
            raise ConfigError(f"group_size must be at least 1, got {self.group_size}")
        if self.group_size == 1 and (self.normalize or self.uninformative != "keep"):
            raise ConfigError(
                "one answer alone never differs: normalize=False, uninformative='keep'"
            )
        if not 0.0 <= self.gamma <= 1.0:
            raise ConfigError(f"gamma must be in [0, 1], got {self.gamma}")
        returns.parse(self.rewards)
        if self.role_baseline is not None:
            if not 0.0 <= self.role_baseline < 1.0:
                raise ConfigError(f"role_baseline must be in [0, 1), got {self.role_baseline}")
            if self.normalize:
                raise ConfigError("role_baseline replaces the group's baseline: normalize is False")
        if self.resamples < 1 or self.replay < 0:
            raise ConfigError("resamples is at least 1, replay at least 0")
        if self.replay and self.clip is None:
            raise ConfigError("answers learned from again need the clipped ratio: set clip")


class GroupRule(Protocol):
    """What is asked of a learner: credit, and a loss."""

    config: GroupConfig

    def credited(self, groups: Sequence[Group]) -> list[Credited]: ...

    def loss(
        self,
        policy: TransformersPolicy,
        part: Sequence[Credited],
        *,
        rows: int,
        tokens: int,
        reference: TransformersPolicy | None,
    ) -> tuple[Tensor, dict[str, float]]: ...


class GroupUpdater(PolicyGradientUpdater):
    """Also holds what credit remembers: role means and replayed groups."""

    def __init__(
        self,
        learner: GroupRule,
        policies: Mapping[str, TransformersPolicy],
        seats: Mapping[str, Policy],
        *,
        total_steps: int,
    ):
        super().__init__(learner.config, policies, seats, total_steps=total_steps)
        self.learner = learner
        self.role_means: dict[str, float] = {}
        self.replays = {name: Replay(learner.config.replay) for name in self.policies}

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        metrics: dict[str, Any] = {}
        self.used = []
        for name, policy in self.policies.items():
            mine = [g for g in batch.groups if self.seats[g.agent] is policy]
            found = self._update(name, policy, mine, random.Random(f"{seed}/{name}"))
            metrics |= named(name, found, self.policies)
        return metrics

    def _update(
        self, name: str, policy: TransformersPolicy, groups: Sequence[Group], rng: random.Random
    ) -> dict[str, float]:
        config = self.learner.config
        credited = self._credited(sampled_only(groups))
        metrics = {"informative": _share(bool(c.advantages.any()) for c in credited)}
        if config.uninformative != "keep":
            kept = [c for c in credited if differs(c.group)]
            metrics["dropped_groups"] = len(credited) - len(kept)
            credited = kept
        if config.mask_truncated:
            credited = [c for c in map(_without_truncated, credited) if c.group.completions]
        self.used += credited
        if config.replay:
            credited = self.replays[name].mixed(credited)
        loss = partial(self.learner.loss, policy, reference=self.references.get(name))
        return metrics | passes(
            policy,
            [self.optimizers[name]],
            credited,
            loss,
            config,
            rng,
            all_matter=config.learns_from_all,
        )

    def _credited(self, groups: Sequence[Group]) -> list[Credited]:
        config = self.learner.config
        if config.rewards:
            groups = _reshaped(groups, config.rewards)
        if config.role_baseline is None:
            return self.learner.credited(groups)
        found: list[Credited] = []
        for agent in dict.fromkeys(g.agent for g in groups):
            mine = [g for g in groups if g.agent == agent]
            advantages, self.role_means[agent] = role_baseline(
                torch.tensor([r for g in mine for r in g.returns]),
                self.role_means.get(agent, 0.0),
                config.role_baseline,
            )
            sizes = [len(g.completions) for g in mine]
            found += map(Credited, mine, advantages.split(sizes))
        return found

    def save(self, folder: Path) -> None:
        super().save(folder)
        if self.learner.config.replay and ranks.rank() == 0:
            for name, replay in self.replays.items():
                replay.save(folder / f"{name}.replay.json")
        if ranks.rank() == 0:
            (folder / "roles.json").write_text(json.dumps(self.role_means))

    def load(self, folder: Path) -> None:
        super().load(folder)
        if self.learner.config.replay:
            for name, replay in self.replays.items():
                replay.load(folder / f"{name}.replay.json")
        saved = json.loads((folder / "roles.json").read_text())
        mine = [agent for agent, p in self.seats.items() if p in self.policies.values()]
        self.role_means = {agent: mean for agent, mean in saved.items() if agent in mine}


def _reshaped(groups: Sequence[Group], spec: Sequence[str]) -> list[Group]:
    """The groups after functions of their returns, those of greedy answers included."""
    greedy = [torch.tensor([g.greedy]) for g in groups if g.greedy is not None]
    change = returns.parse(spec)
    shaped = iter(change([*(torch.tensor(g.returns) for g in groups), *greedy]))
    changed = [replace(g, returns=tuple(next(shaped).tolist())) for g in groups]
    return [g if g.greedy is None else replace(g, greedy=next(shaped).item()) for g in changed]


def sampled_only(groups: Sequence[Group]) -> list[Group]:
    """The groups without completions that no model sampled, which enter no baseline either."""
    kept = []
    for group in groups:
        sampled = [i for i, c in enumerate(group.completions) if c.trainable]
        if sampled:
            kept.append(group if len(sampled) == len(group.completions) else group.only(sampled))
    return kept


def _without_truncated(credited: Credited) -> Credited:
    """DAPO's overlong filtering (arXiv 2503.14476): what was cut off is judged, but not trained."""
    whole = [i for i, c in enumerate(credited.group.completions) if not c.truncated]
    return Credited(credited.group.only(whole), credited.advantages[whole])


def differs(group: Group) -> bool:
    """Whether the returns of a group differ, so that a comparison teaches anything."""
    return informative(torch.tensor(group.returns))


def _share(flags: Any) -> float:
    found = list(flags)
    return sum(found) / max(1, len(found))
