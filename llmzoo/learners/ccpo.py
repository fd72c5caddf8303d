"""CCPO: counterfactual credit for one agent's share in a joint action (arXiv 2603.21563, 1705.08926)."""

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
    """Credit: the return minus the mean return with this agent's completion replaced and the others' kept.

    The return of a joint action also depends on the luck of the other agents' completions. The difference
    from the same joint action with only this agent's completion replaced does not, because the others'
    completions are the same on both sides. A completion that makes no difference gets exactly no credit,
    even in a team that succeeds. This is COMA's counterfactual baseline (arXiv 1705.08926), with forks of
    the episode instead of a critic. CCPO compares with the outcome without the agent; here the agent acts
    with a different completion.

    The replacements are the other completions of the group, so no further completions are sampled at the
    node itself. Each of the N x K x ``counterfactuals`` joint actions is tried in a copy of the episode and, unless
    that ends the episode, played to the end, which costs tokens in tasks with several turns. If steps are
    slow, for example because they run programs, set fewer ``counterfactuals``.

    The baseline does not contain the completion itself, so the gradient at each node is unbiased. With one
    agent and all counterfactuals this is ``marloo``. MAGRPO with ``mode="cross"`` averages over all K**N joint
    actions: it has even less noise, and needs more copies.
    """

    Config: ClassVar[type[GroupConfig]] = CCPOConfig
    uses_group_baseline = True
    config: CCPOConfig

    @property
    def plan(self) -> JointTree:
        given = self.config.counterfactuals
        return replace(
            super().plan, counterfactuals=self.config.group_size - 1 if given is None else given
        )

    def credit(self, group: Group) -> Tensor:
        assert group.counterfactual_returns, "this group has no returns with replaced completions"
        return counterfactual_baseline(
            torch.tensor(group.returns), torch.tensor(group.counterfactual_returns)
        )
