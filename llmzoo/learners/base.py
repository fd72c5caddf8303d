"""The interface of a learner: where its batches come from (:attr:`Learner.plan`), and an update
(:meth:`Learner.updater`).

:mod:`llmzoo.learners.groups` has the base of learners without a critic, and
:mod:`llmzoo.learners.actor_critic` the learners with one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol

from pettingzoo import AECEnv

from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.plans import RolloutPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPolicies:
    """What an updater is made for.

    ``policies``: the learning policies, by name. ``agent_policies``: the policy that plays each agent.
    ``total_steps``: iterations of the whole run.
    """

    policies: Mapping[str, TransformersPolicy]
    agent_policies: Mapping[str, Policy]
    total_steps: int


class Updater(Protocol):
    """Updates the weights of the policies that learn, and holds all state that persists across batches.

    The checkpoint itself stores the policies' weights. The updater saves and loads everything else
    (optimisers, critics, references, running means) as safetensors and JSON.
    """

    def rollout_policies(self) -> Mapping[str, Policy]:
        """The policy that plays each agent in the next batch."""
        ...

    def update(self, batch: Batch, *, seed: int) -> dict[str, Any]:
        """Learn from a batch and return metrics. ``seed`` fixes all randomness.

        Raises :class:`llmzoo.errors.DivergedError` if a loss or a gradient is not finite. The
        weights are then unchanged by that step.
        """
        ...

    def credits(self, batch: Batch) -> list[float | None]:
        """The advantages of ``batch.completions`` in the last update, which learned from this batch.

        These are the values that the loss received, after all normalisation and filters. Per-token
        advantages are averaged over the completion. None means that the completion was not trained
        on, or that the learner has no advantages.
        """
        ...

    def save(self, folder: Path) -> None:
        """Write the state into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Restore the state that :meth:`save` wrote."""
        ...


class Learner:
    """Base of all learners. ``Config`` is the dataclass of its options."""

    Config: ClassVar[type]
    env_defaults: ClassVar[Mapping[str, Any]] = {}  # environment arguments that it requires

    def __init__(self, config: Any = None):
        self.config: Any = config or self.Config()

    @property
    def separable(self) -> bool:
        """Whether giving each policy its own updater leaves the result unchanged.

        Such an updater receives only the groups of its policy's agents, but all episodes.
        """
        return False

    @property
    def needs_return_variance(self) -> bool:
        """Whether an agent learns nothing while all completions of a prompt have equal returns."""
        return True

    @property
    def group_size(self) -> int:
        """Completions that a rollout samples for each prompt."""
        return 1

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        """Raise :class:`llmzoo.errors.ConfigError` for settings that have no effect on ``env``, before a run starts."""

    @property
    def plan(self) -> RolloutPlan:
        """Where batches come from: how rollouts are played, or a file that they are read from."""
        raise NotImplementedError

    def wants_more(self, batch: Batch, rounds: int) -> bool:
        """Whether to play more episodes for a batch that has already been extended ``rounds`` times."""
        return False

    def updater(self, run: RunPolicies) -> Updater:
        """The updater for a run."""
        raise NotImplementedError
