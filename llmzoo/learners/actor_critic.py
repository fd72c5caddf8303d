"""Base of the learners with a critic: they play episodes and compute advantages from a critic's values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from llmzoo.learners.base import Learner
from llmzoo.learners.configs.critics import ActorCriticConfig
from llmzoo.learners.updates.actor_critic import ActorCriticUpdater
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.rollout.plans import WholeEpisodes


class ActorCritic(Learner):
    """Plays plain episodes. Advantages come from a critic's values."""

    Config: ClassVar[type[ActorCriticConfig]] = ActorCriticConfig
    config: ActorCriticConfig
    central: ClassVar[bool] = False  # one critic that reads the global state

    @property
    def separable(self) -> bool:
        return not self.central

    @property
    def plan(self) -> WholeEpisodes:
        return WholeEpisodes(with_state=self.central)

    def updater(
        self,
        policies: Mapping[str, TransformersPolicy],
        agent_policies: Mapping[str, Policy],
        *,
        total_steps: int,
    ) -> ActorCriticUpdater:
        return ActorCriticUpdater(
            self.config, policies, agent_policies, total_steps=total_steps, central=self.central
        )
