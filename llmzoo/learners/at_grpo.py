"""AT-GRPO: agent- and turn-wise groups from a tree (PettingLLMs, arXiv 2510.11062).

:mod:`llmzoo.rollout.turn_trees` plays the tree and sums the turn's reward.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import ClassVar

import torch
from pettingzoo import AECEnv
from torch import Tensor

from llmzoo.errors import ConfigError
from llmzoo.learners.advantages import mean_baseline
from llmzoo.learners.configs.groups import ATGRPOConfig, GroupConfig
from llmzoo.learners.groups import GroupLearner
from llmzoo.records import Group
from llmzoo.rollout.plans import AgentTurnTree


class ATGRPO(GroupLearner):
    """Credit: the reward of the turn minus the group's mean, per agent and turn.

    In a task with several agents and turns, the prompts of parallel episodes differ from the second
    action on. A baseline over episodes would then compare completions of different prompts. Here
    all K completions are sampled for the same observation.

    The reward is the paper's turn-wise reward, alpha x team + local, with ``team_reward_weight``
    for alpha. It sums the agent's rewards between this action and the agent's next decision. If
    other agents must act before the agent is rewarded (an executor after a planner, a judge after a
    speaker), they act once in a copy of the episode, with the current policies, and the reward is
    the mean over these continuations. The return of a joint tree runs to the end of the episode;
    this reward stops at the agent's next turn. With potential-based shaping it measures how much
    progress the turn made on the task, without the noise of later turns. Preparing for later turns
    is credited only if the potential includes it, so the credit is myopic. Suppose that stopping
    pays 0.6, and that continuing pays 0.1 now and 1.0 at the agent's next turn. This credit prefers
    stopping (0.6 against 0.1); a return to the end of the episode prefers continuing (0.6 against
    1.1). Use ``magrpo`` for such tasks.

    If an action is refused and its agent has to act again in the same turn, the retry belongs to
    the turn. The refused completion is credited with its own penalty and with what follows from the
    retry.

    In sudoku, sokoban and plan_path the proposer's action is simulated and rewarded at its own
    step, and the environments declare this. With alpha 1 they need no continuations, and the team
    reward at the planner's step is not credited to the proposer. With any other alpha, or with
    ``continuations`` set, it is. To compare values of alpha, set ``continuations`` in all runs. An
    alpha other than 1 is rejected if no agent receives both kinds of reward.
    """

    Config: ClassVar[type[GroupConfig]] = ATGRPOConfig
    uses_group_baseline = True
    config: ATGRPOConfig

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        super().check(env, trained)
        if self.config.team_reward_weight != 1.0 and not env.metadata.get("team_and_local", False):
            raise ConfigError(
                f"team_reward_weight={self.config.team_reward_weight} weights team rewards against local ones, and "
                f"{env} declares no agent that receives both (metadata['team_and_local']): leave it at 1"
            )

    @property
    def plan(self) -> AgentTurnTree:
        continuations = self.config.continuations
        if continuations is None and self.config.team_reward_weight != 1.0:
            continuations = 1
        return AgentTurnTree(
            group_size=self.config.group_size,
            select=self.config.select,
            team_reward_weight=self.config.team_reward_weight,
            continuations=continuations,
        )

    def credit(self, group: Group) -> Tensor:
        return mean_baseline(torch.tensor(group.returns))
