"""The learners with a critic: they play episodes, and a critic's values give the advantages.

Two questions tell them apart. Does a critic read what its agent reads, or the global state? Is the advantage one
temporal difference, or GAE with PPO's clipped surrogate?

| | the agent's observation | the global state |
|---|---|---|
| one temporal difference | IAC | MAAC |
| GAE and the clipped surrogate | IPPO, and PPO for one agent | MAPPO |
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from llmzoo.learners import ENV_DEFAULTS
from llmzoo.learners.base import Learner, RunPolicies
from llmzoo.learners.configs.critics import (
    ActorCriticConfig,
    IACConfig,
    IPPOConfig,
    MAACConfig,
    MAPPOConfig,
)
from llmzoo.learners.updates.actor_critic import ActorCriticUpdater
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

    def updater(self, run: RunPolicies) -> ActorCriticUpdater:
        return ActorCriticUpdater(self.config, run, central=self.central)


class IPPO(ActorCritic):
    """Credit: GAE over the agent's own turns; the critic reads what the agent reads.

    Independent PPO (arXiv 2011.09533, 2103.01955).

    A completion's advantage says how much better than expected the episode went afterwards. Rewards
    count when they are received; ``lam`` sets how soon the critic's prediction replaces them. For
    each agent the others are part of the environment, so its critic reads only what the agent
    reads. As the others learn, that environment drifts; the clipped ratio limits the effect.

    The value after a finished episode is 0. After an episode that a time limit truncated, it is the
    critic's value of the last observation, unless the environment declares with
    ``metadata["time_limit"] = "task"`` that the limit is a rule of the task, as this suite's
    environments do. The option ``time_limit`` overrides this. A policy for several agents has one
    critic, which reads the role in the prompt; separate policies have separate critics.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IPPOConfig


class PPO(IPPO):
    """Credit: GAE over the turns of a single agent.

    PPO (arXiv 1707.06347): environments with a ``num_agents`` argument are created with
    ``num_agents=1``.
    """

    env_defaults: ClassVar[Mapping[str, Any]] = ENV_DEFAULTS["ppo"]


class MAPPO(ActorCritic):
    """Credit: GAE over the agent's own turns, from one critic that reads the global state.

    Multi-agent PPO (arXiv 2103.01955).

    The critic is used only in training, so it may read what no agent sees: ``env.state()``. It has
    one output per agent, because agents may have different rewards, and is trained once per batch
    on the turns of all agents. It knows what the other agents see, so its values have less
    variance.
    """

    Config: ClassVar[type[ActorCriticConfig]] = MAPPOConfig
    central = True


class IAC(ActorCritic):
    """Credit: the temporal difference r + gamma V(next) - V(now), with one critic per policy.

    Independent one-step actor-critic, the baseline IAC-V of COMA (arXiv 1705.08926).

    The advantage is the reward until the agent's next turn plus the change in the critic's value.
    It has low variance, and is biased as long as the critic is inaccurate.
    """

    Config: ClassVar[type[ActorCriticConfig]] = IACConfig


class MAAC(ActorCritic):
    """Credit: the temporal difference of one central critic that reads the global state.

    The baseline Central-V of COMA (arXiv 1705.08926).
    """

    Config: ClassVar[type[ActorCriticConfig]] = MAACConfig
    central = True
