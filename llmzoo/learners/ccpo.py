"""CCPO: counterfactual credit for one agent's part in a joint answer (arXiv 2603.21563, 1705.08926)."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import torch
from torch import Tensor

from llmzoo.learners.advantages import counterfactual_baseline
from llmzoo.learners.configs.groups import CCPOConfig, GroupConfig
from llmzoo.learners.groups import JointLearner
from llmzoo.records import Group
from llmzoo.rollout.plans import JointTree


class CCPO(JointLearner):
    """Credit: the return minus the mean return when this agent answers again and the others' answers stay.

    The joint return of an aligned answer holds the luck of the other agents' answers. The difference to
    the same joint answer with only this agent's part replaced does not: what the others said is on both
    sides. An answer that makes no difference gets exactly no credit, even in a team that succeeds. This is
    COMA's counterfactual baseline (arXiv 1705.08926), with forks of the episode in place of a critic. CCPO
    compares with the outcome without the agent; here the agent answers with other words.

    The replacements are the group's own other answers, so no answers are sampled for them at the node
    itself. Each of the N x K x ``redraws`` joint answers is tried in a copy of the episode, and played on to
    its end where the episode is not over, which costs tokens in tasks of several turns. Where steps are slow,
    as with programs, set fewer redraws.

    The baseline does not contain the answer itself, so the gradient at each node is unbiased. With one agent
    and all redraws this is ``marloo``. MAGRPO with ``mode="cross"`` averages over all K**N
    joint answers: it has even less noise, and needs more copies.
    """

    Config: ClassVar[type[GroupConfig]] = CCPOConfig
    uses_group_baseline = True
    config: CCPOConfig

    @property
    def plan(self) -> JointTree:
        given = self.config.redraws
        return replace(super().plan, redraws=self.config.group_size - 1 if given is None else given)

    def credit(self, group: Group) -> Tensor:
        assert group.redrawn, "the rollout of this group drew no answers again"
        return counterfactual_baseline(torch.tensor(group.returns), torch.tensor(group.redrawn))
