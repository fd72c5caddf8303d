"""The interface of engines to the training loop, and the data that both exchange in an iteration."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pettingzoo import AECEnv

from llmzoo.models.decode import Sampler
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.stepping import RolloutClock


@dataclass(frozen=True, slots=True, kw_only=True)
class IterationSeeds:
    """The seeds of one iteration. They depend only on the run's seed and the iteration's number."""

    noise: tuple[int, ...]  # of each model's sampling
    update: int  # of torch's generator, for the update
    seeds: tuple[int, ...]  # of the episodes
    boards: bool = True  # whether episodes keep the boards of games, for a record


def iteration_seeds(seed: int, step: int, *, models: int, envs: int) -> IterationSeeds:
    """The seeds of iteration ``step`` in a run with ``seed``."""
    rng = random.Random(f"{seed}/{step}")
    return IterationSeeds(
        noise=tuple(rng.getrandbits(48) for _ in range(models)),
        update=rng.getrandbits(48),
        seeds=tuple(rng.getrandbits(31) for _ in range(envs)),
    )


def seeds_for_round(seeds: Sequence[int], round: int) -> list[int]:
    """The seeds of additional rollouts for a batch, as many as its own ``seeds``.

    ``round``: how often the batch was extended, this time included (:meth:`llmzoo.learners.base.Learner.wants_more`).
    """
    rng = random.Random(f"{seeds[0]}/again/{round}")
    return [rng.getrandbits(31) for _ in seeds]


@dataclass(frozen=True, slots=True, kw_only=True)
class Iteration:
    """A batch, the cost of its rollouts, the metrics of its update, and its advantages."""

    batch: Batch
    clock: RolloutClock
    tokens: int  # sampled by the policies that learn
    rollout_seconds: float
    update_metrics: dict[str, Any]  # metrics of the update
    credits: list[float | None]  # of each of the batch's completions, see Updater.credits
    update_seconds: float


class Engine(Protocol):
    """Computes rollouts and updates.

    ``policies``: those that learn, by name. ``agent_policies``: the policy of every agent. ``trained_agents``: the
    agents that learn. ``samplers``: of the policies that
    do not sample with their own model.
    """

    policies: dict[str, TransformersPolicy]
    agent_policies: dict[str, Policy]
    trained_agents: list[str]
    samplers: list[Sampler]

    def iterate(
        self,
        env_fn: Callable[[], AECEnv],
        seeds_for: Callable[[int], IterationSeeds],
        step: int,
        *,
        last: bool,
    ) -> Iteration:
        """Play a batch and learn from it. ``seeds_for(n)`` gives the seeds of iteration n.

        ``last``: no iteration follows.
        """
        ...

    def sync_policies(self) -> None:
        """Bring the newest weights into ``policies``."""
        ...

    def save(self, folder: Path) -> None:
        """Write everything that the next iteration depends on into an existing folder."""
        ...

    def load(self, folder: Path) -> None:
        """Load what :meth:`save` wrote, of this engine or another."""
        ...


def distinct_models(agent_policies: Mapping[str, Policy]) -> list[TransformersPolicy]:
    """The models that sample in ``agent_policies``, frozen ones too, in the order of the agents."""
    models = [p for p in agent_policies.values() if isinstance(p, TransformersPolicy)]
    return list({id(policy): policy for policy in models}.values())
