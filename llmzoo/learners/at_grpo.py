"""AT-GRPO: agent- and turn-wise groups from a tree (PettingLLMs, arXiv 2510.11062)."""

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
    """Credit: reward minus the group's mean, per agent and turn.

    In a task with several agents and turns, the prompts of parallel episodes differ from the second
    action on. A baseline over episodes would then compare answers to different prompts. Here all K
    answers are given to the same observation.

    The reward is the paper's turn-wise reward, alpha x team + local, with ``team_reward_weight``
    for alpha: everything the agent is paid because of the answer before the same agent decides
    again. If other agents must answer before that payment (an executor after a planner, a judge
    after a speaker), they answer once in a copy of the episode, with the current policies, and the
    reward is the mean over these continuations. The return of a joint tree runs to the end of the
    episode; this reward stops at the agent's next turn. With potential-based shaping it measures
    how far the turn moved the task, without the luck of later turns. What an answer prepares for
    later turns is credited only as far as the potential sees it. So the credit is myopic: where
    stopping pays 0.6, and going on pays 0.1 now and 1.0 at the agent's next turn, it prefers to
    stop (0.6 against 0.1), and a return to the end of the episode prefers to go on (0.6 against
    1.1). Use ``magrpo`` there.

    If an answer is refused and its agent has to answer again in the same turn, the retry belongs to the
    turn: the refused answer earns its penalty and what the retry leads to.

    In sudoku, sokoban and plan_path the proposer's answer is simulated and paid for at its own
    step, and the environments declare that this judges the answer. With alpha 1 there are no
    continuations there, and the team reward at the planner's step does not count for the proposer.
    With any other alpha, or with ``continuations`` set, it does. To compare values of alpha, set
    ``continuations`` for all of them. An alpha other than 1 is refused if no agent is paid both
    kinds of reward.
    """

    Config: ClassVar[type[GroupConfig]] = ATGRPOConfig
    uses_group_baseline = True
    config: ATGRPOConfig

    def check(self, env: AECEnv, trained: Collection[str]) -> None:
        if self.config.team_reward_weight != 1.0 and not env.metadata.get("team_and_local", False):
            raise ConfigError(
                f"team_reward_weight={self.config.team_reward_weight} weighs the team reward against an "
                f"agent's own, and {env} declares no agent that is paid both (metadata['team_and_local']): leave it at 1"
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
