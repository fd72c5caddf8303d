"""Base of the learners with a critic: they play episodes and compute advantages from a critic's values."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import ClassVar

from pettingzoo import AECEnv

from llmzoo.errors import ConfigError
from llmzoo.learners.base import Learner
from llmzoo.learners.configs.critics import ActorCriticConfig
from llmzoo.learners.updates.actor_critic import ActorCriticUpdater
from llmzoo.policies.base import Policy
from llmzoo.policies.transformers import TransformersPolicy
from llmzoo.records import Batch
from llmzoo.rollout.episodes import episode_rollout
from llmzoo.rollout.scheduler import Rollout


class ActorCritic(Learner):
    """Plays plain episodes. Advantages come from a critic's values."""

    Config: ClassVar[type[ActorCriticConfig]] = ActorCriticConfig
    config: ActorCriticConfig
    central: ClassVar[bool] = False  # one critic that reads the global state

    @property
    def separable(self) -> bool:
        return not self.central

    def rollout(self, env: AECEnv, seed: int, trained: Collection[str]) -> Rollout:
        if self.central:
            _check_state(env)
        episode = yield from episode_rollout(env, seed, with_state=self.central)
        return Batch.from_episode(episode)

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


def _check_state(env: AECEnv) -> None:
    try:
        state = env.state()
    except NotImplementedError:
        state = None
    if not isinstance(state, str):
        raise ConfigError(
            f"a central critic reads env.state() as text, which {env} does not provide: use ippo or "
            "iac, whose critics read observations"
        )
