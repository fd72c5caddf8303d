"""DPO, direct preference optimisation (arXiv 2305.18290), and its joint form for several agents."""

from __future__ import annotations

from typing import ClassVar

from llmzoo.learners.base import Learner, RunPolicies
from llmzoo.learners.configs.preferences import DPOConfig, MADPOConfig
from llmzoo.learners.groups import joint_plan
from llmzoo.learners.updates.dpo import DPOUpdater, MADPOUpdater
from llmzoo.rollout.plans import JointTree, NoRollouts


class DPO(Learner):
    """Credit: each agent's better completions against its worse ones, relative to a reference.

    If a policy maximises reward - beta KL(policy || reference), then the reward of a completion is
    beta log(policy/reference) plus a term that depends only on the prompt, and so is the same for
    two completions of one prompt. Therefore -log sigmoid(beta (log-ratio of the chosen - log-ratio
    of the rejected)) is the negative log-likelihood of the preference under the Bradley-Terry
    model. It needs neither a reward model nor samples of the trained policy. Here pairs come from
    groups, ranked by return; the completions of a group share their prompt, as the argument
    requires. Each policy trains on the pairs of its own agents.

    The run's iterations are divided into ``rounds`` of nearly equal length. At the start of a round
    the reference becomes a snapshot of the policy. During the round it is the reference of the loss
    and also plays, so all completions of a round come from one fixed policy, as in offline data
    collection. ``rounds=1`` is DPO from the starting policy, as published, and more rounds are
    iterative DPO. ``rounds=0``, the default when episodes are played, starts a round at each
    iteration, which is fully on-policy. A single reference with only the best completion against
    the worst (``pairs="gap"``) hardly learns.

    With ``preferences`` no episodes are played. Each iteration takes the next ``rows`` rows of that set,
    and every learning policy trains on all of them.

    The loss equals that of TRL's DPOTrainer, on the tokens as they were sampled. As in TRL, the
    log-probabilities are those at temperature 1, regardless of the sampling settings.
    """

    Config: ClassVar[type[DPOConfig]] = DPOConfig
    config: DPOConfig

    @property
    def separable(self) -> bool:
        return True

    @property
    def plan(self) -> JointTree | NoRollouts:
        return joint_plan(self.config) if self.config.preferences is None else NoRollouts()

    def updater(self, run: RunPolicies) -> DPOUpdater:
        return DPOUpdater(self.config, run)


class MADPO(Learner):
    """Credit: better joint completions against worse ones; a margin is a sum over agents.

    A joint completion has one completion per agent. Agents that act simultaneously do so
    independently, so the probability of a joint completion is the product over the agents, for the
    policies and for the references, and its log-ratio is the sum. Applied to the joint policy,
    DPO's derivation gives -log sigmoid(beta sum over agents (log-ratio of the chosen - log-ratio of
    the rejected)). The difference from separate DPO is the weight of a pair, sigmoid(-beta margin):
    all agents share one weight, which depends on their joint margin.

    A pair compares the g-th completions of all agents at a node with the h-th. The return of a
    joint completion is the mean of the returns of the learning agents that act there. If only one
    agent acts, this is DPO. Rounds are as in :class:`DPO`.

    The extension follows from the DPO paper by this argument. No publication is claimed for it.
    """

    Config: ClassVar[type[MADPOConfig]] = MADPOConfig
    config: MADPOConfig

    @property
    def plan(self) -> JointTree:
        return joint_plan(self.config)

    def updater(self, run: RunPolicies) -> MADPOUpdater:
        return MADPOUpdater(self.config, run)
